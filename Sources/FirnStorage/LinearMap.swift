/// A dictionary for few entries, searched one after the other.
///
/// The type requires no conformance of its keys; only its functions do. At the first use of a `Dictionary` with a given
/// type of keys, Swift's runtime searches the conformances of all loaded modules. Each such search takes some 0.1 ms,
/// and opening a store would take several of them.
package struct LinearMap<Key, Value> {
    @usableFromInline package var entries: [(key: Key, value: Value)] = []

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { entries.isEmpty }
    @inlinable package var keys: [Key] { entries.map(\.key) }
    @inlinable package var values: [Value] { entries.map(\.value) }

    /// Removes the entries whose values fail a test.
    @inlinable package mutating func keepOnly(where isKept: (Value) -> Bool) {
        entries.removeAll { !isKept($0.value) }
    }
}

extension LinearMap where Key: Equatable {
    /// The value of a key; nil if there is none. O(entries).
    @inlinable package subscript(key: Key) -> Value? {
        get { index(key).map { entries[$0].value } }
        set {
            switch (index(key), newValue) {
            case (let index?, let value?): entries[index].value = value
            case (let index?, nil): entries.remove(at: index)
            case (nil, let value?): entries.append((key, value))
            case (nil, nil): break
            }
        }
    }

    @inlinable package func index(_ key: Key) -> Int? { entries.firstIndex { $0.key == key } }
}

extension LinearMap: Sendable where Key: Sendable, Value: Sendable {}
