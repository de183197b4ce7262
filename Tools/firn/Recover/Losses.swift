/// A class, or one of its properties, by numbers.
struct SchemaPath: Hashable, Comparable {
    var table: Int
    /// The property's column; nil for the class itself.
    var column: Int?

    static func < (a: SchemaPath, b: SchemaPath) -> Bool { (a.table, a.column ?? -1) < (b.table, b.column ?? -1) }
}

/// What happened to a class or property: how often, and to which objects.
struct Loss {
    private(set) var count = 0
    /// The known numbers of the objects: the first `rangeMax` ranges.
    private(set) var keys: [ClosedRange<Int64>] = []
    private(set) var areAllListed = true

    private static let rangeMax = 1000

    mutating func add(_ key: Int64?, count: Int = 1) {
        // Forged counts may be anything.
        self.count = Int(min(Int64(self.count) + Int64(min(max(count, 0), 1 << 48)), 1 << 60))
        guard let key else {
            areAllListed = false
            return
        }
        if let last = keys.last, key >= last.lowerBound, key <= last.upperBound + 1 {
            keys[keys.count - 1] = last.lowerBound...max(key, last.upperBound)
        } else if keys.count < Self.rangeMax {
            keys.append(key...key)
        } else {
            areAllListed = false
        }
    }
}

/// What happened to classes and properties, all of one kind.
struct Losses {
    private var byPath: [SchemaPath: Loss] = [:]

    var isEmpty: Bool { byPath.isEmpty }
    /// All losses, in the order of tables and columns.
    var all: [(path: SchemaPath, loss: Loss)] {
        byPath.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// - Parameter key: the object's number; nil if the objects are not known.
    mutating func add(_ key: Int64?, count: Int = 1, at path: SchemaPath) {
        byPath[path, default: Loss()].add(key, count: count)
    }
}
