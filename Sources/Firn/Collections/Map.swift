import FirnCore
import FirnStorage

/// A collection of values or objects by string keys.
///
/// ```swift
/// class Shop: Object {
///     @Persisted var prices: Map<String, Decimal128>
///     @Persisted var staff: Map<String, Person?>          // objects are optional
/// }
///
/// try realm.write {
///     shop.prices["tea"] = 2.5
///     shop.staff["till"] = ann
/// }
/// for entry in shop.prices { print(entry.key, entry.value) }
/// ```
///
/// An unmanaged map behaves like a managed map. A managed map is live: it shows what its realm shows. Setting an
/// unmanaged object in a managed map adds the object to the realm. Removing a key does not delete its object. Deleting
/// the object leaves the key with nil.
///
/// **Keys** are equal if their UTF-8 bytes are equal, and entries are in the order of these bytes. A key may be empty,
/// but must not begin with "$" or contain ".", because key paths could not name it.
///
/// **Cost.** In a managed map, reading, setting or removing a key is O(log n). If the values are objects, each change
/// also updates the index of the links to them. In an unmanaged map, an access to a key is O(1); `keys`, `values` and
/// iterating first sort the keys, in O(n log n).
///
/// **What stops the program.** A key that is not allowed stops it. So do these, as in `List`:
///
/// - changing a managed map outside a write transaction;
/// - using a managed map on another thread, or after its object was deleted;
/// - adding to a managed map an object of another realm;
/// - adding to a managed map a key or value of more than 16 MiB.
public final class Map<Key: _MapKey, Value: RealmCollectionValue>: CollectionBase, RealmKeyedCollection {
    /// The entries that an unmanaged map stores itself.
    private var entriesHere: [MapKeyBytes: Value] = [:]

    /// The entries of an unmanaged map, or of a dictionary inside a mixed value. A change of the latter stores the
    /// whole mixed value again.
    private(set) var unmanaged: [MapKeyBytes: Value] {
        get {
            guard let nest else { return entriesHere }
            // The values of a dictionary inside a mixed value are mixed values.
            return unsafeBitCast(nest.entries, to: [MapKeyBytes: Value].self)
        }
        _modify {
            if let nest {
                var entries = self.unmanaged
                yield &entries
                let map = Map<String, AnyRealmValue>()
                map.entriesHere = unsafeBitCast(entries, to: [MapKeyBytes: AnyRealmValue].self)
                nest.replace(with: .dictionary(map))
            } else {
                yield &entriesHere
            }
        }
    }

    /// An empty unmanaged map.
    public convenience init() { self.init(at: nil) }

    override class var noun: String { "map" }
    override var persisted: any PersistedCollection { self }
    override func dropUnmanaged() { entriesHere = [:] }

    // MARK: Reading

    /// The number of entries. O(1).
    public var count: Int { location == nil ? unmanaged.count : cell.count }

    /// All keys, in order. O(n) if managed, else O(n log n).
    public var keys: [Key] { entries.map(\.key) }
    /// All values, in the order of their keys. O(n) if managed, else O(n log n).
    public var values: [Value] { entries.map(\.value) }

    /// The value of a key; nil if the map does not have the key. Setting nil removes the key.
    ///
    /// In a map of optional values, `map["a"] = nil` removes the key; `map.updateValue(nil, forKey: "a")` keeps the key
    /// with the value nil. O(log n) if managed, else O(1). Setting stops the program outside a write transaction if the
    /// map is managed, and if the key is not allowed.
    public subscript(key: Key) -> Value? {
        get {
            guard location != nil else { return unmanaged[MapKeyBytes(key._keyText)] }
            return cell.value(forKey: key._keyText).map { element($0, at: .key(key._keyText)) }
        }
        set {
            if let newValue { updateValue(newValue, forKey: key) } else { removeObject(for: key) }
        }
    }

    /// The value of a key: the same as `self[key]`.
    public func object(forKey key: Key) -> Value? { self[key] }

    /// The entries, in the order of their keys.
    var entries: [SingleMapEntry<Key, Value>] {
        guard location != nil else {
            return unmanaged.sorted { $0.key < $1.key }.map { SingleMapEntry(Key._key($0.key.text), $0.value) }
        }
        return cell.entries.map { SingleMapEntry(Key._key($0.key), element($0.value, at: .key($0.key))) }
    }

    /// Iterates over the entries that the map has now, in the order of their keys, whatever is written meanwhile. O(n)
    /// at the start if managed, else O(n log n).
    public func makeIterator() -> IndexingIterator<[SingleMapEntry<Key, Value>]> { entries.makeIterator() }

    /// The entries as pairs: `for (key, value) in map.asKeyValueSequence() { … }`. O(n) if managed, else O(n log n).
    public func asKeyValueSequence() -> KeyValueSequence { KeyValueSequence(entries: entries) }

    /// The entries of a map as pairs of a key and a value.
    public struct KeyValueSequence: Sequence {
        let entries: [SingleMapEntry<Key, Value>]
        /// Iterates over the pairs, in the order of their keys.
        public func makeIterator() -> AnyIterator<(key: Key, value: Value)> {
            AnyIterator(entries.lazy.map { (key: $0.key, value: $0.value) }.makeIterator())
        }
    }

