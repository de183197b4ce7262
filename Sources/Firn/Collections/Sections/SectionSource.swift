import FirnCore
import FirnQuery
import FirnStorage

/// How the elements of a collection are divided: what `SectionedResults` and its copies and sections share.
///
/// The sections are found at the first read after a change of the realm. Each element's key is computed, and elements
/// with equal keys make a section. The sections have the order of their first elements, and the elements in each keep
/// the order that they have in the collection.
///
/// It belongs to its realm's thread, queue or actor. If the realm is frozen, any thread may use it, and a lock guards
/// the cache.
public final class _SectionSource<Key: _Persistable & Hashable, Element: RealmCollectionValue> {
    let source: _CollectionSource
    /// May be called on any thread.
    let key: (Element) -> Key
    /// Whether the key is the property by which the elements are sorted first.
    let isSortedByKey: Bool
    private var cache: (stamp: UInt64, sections: Sections<Key>)?
    /// Guards the caches of frozen sources. It is held for a few instructions.
    private static var frozenCaches: GlobalLock { .frozenCaches }

    init(_ source: _CollectionSource, isSortedByKey: Bool = false, _ key: @escaping (Element) -> Key) {
        self.source = source
        self.isSortedByKey = isSortedByKey
        self.key = key
    }

    /// The sections as they are now. O(elements) at the first call after a change, with a call of the application's
    /// code for each element; else O(1).
    var sections: Sections<Key> {
        let (content, stamp) = source.stampedContent
        if let known, known.stamp == stamp { return known.sections }
        let sections = Sections(content: content, elements: RealmCollectionIterator<Element>(source), key)
        keep((stamp, sections))
        return sections
    }

    /// Keeps sections that an observer has found in the version that the realm shows, so that reading them does not
    /// find them again.
    func keep(_ sections: Sections<Key>, of snapshot: Snapshot) {
        guard !source.isDead else { return }
        source.keep(sections.content, of: snapshot)
        keep((snapshot.root.stamp, sections))
    }

    /// Releases the sections that were read last, so that an observer which shares them can change them in place.
    func drop() { cache = nil }

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
    func with(_ other: _CollectionSource) -> _SectionSource {
        _SectionSource(other, isSortedByKey: isSortedByKey, key)
    }
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
