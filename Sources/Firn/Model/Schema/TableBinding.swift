import FirnCore

/// Ties a class to its table in one store: it says which column each property has.
final class TableBinding: @unchecked Sendable {
    // Immutable after its initialiser, but metatypes are not Sendable to the compiler. The memory of the pointers is
    // freed with it.
    let info: ClassInfo
    let table: TableID
    /// The column of each stored property, by the property's number.
    let columns: [Int]
    let layouts: [ElementLayout]
    /// The table that each stored property's links lead to, by the property's number.
    private let targets: [TableID?]
    /// Whether the objects belong to parents. False for a class that becomes embedded, while a migration block runs.
    let isEmbedded: Bool
    /// What is written into each wrapper of a managed instance.
    private let binds: Binds
    /// The bytes that accessors are copied from; nil if the class's initialiser has to make them, or if their reads are
    /// tracked.
    let template: AccessorTemplate?
    /// The bytes that accessors are copied from if their reads are reported to Swift's Observation framework; otherwise
    /// nil. These accessors must not count as located.
    let trackedTemplate: AccessorTemplate?
    /// Whether reads of the class's objects are reported to Swift's Observation framework.
    let isObservable: Bool
    /// How an unmanaged instance's values are written to a new row, for the columns without links and collections.
    /// Plain memory, so that nothing is retained while they are read.
    let fills: UnsafeBufferPointer<Fill>
    /// Like `fills`, for links, collections, mixed values (which may have links in them) and boxes.
    let references: UnsafeBufferPointer<Fill>
    /// The column of an integer primary key that is not optional; -1 if there is none.
    let integerKeyColumn: Int
    private let byColumn: [PropertyInfo?]
    /// The table's schema when the binding was made.
    private let schema: TableSchema

    struct Fill {
        let memory: _InlineStorage
        /// The offset of the unmanaged value in an instance.
        let valueOffset: Int
        let column: Int
        /// Lives as long as the class's info, which the binding keeps.
        unowned(unsafe) let property: PropertyInfo
    }

    struct Bind {
        let offset: Int32
        /// A `_BoundColumn`.
        let column: Int32
    }

    /// The offset of each wrapper, and its column.
    struct Binds {
        fileprivate let all: UnsafeBufferPointer<Bind>

        /// Writes the columns into the wrappers of an instance.
        @inline(__always)
        func write(to instance: UnsafeMutableRawPointer) {
            for bind in all { (instance + Int(bind.offset)).storeBytes(of: bind.column, as: Int32.self) }
        }
    }

    init(info: ClassInfo, table: TableID, schema: TableSchema) {
        self.info = info
        self.table = table
        isObservable = info.isObservable
        self.schema = schema
        isEmbedded = info.isEmbedded && schema.isEmbedded
        var columns: [Int] = []
        var layouts: [ElementLayout] = []
        var byColumn: [PropertyInfo?] = Array(repeating: nil, count: schema.columns.count)
        var binds: [Bind] = []
        let numbers = schema.numbersByName
        for property in info.properties {
            guard let column = property.isLinkingObjects ? property.position : numbers[property.columnName] else {
                preconditionFailure("Firn: \(info.name).\(property.name) has no column")
            }
            // Backlinks have no column; their index among the properties is used instead.
            var bound = Int32(column)
            if !property.isLinkingObjects {
                columns.append(column)
                layouts.append(ElementLayout(schema.columns[column]))
                byColumn[column] = property
                if !schema.isWritableInPlace(column) {
                    bound |= _BoundColumn.writesThroughStore
                }
                if property.shape.isNullable && property.isRequired {
                    bound |= _BoundColumn.writesThroughStore | _BoundColumn.readsSpecially
                }
            }
            // A class that only the store describes has no instances with wrappers.
            if !info.isStored { binds.append(Bind(offset: Int32(property.offset), column: bound)) }
        }
        for property in info.ignored {
            binds.append(Bind(offset: Int32(property.offset), column: _BoundColumn.ignored))
        }
        self.columns = columns
        self.layouts = layouts
        integerKeyColumn =
            info.primaryKey.map { $0.shape.type == .int && !$0.isNullable ? columns[$0.number] : -1 } ?? -1
        self.byColumn = byColumn
        targets = columns.map { schema.columns[$0].target }
        let bindMemory = UnsafeMutableBufferPointer<Bind>.allocate(capacity: binds.count)
        _ = bindMemory.initialize(fromContentsOf: binds)
        self.binds = Binds(all: UnsafeBufferPointer(bindMemory))
        let made = info.template.map { [binds = self.binds] in AccessorTemplate($0, binds) }
        (template, trackedTemplate) = isObservable ? (nil, made) : (made, nil)
        func steps(_ isIncluded: (PropertyInfo) -> Bool) -> UnsafeBufferPointer<Fill> {
            let steps = info.stored.filter(isIncluded).map {
                Fill(memory: $0.shape.memory, valueOffset: $0.valueOffset, column: columns[$0.number], property: $0)
            }
            let buffer = UnsafeMutableBufferPointer<Fill>.allocate(capacity: steps.count)
            _ = buffer.initialize(fromContentsOf: steps)
            return UnsafeBufferPointer(buffer)
        }
        fills = steps { !$0.isLink && !$0.isCollection }
        references = steps { $0.isReference }
    }

    deinit {
        binds.all.deallocate()
        template?.deallocate()
        trackedTemplate?.deallocate()
        fills.deallocate()
        references.deallocate()
    }

