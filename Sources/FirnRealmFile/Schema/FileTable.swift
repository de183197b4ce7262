/// A table as the file describes it, before the targets of its links are known by name.
struct FileTable {
    struct Column {
        var name: String
        var kind: ElementType.Kind
        /// 1 indexed · 2 unique · 8 strong links · 16 optional · 32 list · 64 dictionary · 128 set · 256 full text
        var attributes: Int64
        /// The key of the table that links lead to.
        var target: UInt32?
        var placement: FileColumn

        static let indexed: Int64 = 1
        static let optional: Int64 = 16
        static let list: Int64 = 32
        static let dictionary: Int64 = 64
        static let set: Int64 = 128
        static let fullText: Int64 = 256

        func has(_ attribute: Int64) -> Bool { attributes & attribute != 0 }
    }

    var name: String
    var key: UInt32
    var kind: RealmFileClass.Kind
    var columns: [Column]
    /// The index of the primary key's values in a leaf of objects. Nil if there is none.
    var primaryKeyLeaf: Int?
    /// The tree of objects, or in formats up to 9 the columns; 0 if there is none.
    var objects: Int
}

extension FileNodes {
    /// The codes of types that are no value's own.
    private enum TypeCode {
        static let interned: Int64 = 3
        static let subtable: Int64 = 5
        static let linkList: Int64 = 13
        static let backlink: Int64 = 14
    }

    /// Reads the description of a table in a file of format 10 or newer.
    ///
    /// ```
    /// table: 0 columns · 2 tree of objects · 3 key · 4 an index for each column · 7 the key of each column's target
    ///        · 11 primary key's column · 12 kind
    /// ```
    func table(_ reference: Int, number: Int, name: String) throws(RealmFileError) -> FileTable {
        let node = try node(reference)
        let specification = try child(node, 0)
        let types = try integers(specification, 0)
        let names = try child(specification, 1)
        let attributes = try integers(specification, 2)
        let interned = try optionalIntegers(specification, 4)
        let keys = try integers(specification, 5)
        let targets = try optionalIntegers(node, 7)
        let indexes = try optionalIntegers(node, 4)
        guard attributes.count >= types.count, keys.count >= types.count else {
            throw .damage("the columns of the table \(name) lack a part of their description", at: reference)
        }
        var columns: [FileTable.Column] = []
        for index in 0..<types.count {
            guard let kind = try kind(types.signed(index) & 0xffff, in: name, at: reference) else { continue }
            let leafIndex = Int(keys.unsigned(index) & 0xffff)
            var placement = FileColumn(leafIndex: leafIndex)
            if kind == .string, let interned, index < interned.count {
                placement.interned = Int(interned.signed(index))
            }
            var column = FileTable.Column(
                name: try columnName(names, index, in: name), kind: kind, attributes: attributes.signed(index),
                target: nil, placement: placement)
            if kind == .object, let targets, leafIndex < targets.count {
                column.target = UInt32(truncatingIfNeeded: targets.signed(leafIndex))
            }
            if let indexes, leafIndex < indexes.count, indexes.signed(leafIndex) != 0,
                !column.has(FileTable.Column.fullText)
            {
                column.attributes |= FileTable.Column.indexed
            }
            columns.append(column)
        }
        let key = try node.tagged(3) ?? UInt64(number)
        let kind: RealmFileClass.Kind =
            switch (try node.tagged(12) ?? 0) & 3 {
            case 1: .embedded
            case 2: .asymmetric
            default: .object
            }
        return FileTable(
            name: name, key: UInt32(truncatingIfNeeded: key), kind: kind, columns: columns,
            primaryKeyLeaf: try node.tagged(11).map { Int($0 & 0xffff) }, objects: try node.referenceOrZero(2))
    }

