import FirnCore
import FirnQuery
import FirnStorage

/// How the elements of a collection are divided: what `SectionedResults` and its copies and sections share.
///
/// The sections are found at the first read after a change of the realm: each element's key is computed, and elements
/// with equal keys make a section. The sections have the order of their first elements, and the elements in each keep
/// the order that they have in the collection.
///
/// It belongs to its realm's thread, queue or actor. If the realm is frozen, any thread may use it, and a lock guards
/// the cache.
public final class _SectionSource<Key: _Persistable & Hashable, Element: RealmCollectionValue> {
    let source: _CollectionSource
    /// May be called on any thread.
    let key: (Element) -> Key
    private var cache: (stamp: UInt64, sections: Sections<Key>)?
    /// Guards the caches of frozen sources. It is held for a few instructions.
    private static var frozenCaches: GlobalLock { .frozenCaches }

    init(_ source: _CollectionSource, _ key: @escaping (Element) -> Key) {
        self.source = source
        self.key = key
    }

    /// The sections as they are now. O(elements) at the first call after a change, with a call of the application's
    /// code for each element; else O(1).
    var sections: Sections<Key> {
        let (content, stamp) = source.stampedContent
        if let known, known.stamp == stamp { return known.sections }
        let sections = Sections(content, RealmCollectionIterator<Element>(source), key)
        keep((stamp, sections))
        return sections
    }

    private func keep(_ new: (UInt64, Sections<Key>)) {
        guard source.realm.isFrozen else { return cache = new }
        let old = Self.frozenCaches.withLock {
            defer { cache = new }
            return cache
        }
        withExtendedLifetime(old) {}
    }

    private var known: (stamp: UInt64, sections: Sections<Key>)? {
        source.realm.isFrozen ? Self.frozenCaches.withLock { cache } : cache
    }

    /// The same sections of the same collection elsewhere.
    func with(_ other: _CollectionSource) -> _SectionSource { _SectionSource(other, key) }
}

/// What makes elements those of one section: their key as the store keeps it. So NaN is one key, and so is each text of
/// bytes, whatever Swift's own comparison says.
struct SectionID: Hashable {
    private let stored: Value?
    /// A key that is an object.
    private let key: AnyHashable?

    init<Key: _Persistable & Hashable>(_ key: Key) {
        stored = Key._storeValue(key)?.unifiedNumber
        self.key = stored == nil ? key : nil
    }
}

/// The sections of a collection in one state.
struct Sections<Key: _Persistable & Hashable> {
    /// All elements, in the order of the collection.
    let content: _CollectionSource.Content
    /// The keys of the sections, in their order.
    private(set) var keys: [Key] = []
    /// The positions of each section's elements in the collection, ascending.
    private(set) var members: [[Int]] = []
    private var numbers: [SectionID: Int] = [:]

    static var none: Sections { Sections(.keys(OrderedKeys())) }

    private init(_ content: _CollectionSource.Content) { self.content = content }

    fileprivate init<Element>(
        _ content: _CollectionSource.Content, _ elements: RealmCollectionIterator<Element>, _ key: (Element) -> Key
    ) {
        self.content = content
        var (elements, position) = (elements, 0)
        while position < content.count, let element = elements.next() {
            let key = key(element)
            members[section(of: key) ?? add(key)].append(position)
            position += 1
        }
    }

    private mutating func add(_ key: Key) -> Int {
        numbers[SectionID(key)] = keys.count
        keys.append(key)
        members.append([])
        return keys.count - 1
    }

    /// The elements of a section, as the store has them.
    func elements(of section: Int) -> [Value] {
        switch content {
        case .keys(let keys): members[section].map { .link(keys[$0]) }
        case .values(let values): members[section].map { values[$0] }
        }
    }

    /// The section with a key; nil if there is none.
    func section(of key: Key) -> Int? { numbers[SectionID(key)] }
}
