/// The name under which a program written for RealmSwift imports Firn: with this product, `import RealmSwift` compiles
/// as it stands.
///
/// It has no declarations of its own. New programs import `Firn`.
@_exported import Firn
