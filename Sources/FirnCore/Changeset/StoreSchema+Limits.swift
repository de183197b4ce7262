import FirnBytes

extension StoreSchema {
    /// Why no store can have this schema: the limit that it exceeds, and what to do; nil if it exceeds none.
    /// O(columns).
    package var limitFault: Fault? {
        guard tables.count <= Limits.tableCount else {
            return Fault(
                "the schema has \(tables.count) classes; \(Limits.tableCount) are allowed, those included that were removed. Keep similar objects in one class, or the classes in several stores. \(Self.withoutRemoved)"
            )
        }
        for table in tables {
            if let fault = table.limitFault { return fault }
        }
        let byteCount = SchemaCoding.byteCount(self)
        guard byteCount <= Limits.schemaByteCount else {
            return Fault(
                "the names and types of all classes and properties take \(byteCount) bytes; \(Limits.schemaByteCount) are allowed, those included that were removed. Use fewer or shorter names, or several stores. \(Self.withoutRemoved)"
            )
        }
        return nil
    }

    fileprivate static let withoutRemoved = "`firn export` and `firn import` make a store without what was removed."
}

extension TableSchema {
    fileprivate var limitFault: Fault? {
        guard (1...Limits.nameByteCount).contains(name.utf8.count) else {
            return Self.nameFault("the class name \(DisplayText.quoted(name))", name)
        }
        guard columns.count <= Limits.columnCount else {
            return Fault(
                "\(name) has had \(columns.count) properties; \(Limits.columnCount) are allowed, those included that were removed. Keep them as elements of a list or a map, or as objects that it links to. \(StoreSchema.withoutRemoved)"
            )
        }
        for column in columns where !(1...Limits.nameByteCount).contains(column.name.utf8.count) {
            return Self.nameFault("the property name \(DisplayText.quoted(column.name)) of \(name)", column.name)
        }
        return nil
    }

    /// - Parameter quoted: the subject of the message. It holds only the beginning of the name, since nobody reads a
    ///   megabyte.
    private static func nameFault(_ quoted: String, _ name: String) -> Fault {
        Fault("\(quoted) has \(name.utf8.count) bytes; 1 to \(Limits.nameByteCount) are allowed. Give it another name")
    }
}
