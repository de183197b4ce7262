public import Firn

// RealmSwift's collections are lazy: `map`, `filter` and `compactMap` of Swift give sequences that read an element when
// it is asked for. Where an array is declared, they give one. Firn's own are not, so that a program which keeps what
// `map` gave keeps values and not a live collection.

extension Results: LazyCollectionProtocol {}
extension List: LazyCollectionProtocol {}
extension LinkingObjects: LazyCollectionProtocol {}
extension MutableSet: LazyCollectionProtocol {}
extension AnyRealmCollection: LazyCollectionProtocol {}

// Code for any `RealmCollection` sees no `LazyCollectionProtocol`. It gets the lazy sequences where it declares them.
extension RealmCollection {
    /// What is read lazily: the collection itself.
    public typealias Elements = Self

    /// What `transform` gives for each element, computed when it is read: for code that declares this type.
    @_disfavoredOverload
    public func map<U>(_ transform: @escaping (Element) -> U) -> LazyMapSequence<Self, U> { lazy.map(transform) }

    /// The elements that satisfy a condition, which is asked when they are read: for code that declares this type.
    @_disfavoredOverload
    public func filter(_ isIncluded: @escaping (Element) -> Bool) -> LazyFilterSequence<Self> {
        lazy.filter(isIncluded)
    }
}