    /// Reads the description of a table in a file of a format up to 9.
    ///
    /// The table's elements: 0 its columns' description · 1 their values, where an indexed column takes two elements.
    func oldTable(_ reference: Int, number: Int, name: String) throws(RealmFileError) -> FileTable {
        let node = try node(reference)
        let specification = try child(node, 0)
        // An upgrade writes tables of the new form before the header says so.
        guard node.count == 2, 3...5 ~= specification.count else { throw RealmFileError(.interruptedUpgrade) }
        let types = try integers(specification, 0)
        let names = try child(specification, 1)
        let attributes = try integers(specification, 2)
        guard attributes.count >= types.count else {
            throw .damage("the columns of the table \(name) lack a part of their description", at: reference)
        }
        // What links and lists of values say beyond their type, in the order of the columns.
        var further = OldFurther(
            tables: try optionalIntegers(specification, 3), interned: try optionalIntegers(specification, 4),
            reference: reference)
        var columns: [FileTable.Column] = []
        var position = 0
        for index in 0..<types.count {
            let type = types.signed(index)
            var attribute = attributes.signed(index)
            let leafIndex = position
            position += 1
            if type == TypeCode.backlink {
                further.skipBacklink()
                continue
            }
            if attribute & FileTable.Column.indexed != 0 { position += 1 }
            var placement = FileColumn(leafIndex: leafIndex)
            var target: UInt32?
            let kind: ElementType.Kind
            switch type {
            case TypeCode.interned:
                kind = .string
                placement.interned = try further.nextInterned()
            case TypeCode.subtable:
                let element = try subtableElement(further.nextTable(), in: name)
                kind = element.kind
                attribute |= element.attributes | FileTable.Column.list
                placement.isSubtable = true
            default:
                guard let own = try self.kind(type, in: name, at: reference) else { continue }
                kind = own
                if kind == .object {
                    target = UInt32(truncatingIfNeeded: try further.nextTable() >> 1)
                    attribute |= type == TypeCode.linkList ? FileTable.Column.list : FileTable.Column.optional
                }
            }
            columns.append(
                FileTable.Column(
                    name: try columnName(names, index, in: name), kind: kind, attributes: attribute, target: target,
                    placement: placement))
        }
        return FileTable(
            name: name, key: UInt32(number), kind: .object, columns: columns, primaryKeyLeaf: nil,
            objects: try node.referenceOrZero(1))
    }

    private struct OldFurther {
        let tables: FileNode?
        let interned: FileNode?
        let reference: Int
        private var nextTableIndex = 0
        private var nextInternedIndex = 0

        init(tables: FileNode?, interned: FileNode?, reference: Int) {
            self.tables = tables
            self.interned = interned
            self.reference = reference
        }

        mutating func nextTable() throws(RealmFileError) -> Int64 {
            defer { nextTableIndex += 1 }
            return try element(of: tables, nextTableIndex)
        }

        mutating func nextInterned() throws(RealmFileError) -> Int {
            defer { nextInternedIndex += 1 }
            return Int(try element(of: interned, nextInternedIndex))
        }

        /// A backlink has the table and the column that it comes from.
        mutating func skipBacklink() { nextTableIndex += 2 }

        private func element(of node: FileNode?, _ index: Int) throws(RealmFileError) -> Int64 {
            guard let node, index < node.count else {
                throw .damage("a column lacks a part of its description", at: reference)
            }
            return node.signed(index)
        }
    }

    /// The type of the only column of a list of values.
    private func subtableElement(
        _ reference: Int64, in name: String
    ) throws(RealmFileError) -> (kind: ElementType.Kind, attributes: Int64) {
        let node = try node(Int(reference))
        let types = try integers(node, 0)
        let attributes = try integers(node, 2)
        guard types.count == 1, attributes.count == 1,
            let kind = try kind(types.signed(0), in: name, at: node.reference)
        else { throw .damage("a list of the table \(name) has several columns", at: node.reference) }
        return (kind, attributes.signed(0))
    }

    /// The kind of a column's values; nil if the column is not for programs.
    private func kind(_ code: Int64, in table: String, at reference: Int) throws(RealmFileError) -> ElementType.Kind? {
        if code == TypeCode.backlink { return nil }
        if code == TypeCode.linkList { return .object }
        guard let byte = UInt8(exactly: code), let kind = ElementType.Kind(rawValue: byte) else {
            throw .damage("the table \(table) has a column of the unknown type \(code)", at: reference)
        }
        return kind
    }

    private func columnName(_ names: FileNode, _ index: Int, in table: String) throws(RealmFileError) -> String {
        guard index < names.count else {
            throw .damage("the table \(table) has a column without a name", at: names.reference)
        }
        return try name(names, index)
    }

    /// A name of a list of short strings. What is no UTF-8 is replaced by U+FFFD.
    func name(_ names: FileNode, _ index: Int) throws(RealmFileError) -> String {
        guard names.kind == .bytes || names.count == 0 else {
            throw .damage("a list of names has numbers", at: names.reference)
        }
        guard let bytes = try Leaf.shortString(names, index) else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }
}
