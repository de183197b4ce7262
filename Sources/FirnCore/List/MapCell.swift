// A map is a collection of entries that ascend by the bytes of their keys, one entry per key.

extension ListCell {
    /// The index of the entry of `key` (UTF-8) in a map, or the index at which it would be inserted. O(log n).
    package func find(key: UnsafeRawBufferPointer) -> (index: Int, isFound: Bool) {
        assert(layout.collection == .map)
        let index = partitionIndex { block, index in Value.order(bytes: block.key(index), key) < 0 }
        guard index < count else { return (index, false) }
        let location = locate(index)
        return (index, Value.order(bytes: location.block.key(location.index), key) == 0)
    }

    package func find(key: String) -> (index: Int, isFound: Bool) {
        PlainCoding.withBytes(.string(key), as: .string) { find(key: $0.unsafelyUnwrapped) }
    }

    /// The value of `key`, nil if the map has no such key. O(log n).
    package func value(forKey key: String) -> Value? {
        let found = find(key: key)
        return found.isFound ? value(at: found.index) : nil
    }

    /// The UTF-8 bytes of an entry's key.
    package func keyBytes(at index: Int) -> UnsafeRawBufferPointer {
        let location = locate(index)
        return location.block.key(location.index)
    }

    package func key(at index: Int) -> String { String(decoding: keyBytes(at: index), as: UTF8.self) }

    /// All entries. As with `values`, there are fewer once damage has been met. O(n).
    package var entries: [Value.MapEntry] {
        var result: [Value.MapEntry] = []
        result.reserveCapacity(min(count, ListCell.mostReserved))
        forEachBytes { key, bytes in
            result.append(
                Value.MapEntry(
                    key: String(decoding: key.unsafelyUnwrapped, as: UTF8.self),
                    value: bytes.map { PlainCoding.load($0, as: layout.type) } ?? .null))
            return ListCell.goesOn(after: result.count)
        }
        return result
    }
}

extension ListEditor {
    /// Sets the value of `key`. Returns the entry's index and whether the key was there.
    @discardableResult
    mutating func setValue(_ value: Value, forKey key: String) -> (index: Int, replaced: Bool) {
        let found = cell.find(key: key)
        let element = PlainCoding.withBytes(.string(key), as: .string) { encode(value, key: $0.unsafelyUnwrapped) }
        if found.isFound {
            replace(with: element, at: found.index)
        } else {
            insert(encoded: element, at: found.index)
        }
        return (found.index, found.isFound)
    }

    /// Removes the entry of `key`. Returns its index, or nil if there was none.
    @discardableResult
    mutating func removeValue(forKey key: String) -> Int? {
        let found = cell.find(key: key)
        guard found.isFound else { return nil }
        remove(at: found.index)
        return found.index
    }
}
