/// The links in mixed values, and the keys under which the backlinks of a mixed column list them.
///
/// ```
///  63          48 47                                      0
/// ┌──────────────┬─────────────────────────────────────────┐
/// │ table        │ key                                     │   combined by exclusive or
/// └──────────────┴─────────────────────────────────────────┘
/// ```
///
/// Two objects may share a backlink key. So an entry under a key is only a candidate: the mixed value decides.
enum MixedLinks {
    static func backlinkKey(_ table: TableID, _ key: Int64) -> UInt64 {
        UInt64(table.rawValue) << 48 ^ UInt64(bitPattern: key)
    }

    /// Calls `body` with the target of each link in a mixed value, those in nested collections included.
    static func forEach(in value: Value, _ body: (TableID, Int64) -> Void) {
        switch value {
        case .typedLink(let table, let key): body(table, key)
        case .list(let elements), .set(let elements): for element in elements { forEach(in: element, body) }
        case .map(let entries): for entry in entries { forEach(in: entry.value, body) }
        default: break
        }
    }

    /// Returns whether `isWanted` holds for the target of a link in a mixed value.
    static func contains(in value: Value, _ isWanted: (TableID, Int64) -> Bool) -> Bool {
        switch value {
        case .typedLink(let table, let key): isWanted(table, key)
        case .list(let elements), .set(let elements): elements.contains { contains(in: $0, isWanted) }
        case .map(let entries): entries.contains { contains(in: $0.value, isWanted) }
        default: false
        }
    }

    /// Calls `body` with the target of each link in the bytes of a mixed value.
    static func forEach(in bytes: UnsafeRawBufferPointer?, _ body: (TableID, Int64) -> Void) {
        // Most values are neither links nor collections, and need not be decoded.
        guard let bytes, MixedCoding.mayHaveLinks(bytes) else { return }
        forEach(in: MixedCoding.decodeTrusted(bytes), body)
    }
}

extension Value {
    /// Returns whether a mixed value, or a value nested in it, links to one of `objects`. O(value).
    package func links(toOneOf objects: [TableID: Set<Int64>]) -> Bool {
        MixedLinks.contains(in: self) { table, key in objects[table]?.contains(key) ?? false }
    }
}
