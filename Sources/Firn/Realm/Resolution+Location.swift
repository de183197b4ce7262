// Where a value belongs: for finding it again, and for messages.

extension Resolution {
    /// A property of a row, or of an unmanaged instance. The instance's address is not reused while its task is kept.
    struct Cell: Hashable {
        let owner: UnsafeRawPointer?
        let key: Int64
        let property: Int

        init(_ object: ObjectBase, _ property: PropertyInfo) {
            owner = object.isManaged ? object._row.table : UnsafeRawPointer(object.address)
            key = object.isManaged ? object._row.key : -1
            self.property = property.position
        }
    }

    /// The location of a value within another, for messages.
    struct Location {
        /// The task of the object that the value belongs to. Nil if the value is given by itself, for a property of
        /// some object.
        let parent: Int?
        let property: PropertyInfo
        /// The index or the key of an element.
        var element: String?

        var text: String { element.map { "\(property.name)[\($0)]" } ?? property.name }
    }
}
