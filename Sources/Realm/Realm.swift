/// The name under which programs for Apple's platforms import Realm's Objective-C framework, often beside RealmSwift:
/// with this product, `import Realm` compiles as it stands. It brings `RealmSwift` and `FirnRLM`.
@_exported import FirnRLM
@_exported import RealmSwift
