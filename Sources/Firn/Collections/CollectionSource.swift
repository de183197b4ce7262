import FirnCore
import FirnQuery
import FirnStorage

/// The elements of a managed collection and their order. All copies of a `Results` share one source.
///
/// The source evaluates its query at the first read after a change. It belongs to its realm's thread, queue or actor.
/// If the realm is frozen, any thread may use the source, and a lock guards the cache.
public final class _CollectionSource {
    /// Where the elements come from, in their natural order.
    enum Origin {
        /// All objects of a class.
        case table
        /// The elements of a list, set or map: objects or values.
        case list(CollectionLocation)
        /// The objects that link to a row through one of their properties.
        case backlinks(CollectionLocation, PropertyInfo)
        /// An unmanaged collection, in which a query finds nothing.
        case unmanaged

        /// The location of the list or backlinks; nil for a table and for an unmanaged collection.
        var location: CollectionLocation? {
            switch self {
            case .list(let location), .backlinks(let location, _): location
            case .table, .unmanaged: nil
            }
        }
    }

    /// The elements: objects by key, or values.
    enum Content {
        case keys(OrderedKeys)
        case values([Value])

        var count: Int {
            switch self {
            case .keys(let keys): keys.count
            case .values(let values): values.count
            }
        }
    }

    /// The stages that the elements pass through.
    enum Stages {
        /// The stages of a query over objects.
        case objects(QueryPipeline)
        /// The stages of a collection of values.
        case values([ValueStage])
    }

    /// The result of the last read, and the birth stamp of the root that was read.
    ///
    /// The cache pins no version. A root with the same stamp is the same root, because `stampedContent` makes sure that
    /// nothing more is written under that stamp.
    private struct Cache {
        let stamp: UInt64
        let count: Int
        /// Nil if only the count was read.
        let content: Content?
    }

    let realm: _RealmInstance
    /// The class of the elements; nil for values.
    let binding: TableBinding?
    let origin: Origin
    /// The stages that the elements go through, one after the other; nil if there are none.
    let query: Stages?
    /// The realm's count of invalidations when this source was made; -1 if the source was dead from the beginning.
    private let invalidationCount: Int
    private var cache: Cache?
    /// Guards the caches of frozen sources, which several threads may read. It is held for a few instructions. Other
    /// sources need no lock, because only their realm's thread uses their caches.
    private static var frozenCaches: GlobalLock { .frozenCaches }

    init(
        realm: _RealmInstance, binding: TableBinding?, origin: Origin, query: Stages? = nil,
        isDead: Bool = false
    ) {
        self.realm = realm
        self.binding = binding
        self.origin = origin
        self.query = query
        let hasDeadRow = origin.location.map { $0.row.core != realm.core } ?? false
        invalidationCount = isDead || hasDeadRow ? -1 : realm.cores.replacementCount
        // `retainAccessor` changes a count that belongs to the realm's thread.
        realm.check()
        if let location { realm.retainAccessor(location.row) }
    }

    deinit { location?.release() }

    private var location: CollectionLocation? { origin.location }

    /// All objects of a class.
    static func table(_ realm: _RealmInstance, _ binding: TableBinding) -> _CollectionSource {
        _CollectionSource(realm: realm, binding: binding, origin: .table)
    }

    /// Whether the elements are all rows of a table, in their natural order.
    var isWholeTable: Bool {
        if case .table = origin { return query == nil }
        return false
    }

    /// Whether the realm was invalidated after this source was made. A dead source stays empty. `evaluate` does not
    /// check this, because observers continue after an invalidation.
    var isDead: Bool { invalidationCount != realm.cores.replacementCount }

    /// Whether the elements are values, and the source is not dead.
    var isOfValues: Bool { binding == nil && !isDead }

    /// Whether the objects are shown as values of one of the application's own types.
    var isMapped: Bool {
        if case .list(let location) = origin { return location.property.shape.isMapped }
        return false
    }

    var isInvalidated: Bool { isDead || location?.isInvalidated ?? false }

    /// Whether the collection is a list or backlinks whose row does not exist in a version.
    func isOwnerGone(in snapshot: Snapshot) -> Bool { location.map { $0.find(in: snapshot) == nil } ?? false }

    // MARK: Reading

    var count: Int {
        realm.check()
        if isDead { return 0 }
        if isWholeTable, let binding { return realm.table(binding)?.count ?? 0 }
        if let known, known.stamp == realm.snapshot.root.stamp { return known.count }
        let pin = realm.pinShown()
        guard let count = count(pin.snapshot) else { return content.count }
        keep(Cache(stamp: pin.snapshot.root.stamp, count: count, content: nil))
        return count
    }

    /// The stored value of the element at a position. Stops the program if there is none.
    func value(at position: Int) -> Value {
        switch content {
        case .keys(let keys):
            checkIndex(position, keys.count)
            return .link(keys[position])
        case .values(let values):
            checkIndex(position, values.count)
            return values[position]
        }
    }

