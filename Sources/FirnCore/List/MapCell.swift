// A map is a collection of entries that ascend by the bytes of their keys, one entry per key.

extension ListCell {
    /// The index of the entry of `key` (UTF-8) in a map, or the index at which it would be inserted. O(log n), and a
    /// walk through a leaf.
    package func find(key: UnsafeRawBufferPointer) -> (index: Int, isFound: Bool) {
        assert(layout.collection == .map)
        return search { element in Value.order(bytes: element.key, key) }
    }

    package func find(key: String) -> (index: Int, isFound: Bool) {
        PlainCoding.withBytes(.string(key), as: .string) { find(key: $0.unsafelyUnwrapped) }
    }

    /// The value of `key`; nil if the map has no such key. O(log n).
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

    /// All entries. As with `values`, there may be fewer once damage has been met. O(n).
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

extension ListCell {
    /// An element in the form that edits and scripts use: an entry of a map is a map with only that entry.
    package func element(at index: Int) -> Value {
        let value = value(at: index)
        return layout.collection == .map ? .map([Value.MapEntry(key: key(at: index), value: value)]) : value
    }

    /// All elements in the form of `element(at:)`. As with `values`, there may be fewer once damage has been met. O(n).
    package var elements: [Value] { layout.collection == .map ? entries.map { .map([$0]) } : values }

    /// Whether a set or map stays in order if `element` is inserted before the element at `index`, or replaces it.
    /// Always true for a list. O(log n).
    func keepsOrder(_ element: Value, at index: Int, replacing: Bool) -> Bool {
        guard layout.collection != .list else { return true }
        let next = replacing ? index + 1 : index
        return (index == 0 || Value.order(ofElements: self.element(at: index - 1), element) < 0)
            && (next >= count || Value.order(ofElements: element, self.element(at: next)) < 0)
    }
}

extension Value {
    /// The only entry of a map that stands for one element (see `element(at:)`).
    package var onlyEntry: MapEntry {
        guard case .map(let entries) = self, let entry = entries.first, entries.count == 1 else {
            preconditionFailure("Firn: \(self) is not an entry of a map")
        }
        return entry
    }

    /// The order of two elements of a set, or of a map, whose entries are ordered by their keys alone.
    static func order(ofElements a: Value, _ b: Value) -> Int {
        guard case .map(let x) = a, case .map(let y) = b, x.count == 1, y.count == 1 else { return order(a, b) }
        return order(utf8: x[0].key, y[0].key)
    }

    /// The map of `entries`. If several entries have the same key, the last one is kept.
    package static func map(of entries: [MapEntry]) -> Value {
        var result: [MapEntry] = []
        // The sort is stable.
        for entry in entries.sorted(by: { order(utf8: $0.key, $1.key) < 0 }) {
            if let last = result.last, order(utf8: last.key, entry.key) == 0 { result.removeLast() }
            result.append(entry)
        }
        return .map(result)
    }
}
