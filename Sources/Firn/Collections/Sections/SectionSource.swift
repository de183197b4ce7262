import FirnCore
import FirnQuery
import FirnStorage

/// Divides the elements of a collection into sections. `SectionedResults`, its copies and its sections share one
/// source.
///
/// The sections are computed at the first read after a change of the realm. Each element's key is computed, and
/// elements with equal keys make a section. The sections are in the order of their first elements, and the elements of
/// each section keep the collection's order.
///
/// The source belongs to its realm's thread, queue or actor. If the realm is frozen, any thread may use the source, and
/// a lock guards the cache.
public final class _SectionSource<Key: _Persistable & Hashable, Element: RealmCollectionValue> {
    let source: _CollectionSource
    /// Computes the key of an element. May be called on any thread.
    let key: (Element) -> Key
    /// Whether the key is the first property by which the elements are sorted.
    let isSortedByKey: Bool
    private var cache: (stamp: UInt64, sections: Sections<Key>)?
    /// Guards the caches of frozen sources. It is held for a few instructions.
    private static var frozenCaches: GlobalLock { .frozenCaches }

    init(_ source: _CollectionSource, isSortedByKey: Bool = false, _ key: @escaping (Element) -> Key) {
        self.source = source
        self.isSortedByKey = isSortedByKey
        self.key = key
    }

    /// The current sections. The first call after a change takes O(elements) and calls the application's code for each
    /// element; further calls take O(1).
    var sections: Sections<Key> {
        let (content, stamp) = source.stampedContent
        if let known, known.stamp == stamp { return known.sections }
        let sections = Sections(content: content, elements: RealmCollectionIterator<Element>(source), key)
        keep((stamp, sections))
        return sections
    }

    /// Caches the sections that an observer has found in the version that the realm shows, so that a read does not
    /// compute them again.
    func keep(_ sections: Sections<Key>, of snapshot: Snapshot) {
        guard !source.isDead else { return }
        source.keep(sections.content, of: snapshot)
        keep((snapshot.root.stamp, sections))
    }

    /// Releases the cached sections, so that an observer which shares them can change them in place.
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

    /// The same division of the same collection in another realm.
    func with(_ other: _CollectionSource) -> _SectionSource {
        _SectionSource(other, isSortedByKey: isSortedByKey, key)
    }
}

/// The identity of a section: its key in stored form. So all NaNs are one key, and texts are compared by their bytes,
/// whatever Swift's own comparison says.
struct SectionID: Hashable {
    private let stored: Value?
    /// The key itself, if it is an object and has no stored form.
    private let key: AnyHashable?

    init<Key: _Persistable & Hashable>(_ key: Key) {
        stored = Key._storeValue(key)?.unifiedNumber
        self.key = stored == nil ? key : nil
    }
}