    // MARK: Changing

    /// Sets the value of a key, whether the map has the key or not. Stops the program outside a write transaction if
    /// the map is managed, and if the key is not allowed. O(log n) if managed, else O(1).
    public func updateValue(_ value: Value, forKey key: Key) {
        key.checkAsKey()
        guard location != nil else { return unmanaged[MapKeyBytes(key._keyText)] = value }
        let value = stored(value)
        edit { map in map.setValue(value, forKey: key._keyText) }
    }

    /// Removes a key, if the map has it. A removed object stays in the realm. Stops the program outside a write
    /// transaction if the map is managed. O(log n) if managed, else O(1).
    public func removeObject(for key: Key) {
        guard location != nil else { return unmanaged[MapKeyBytes(key._keyText)] = nil }
        edit { map in map.removeValue(forKey: key._keyText) }
    }

    /// Removes all entries. The objects stay in the realm. O(n). Stops the program outside a write transaction if the
    /// map is managed.
    public func removeAll() {
        guard location != nil else { return unmanaged = [:] }
        edit { map in map.removeAll() }
    }

    /// Sets the entries of a sequence. If the map already has a key, `combine` computes the value from the current
    /// value and the new one.
    ///
    /// ```swift
    /// try realm.write { shop.prices.merge(["tea": 3, "milk": 1]) { old, new in max(old, new) } }
    /// ```
    ///
    /// Stops the program outside a write transaction if the map is managed. O(log n) for each entry if managed.
    ///
    /// - Throws: what `combine` throws.
    public func merge<S: Sequence>(_ sequence: S, uniquingKeysWith combine: (Value, Value) throws -> Value) rethrows
    where S.Element == (key: Key, value: Value) {
        for (key, value) in Array(sequence) {
            updateValue(try self[key].map { try combine($0, value) } ?? value, forKey: key)
        }
    }

    /// Sets the entries of another map, like `merge` with the other map's pairs. Throws what `combine` throws.
    public func merge(_ other: Map, uniquingKeysWith combine: (Value, Value) throws -> Value) rethrows {
        try merge(other.asKeyValueSequence(), uniquingKeysWith: combine)
    }

    /// Sets the entries of a dictionary, like `merge` with the dictionary's pairs. Throws what `combine` throws.
    public func merge(_ dictionary: [Key: Value], uniquingKeysWith combine: (Value, Value) throws -> Value) rethrows {
        try merge(dictionary.lazy.map { (key: $0.key, value: $0.value) }, uniquingKeysWith: combine)
    }

    /// Replaces the entries. The caller has checked that the keys are allowed.
    func assign(_ entries: [(key: String, value: Value)]) {
        guard location != nil else {
            var all: [MapKeyBytes: Value] = [:]
            for entry in entries { all[MapKeyBytes(entry.key)] = entry.value }
            unmanaged = all
            return
        }
        let values = entries.map { (key: $0.key, value: stored($0.value)) }
        edit { map in
            map.removeAll()
            for entry in values { map.setValue(entry.value, forKey: entry.key) }
        }
    }
}

/// An entry of a map.
public struct SingleMapEntry<Key: _MapKey, Value: RealmCollectionValue>: Hashable {
    /// The key.
    public var key: Key
    /// The value.
    public var value: Value

    init(_ key: Key, _ value: Value) {
        self.key = key
        self.value = value
    }
}

/// A type that a map's keys can have: `String`.
public protocol _MapKey: Hashable, Encodable {
    /// The key as text.
    var _keyText: String { get }
    /// Converts a text to a key.
    static func _key(_ text: String) -> Self
}

extension String: _MapKey {
    /// The string itself.
    public var _keyText: String { self }
    /// The string itself.
    public static func _key(_ text: String) -> String { text }
}

extension _MapKey {
    /// Stops the program if the key is not allowed.
    func checkAsKey() {
        if let fault = MapKeyBytes.fault(in: _keyText) { stopProgram("\(fault).") }
    }
}

/// A key of an unmanaged map: a text that is compared by its UTF-8 bytes.
struct MapKeyBytes: Hashable, Comparable {
    let text: String

    init(_ text: String) { self.text = text }

    private var value: Value { .string(text) }

    static func == (a: MapKeyBytes, b: MapKeyBytes) -> Bool { a.value == b.value }
    static func < (a: MapKeyBytes, b: MapKeyBytes) -> Bool { Value.order(a.value, b.value) < 0 }
    func hash(into hasher: inout Hasher) { hasher.combine(value) }

    /// The reason why a key is not allowed; nil if it is allowed (behaviour 89).
    static func fault(in text: String) -> Fault? {
        guard text.utf8.first == UInt8(ascii: "$") || text.utf8.contains(UInt8(ascii: ".")) else { return nil }
        return Fault(
            "\"\(text.prefix(100))\" can't be a key of a map, because key paths could not name it: leave out \".\" and \"$\" at the beginning"
        )
    }
}
