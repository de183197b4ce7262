import FirnCore
import FirnQuery
import FirnStorage

extension RealmCollection where Element: _QueriedObject {
    /// The elements sorted by a property and divided into sections by the property's values, live.
    ///
    /// ```swift
    /// let byAge = realm.objects(Dog.self).sectioned(by: \.age)
    /// ```
    ///
    /// The key path may lead through links. It may end at a property that is computed from one stored property, such as
    /// `\.firstLetter`, which reads `name`. Then the elements are sorted by the stored property. Nothing is read here;
    /// `SectionedResults` says what reading costs. Stops the program if the key path does not lead to a stored property
    /// that can be sorted by. Also stops it if the collection is unmanaged, and on the wrong thread.
    public func sectioned<Key: _Persistable & Hashable>(
        by keyPath: KeyPath<Element, Key>, ascending: Bool = true
    ) -> SectionedResults<Key, Element> {
        let property = TracedKeyPath.computing(keyPath)
        let order = FirnQuery.SortDescriptor(property.traced.path, ascending: ascending)
        return SectionedResults(
            _SectionSource(sorted([order])._source, isSortedByKey: property.isStored) { $0[keyPath: keyPath] })
    }

    /// The elements sorted by several properties and divided into sections by the values of the first property, live.
    ///
    /// ```swift
    /// let byAge = dogs.sectioned(by: \.age, sortDescriptors: ["age", "name"])
    /// ```
    ///
    /// Stops the program if the first sort descriptor does not sort by the key path. Also stops it in the same cases as
    /// `sectioned(by:ascending:)`.
    public func sectioned<Key: _Persistable & Hashable>(
        by keyPath: KeyPath<Element, Key>, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> {
        let property = TracedKeyPath.computing(keyPath)
        let name = property.traced.name
        guard sortDescriptors.first?.keyPath == name else {
            stopProgram(
                "sectioned(by:sortDescriptors:) on \(Element.self): the first sort descriptor must be that of the key path, \"\(name)\"."
            )
        }
        return SectionedResults(
            _SectionSource(sorted(by: sortDescriptors)._source, isSortedByKey: property.isStored) {
                $0[keyPath: keyPath]
            })
    }

    /// The elements sorted, and divided into sections by a key that a closure computes for each element, live.
    ///
    /// ```swift
    /// let byLetter = people.sectioned(by: { String($0.name.prefix(1)) }, sortDescriptors: ["name"])
    /// ```
    ///
    /// The closure is called for each element at the first read after a change. It runs on any thread that reads the
    /// sections, including the threads of frozen sections and of observers. It must not write. If there are no sort
    /// descriptors, the elements keep their order. Stops the program in the same cases as `sorted(by:)`.
    public func sectioned<Key: _Persistable & Hashable>(
        by block: @escaping @Sendable (Element) -> Key, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> {
        let source = sortDescriptors.isEmpty ? _source : sorted(by: sortDescriptors)._source
        return SectionedResults(_SectionSource(source, block))
    }

    /// The elements sorted, and divided into sections by a key that a closure computes for each element, live:
    /// `sectioned(by:sortDescriptors:)` with a trailing closure.
    public func sectioned<Key: _Persistable & Hashable>(
        sortDescriptors: [SortDescriptor], _ keyBlock: @escaping @Sendable (Element) -> Key
    ) -> SectionedResults<Key, Element> {
        sectioned(by: keyBlock, sortDescriptors: sortDescriptors)
    }
}

extension RealmCollection where Element: SortableType {
    /// The values sorted, and divided into sections by a key that a closure computes for each value, live.
    ///
    /// ```swift
    /// let byLetter = dog.nicknames.sectioned(by: { String($0.prefix(1)) })
    /// ```
    ///
    /// `SectionedResults` says what reading costs. Stops the program if the collection is unmanaged, and on the wrong
    /// thread.
    public func sectioned<Key: _Persistable & Hashable>(
        by block: @escaping @Sendable (Element) -> Key, ascending: Bool = true
    ) -> SectionedResults<Key, Element> {
        SectionedResults(_SectionSource(sorted(ascending: ascending)._source, block))
    }
}