    /// The binding of a managed row.
    @inline(__always)
    static func of(_ row: _Row) -> TableBinding {
        Unmanaged<TableBinding>.fromOpaque(row.table.unsafelyUnwrapped).takeUnretainedValue()
    }

    var address: UnsafeRawPointer { UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()) }

    /// A property's column; for backlinks, its index among the properties.
    func column(_ property: PropertyInfo) -> Int {
        property.isLinkingObjects ? property.position : columns[property.number]
    }

    /// The table that a stored property's links lead to; nil for other properties.
    func target(of property: PropertyInfo) -> TableID? { targets[property.number] }

    /// The property of a column. The column must be one of the class's.
    func property(column: Int) -> PropertyInfo {
        guard let property = byColumn[column] else {
            preconditionFailure("Firn: column \(column) of \(info.name) is no property")
        }
        return property
    }

    /// What accessors may do in a version whose schema another opener of the store may have changed.
    func fit(_ other: StoreSchema) -> SchemaFit {
        // A version that is older than the class has no objects of it.
        guard table.index < other.tables.count, other[table] != schema else { return .inPlace }
        let now = other[table]
        if now.isRemoved { return .none }
        var fit = SchemaFit.inPlace
        for column in columns {
            guard column < now.columns.count else { return .none }
            let old = schema.columns[column]
            var new = now.columns[column]
            new.isIndexed = old.isIndexed
            new.name = old.name
            if old != new { return .none }
            if schema.isWritableInPlace(column), !now.isWritableInPlace(column) { fit = .throughTransaction }
        }
        return fit
    }

    /// Empties the wrappers of an instance that becomes an accessor. Its class's initialisers may have put a
    /// collection, a box or an object there, which would be taken for the store's value.
    func clearReferences(of object: ObjectBase) {
        let address = object.address
        for step in references {
            // The word is nil for a link without a target, and for a collection or a box that was never read.
            let isEmpty = !step.property.isMixed && (address + step.valueOffset).load(as: UInt.self) == 0
            if !isEmpty { step.property.wrapper.clear(address + step.property.offset) }
        }
    }

    /// Writes the columns into the wrappers of an instance.
    @inline(__always)
    func bind(_ instance: UnsafeMutableRawPointer) { binds.write(to: instance) }
}

/// What the accessors of a realm may do in a version, by the version's schema.
enum SchemaFit: Int {
    /// Nothing: they would read memory that holds something else.
    case none
    /// Read. The transaction writes the cells, because a cell may belong to an index that the accessors do not know.
    case throughTransaction
    /// Read, and write cells directly.
    case inPlace
}

extension TableSchema {
    /// Whether a write to a column changes nothing but the cell.
    fileprivate func isWritableInPlace(_ column: Int) -> Bool { columns[column].isPlain && primaryKey != column }
}

/// The classes of a realm and their tables.
final class SchemaBinding: Sendable {
    let tables: [TableBinding]
    private let byType: ClassMap<TableBinding>
    private let byName: NameMap<TableBinding>
    /// The bindings by table number; nil for tables without a class in this realm.
    private let byTable: [TableBinding?]
    let version: UInt64
    /// The number of earlier migrations that no open realm survived.
    let era: Int

    /// The tables of a schema, with classes that only the store describes. A migration reads the old objects through
    /// this binding.
    convenience init(stored schema: StoreSchema) {
        self.init(schema.tables.filter { !$0.isRemoved }.map { ClassInfo($0, in: schema) }, schema, era: -1)
    }

    init(_ infos: [ClassInfo], _ schema: StoreSchema, era: Int) {
        var tables: [TableBinding] = []
        var byTable: [TableBinding?] = Array(repeating: nil, count: schema.tables.count)
        let numbers = schema.numbersByName
        for info in infos {
            guard let id = numbers[info.name] else {
                preconditionFailure("Firn: the class \(info.name) has no table")
            }
            let binding = TableBinding(info: info, table: id, schema: schema[id])
            tables.append(binding)
            byTable[id.index] = binding
        }
        self.tables = tables
        byName = NameMap(tables.map { ($0.info.name, $0) })
        self.byTable = byTable
        var byType = ClassMap<TableBinding>()
        for table in tables where !table.info.isStored { byType.insert(table.info.type, table) }
        self.byType = byType
        version = schema.version
        self.era = era
    }

    /// What accessors may do in a version with a schema, and the first of the most restricted classes; nil if no class
    /// is restricted.
    func fit(_ schema: StoreSchema) -> (fit: SchemaFit, table: TableBinding?) {
        var least: (fit: SchemaFit, table: TableBinding?) = (.inPlace, nil)
        for table in tables {
            let fit = table.fit(schema)
            if fit.rawValue < least.fit.rawValue { least = (fit, table) }
        }
        return least
    }

    func table(of type: ObjectBase.Type) -> TableBinding? { byType[type] }
    /// The table of a class by its name. O(log classes).
    func table(named name: String) -> TableBinding? { byName[name] }
    /// The table of a class if it has the given number. Several classes may share one table.
    func table(of type: ObjectBase.Type, ifNumbered id: TableID) -> TableBinding? {
        table(of: type).flatMap { $0.table == id ? $0 : nil }
    }
    func table(_ id: TableID) -> TableBinding? { id.index < byTable.count ? byTable[id.index] : nil }
}
