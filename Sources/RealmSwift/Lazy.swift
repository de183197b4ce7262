public import Firn

// RealmSwift's collections are lazy: `map`, `filter` and `compactMap` of Swift give sequences that read an element when
// it is asked for. Where an array is declared, they give one. Firn's own are not, so that a program which keeps what
// `map` gave keeps values and not a live collection.

extension Results: LazyCollectionProtocol {}
extension List: LazyCollectionProtocol {}
extension LinkingObjects: LazyCollectionProtocol {}
extension MutableSet: LazyCollectionProtocol {}
extension AnyRealmCollection: LazyCollectionProtocol {}
