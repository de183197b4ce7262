// A map is a collection of entries that ascend by the bytes of their keys, one per key.

extension ListCell {
    /// Where the entry of `key` (UTF-8) stands in a map, or where it would be inserted. O(log n).
    public func find(key: UnsafeRawBufferPointer) -> (index: Int, isFound: Bool) {
        assert(layout.collection == .map)
        let index = partitionIndex { block, index in Value.order(bytes: block.key(index), key) < 0 }
        guard index < count else { return (index, false) }
        let place = locate(index)
        return (index, Value.order(bytes: place.block.key(place.index), key) == 0)
    }

    public func find(key: String) -> (index: Int, isFound: Bool) {
        PlainCoding.withBytes(.string(key), as: .string) { find(key: $0.unsafelyUnwrapped) }
    }

    /// The value of `key`, nil where the map has none. O(log n).
    public func value(forKey key: String) -> Value? {
        let place = find(key: key)
        return place.isFound ? value(at: place.index) : nil
    }

    /// The UTF-8 bytes of an entry's key.
    public func keyBytes(at index: Int) -> UnsafeRawBufferPointer {
        let place = locate(index)
        return place.block.key(place.index)
    }

    public func key(at index: Int) -> String { String(decoding: keyBytes(at: index), as: UTF8.self) }

    /// All entries; as of `values`, fewer once damage has been met. O(n).
    public var entries: [Value.MapEntry] {
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
    /// Sets the value of `key`; gives back the entry's place and whether the key was there.
    @discardableResult
    mutating func setValue(_ value: Value, forKey key: String) -> (index: Int, replaced: Bool) {
        let place = cell.find(key: key)
        let element = PlainCoding.withBytes(.string(key), as: .string) { encode(value, key: $0.unsafelyUnwrapped) }
        if place.isFound {
            replace(with: element, at: place.index)
        } else {
            insert(encoded: element, at: place.index)
        }
        return (place.index, place.isFound)
    }

    /// Takes the entry of `key` out; gives back where it stood, or nil where there was none.
    @discardableResult
    mutating func removeValue(forKey key: String) -> Int? {
        let place = cell.find(key: key)
        guard place.isFound else { return nil }
        remove(at: place.index)
        return place.index
    }
}
