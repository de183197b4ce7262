/// The name under which a program written for RealmSwift imports Firn: with this product, `import RealmSwift` compiles
/// as it stands.
///
/// New programs import `Firn`.
@_exported import Firn

/// Realm's name for `RealmLogger`. Module `Firn` does not have it, because swift-log's type is called so.
public typealias Logger = RealmLogger