    func element<Element: RealmCollectionValue>(at position: Int) -> Element {
        realm.check()
        if isWholeTable, !isDead, let binding {
            let table = realm.table(binding)
            checkIndex(position, table?.count ?? 0)
            let location = table.unsafelyUnwrapped.location(at: position)
            if isDynamic(Element.self) {
                return unsafeBitCast(
                    realm.dynamicAccessor(binding, location.leaf.key(location.row)), to: Element.self)
            }
            return Element._ofAccessor(
                realm.accessor(binding, leaf: location.leaf, row: location.row, key: location.leaf.key(location.row)))
        }
        if isDynamic(Element.self), let binding, let key = value(at: position).linkedKey {
            return unsafeBitCast(realm.dynamicAccessor(binding, key), to: Element.self)
        }
        return Element._fromElement(value(at: position), realm)
    }

    private func checkIndex(_ index: Int, _ count: Int) {
        if index < 0 || index >= count {
            stopProgram("index \(index) is out of bounds of a collection of \(count) elements.")
        }
    }

    func index(of object: ObjectBase) -> Int? {
        guard object.isManaged, !object.isInvalidated, !isDead, let binding, binding.info === object.classInfo
        else { return nil }
        guard _RealmInstance.of(object._row) === realm else {
            stopProgram("index(of:) was given an object of another realm. Find it in this realm first.")
        }
        if isWholeTable { return realm.table(binding)?.position(of: object._row.key) }
        guard case .keys(let keys) = content else { return nil }
        return keys.position(of: object._row.key)
    }

    /// The current elements.
    var content: Content { stampedContent.content }

    /// The current elements, and the birth stamp of the root that they were read from. As long as the root's stamp is
    /// the same, the elements are the same.
    var stampedContent: (content: Content, stamp: UInt64) {
        realm.check()
        if isDead { return (binding == nil ? .values([]) : .keys(OrderedKeys()), .max) }
        if let known, known.stamp == realm.snapshot.root.stamp, let content = known.content {
            return (content, known.stamp)
        }
        // In a transaction, pinning the state gives the transaction a new stamp, so the next write makes a new root.
        let pin = realm.pinShown()
        let content = evaluate(pin.snapshot)
        keep(Cache(stamp: pin.snapshot.root.stamp, count: content.count, content: content))
        return (content, pin.snapshot.root.stamp)
    }

    /// Caches the elements that an observer has found in the version that the realm shows, so that a read does not find
    /// them again.
    func keep(_ content: Content, of snapshot: Snapshot) {
        guard !isDead else { return }
        keep(Cache(stamp: snapshot.root.stamp, count: content.count, content: content))
    }

    /// Releases the cached elements, so that an observer which shares them can change them in place.
    func dropContent() { cache = nil }

    private func keep(_ new: Cache) {
        guard realm.isFrozen else { return cache = new }
        // Releasing the old cache may free many elements, so it is released outside the lock.
        let old = _CollectionSource.frozenCaches.withLock {
            defer { cache = new }
            return cache
        }
        withExtendedLifetime(old) {}
    }

    private var known: Cache? {
        realm.isFrozen ? _CollectionSource.frozenCaches.withLock { cache } : cache
    }

    // MARK: Deriving

    /// The same elements in a frozen realm.
    func frozen(at callSite: CallSite) -> _CollectionSource {
        let frozen = realm.freeze("results", at: callSite)
        return (isDead ? nil : moved(to: frozen))
            ?? _CollectionSource(realm: frozen, binding: binding, origin: .unmanaged, query: query)
    }

    /// The same elements in the calling thread's live realm; nil if the object that owns the collection is gone.
    func thawed(at callSite: CallSite) -> _CollectionSource? {
        isDead ? nil : moved(to: realm.thaw(at: callSite))
    }

    func moved(to other: _RealmInstance) -> _CollectionSource? {
        func made(_ origin: Origin) -> _CollectionSource {
            _CollectionSource(realm: other, binding: binding, origin: origin, query: query)
        }
        return switch origin {
        case .table, .unmanaged: made(origin)
        case .list(let location): location.moved(to: other) { made(.list($0)) }
        case .backlinks(let location, let property): location.moved(to: other) { made(.backlinks($0, property)) }
        }
    }

    /// The same elements in another realm of the store, whether or not the object that owns the collection exists
    /// there.
    func unlocated(in other: _RealmInstance) -> _CollectionSource {
        func made(_ origin: Origin) -> _CollectionSource {
            _CollectionSource(
                realm: other, binding: binding.map { other.binding(like: $0) }, origin: origin, query: query)
        }
        return switch origin {
        case .table, .unmanaged: made(origin)
        case .list(let location): location.unlocated(in: other) { made(.list($0)) }
        case .backlinks(let location, let property): location.unlocated(in: other) { made(.backlinks($0, property)) }
        }
    }
}
