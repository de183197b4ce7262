public import Firn

// RealmSwift's collections are lazy: Swift's `map`, `filter` and `compactMap` return sequences that read an element
// only when it is used. If the code states the type of an array, they return an array. Without this module, Firn's
// collections are not lazy, so that a program that keeps the result of `map` keeps values and not a live collection.

extension Results: LazyCollectionProtocol {}
extension List: LazyCollectionProtocol {}
extension LinkingObjects: LazyCollectionProtocol {}
extension MutableSet: LazyCollectionProtocol {}
extension AnyRealmCollection: LazyCollectionProtocol {}

// Generic code over `RealmCollection` does not see these conformances. It gets a lazy sequence if it states that type.
extension RealmCollection {
    /// The collection whose elements are read lazily: this one.
    public typealias Elements = Self

    /// The results of `transform`, computed as they are read. Chosen where the code states the type `LazyMapSequence`.
    @_disfavoredOverload
    public func map<U>(_ transform: @escaping (Element) -> U) -> LazyMapSequence<Self, U> { lazy.map(transform) }

    /// The elements that satisfy a condition, tested as they are read. Chosen where the code states the type
    /// `LazyFilterSequence`.
    @_disfavoredOverload
    public func filter(_ isIncluded: @escaping (Element) -> Bool) -> LazyFilterSequence<Self> {
        lazy.filter(isIncluded)
    }
}
