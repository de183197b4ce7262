extension RealmFile {
    /// What the group's root has: 3 elements if the file was copied whole, up to 12 if it was written in steps.
    private static let rootCounts = [3, 5, 7, 9, 10, 11, 12]

    /// Reads all tables' descriptions.
    func readGroup(_ root: FileRoot, salvages: Bool) throws {
        let top = try nodes.node(root.reference)
        guard Self.rootCounts.contains(top.count) else {
            throw RealmFileError.damage("the root has \(top.count) elements", at: root.reference)
        }
        guard let length = try top.tagged(2) else {
            throw RealmFileError.damage("the root lacks the file's length", at: root.reference)
        }
        let byteCount = nodes.pages.byteCount
        guard length <= UInt64(byteCount) else {
            throw RealmFileError(.truncated, detail: "its data have \(length) bytes, and the file has \(byteCount)")
        }
        nodes.end = root.isStreaming ? byteCount - 16 : max(Int(length), Self.headerByteCount)
        let history = try top.tagged(7) ?? 0
        version = try top.tagged(6) ?? 0
        isSynchronized = history == 3 || history == 4
        let names = try nodes.child(top, 0)
        let references = try nodes.integers(top, 1)
        var tables: [FileTable] = []
        for number in 0..<references.count {
            // Numbers are the entries of removed tables.
            let reference = references.signed(number)
            guard reference != 0, reference & 1 == 0 else { continue }
            guard number < names.count else {
                throw RealmFileError.damage("a table has no name", at: references.reference)
            }
            let name = try nodes.name(names, number)
            do {
                tables.append(
                    oldFormat
                        ? try nodes.oldTable(Int(reference), number: number, name: name)
                        : try nodes.table(Int(reference), number: number, name: name))
            } catch {
                guard salvages, error.code == .damage, name.hasPrefix(Self.classPrefix) else {
                    throw error.within(className: Self.className(name))
                }
                damagedClasses.append(error.within(className: Self.className(name)).of(path))
            }
        }
        try addClasses(tables, salvages: salvages)
    }

    /// The name of a table's class; nil if the table is none of the application's.
    static func className(_ table: String) -> String? {
        table.hasPrefix(classPrefix) ? String(table.dropFirst(classPrefix.count)) : nil
    }

    private func addClasses(_ tables: [FileTable], salvages: Bool) throws {
        var names: [UInt32: String] = [:]
        for table in tables { names[table.key] = Self.className(table.name) ?? table.name }
        let primaryKeys = try oldPrimaryKeys(tables)
        for table in tables {
            guard let name = Self.className(table.name) else {
                try addOther(table)
                continue
            }
            do {
                classes.append(try makeClass(table, name: name, tableNames: names, primaryKey: primaryKeys[name]))
            } catch {
                guard salvages, error.code == .damage else { throw error.within(className: name) }
                damagedClasses.append(error.within(className: name).of(path))
            }
        }
    }

    private func makeClass(
        _ table: FileTable, name: String, tableNames: [UInt32: String], primaryKey: String?
    ) throws(RealmFileError) -> RealmFileClass {
        var properties: [RealmFileProperty] = []
        for column in table.columns {
            let type = ElementType(
                kind: column.kind, isOptional: column.has(FileTable.Column.optional), target: column.target ?? 0)
            var target: String?
            if column.kind == .object {
                guard let key = column.target, let found = tableNames[key] else {
                    throw RealmFileError.damage("the links lead to a table that is missing", at: table.objects)
                        .within(className: name, propertyName: column.name)
                }
                target = found
            }
            properties.append(
                RealmFileProperty(
                    name: column.name, type: type, collection: column.collection, index: column.index, target: target,
                    column: column.placement))
        }
        let key =
            oldFormat
            ? primaryKey.flatMap { key in properties.firstIndex { $0.name == key } }
            : table.primaryKeyLeaf.flatMap { leaf in properties.firstIndex { $0.column.leafIndex == leaf } }
        return RealmFileClass(
            name: name, kind: table.kind, properties: properties, primaryKey: key, table: table.key,
            objects: table.objects)
    }

    /// In formats up to 9 the primary keys stand in a table of their own, by the classes' names.
    private func oldPrimaryKeys(_ tables: [FileTable]) throws -> [String: String] {
        guard oldFormat, let table = tables.first(where: { $0.name == "pk" }) else { return [:] }
        var keys: [String: String] = [:]
        let pairs = try otherClass(table)
        guard let classIndex = pairs.properties.firstIndex(where: { $0.name == "pk_table" }),
            let propertyIndex = pairs.properties.firstIndex(where: { $0.name == "pk_property" })
        else { throw RealmFileError.damage("the table of primary keys has other columns", at: table.objects) }
        try forEachBatch(of: pairs) { batch in
            for index in 0..<batch.count {
                guard case .string(let name) = try batch.value(classIndex, index),
                    case .string(let property) = try batch.value(propertyIndex, index)
                else { throw RealmFileError.damage("the table of primary keys has other values", at: table.objects) }
                keys[String(decoding: name, as: UTF8.self)] = String(decoding: property, as: UTF8.self)
            }
        }
        return keys
    }

    /// A table that is no class of the application. The one of the schema's version is read.
    private func addOther(_ table: FileTable) throws {
        otherTables.append(table.name)
        guard table.name == "metadata" else { return }
        let metadata = try otherClass(table)
        guard let index = metadata.properties.firstIndex(where: { $0.name == "version" && $0.type.kind == .int }) else {
            return
        }
        try forEachBatch(of: metadata) { batch in
            guard schemaVersion == nil, batch.count > 0 else { return }
            if case .int(let value) = try batch.value(index, 0) { schemaVersion = value }
        }
    }

    private func otherClass(_ table: FileTable) throws(RealmFileError) -> RealmFileClass {
        try makeClass(table, name: table.name, tableNames: [:], primaryKey: nil)
    }
}

extension FileTable.Column {
    var collection: RealmFileCollection.Kind? {
        has(Self.list) ? .list : has(Self.set) ? .set : has(Self.dictionary) ? .dictionary : nil
    }

    var index: RealmFileProperty.Index { has(Self.indexed) ? .general : has(Self.fullText) ? .fullText : .none }
}
