import FirnCore
import FirnQuery
import FirnStorage

/// What a managed collection consists of, and the order it is in: shared by all copies of a `Results`.
///
/// It evaluates its query at the first read after a change. Belongs to its realm's thread, queue or actor; of a frozen realm, the cache is guarded by its lock.
public final class CollectionSource {
    /// Where the elements come from, in their natural order.
    enum Origin {
        /// All objects of a class.
        case table
        /// The elements of a list, objects or values.
        case list(CollectionLocation)
        /// The objects whose links lead to a row, through a property of theirs.
        case backlinks(CollectionLocation, PropertyInfo)
        /// An unmanaged collection: no elements that a query could find.
        case unmanaged

        /// The row that a list or backlinks belong to.
        var place: CollectionLocation? {
            switch self {
            case .list(let place), .backlinks(let place, _): place
            case .table, .unmanaged: nil
            }
        }
    }

    /// The elements: objects by key, or values.
    enum Content {
        case keys([Int64])
        case values([Value])

        var count: Int {
            switch self {
            case .keys(let keys): keys.count
            case .values(let values): values.count
            }
        }
    }

    /// What was read, and the birth stamp of the root that it was read from. It holds no version: a root of that stamp is that root, as `content` sees to it that nothing is
    /// written under it any more.
    private struct Cache {
        let stamp: UInt64
        let count: Int
        /// nil where only the number has been asked for.
        let content: Content?
    }

    let realm: RealmInstance
    /// The class of the elements; nil for values.
    let binding: TableBinding?
    let origin: Origin
    /// What is done to the elements, one after the other.
    let stages: [QueryPipeline.Stage]
    /// The stages bound to the schema; nil where there are none.
    let query: QueryPipeline?
    /// How often the realm had been invalidated when this was made; -1 where this was dead from the beginning.
    private let invalidationCount: Int
    private var cache: Cache?
    /// Guards the caches of frozen sources, which several threads may read; held over a few instructions. The others belong to their realm's thread.
    private static var frozenCaches: GlobalLock { .frozenCaches }

    init(
        _ realm: RealmInstance, _ binding: TableBinding?, _ origin: Origin, _ stages: [QueryPipeline.Stage] = [],
        _ query: QueryPipeline? = nil, isDead: Bool = false
    ) {
        self.realm = realm
        self.binding = binding
        self.origin = origin
        self.stages = stages
        self.query = query
        let hasDeadRow = origin.place.map { $0.row.core != realm.core } ?? false
        invalidationCount = isDead || hasDeadRow ? -1 : realm.invalidationCount
        // A row's count, like a cache, belongs to the realm's thread.
        realm.check()
        if let place { realm.retainAccessor(place.row) }
    }

    deinit { place?.release() }

    private var place: CollectionLocation? { origin.place }

    /// All objects of a class.
    static func table(_ realm: RealmInstance, _ binding: TableBinding) -> CollectionSource {
        CollectionSource(realm, binding, .table)
    }

    /// Whether the elements are just a table's rows.
    var isWholeTable: Bool {
        if case .table = origin { return stages.isEmpty }
        return false
    }

    /// Whether the realm was invalidated since this was made: it is empty for good. Evaluating in a given version does
    /// not ask, as observers go on.
    var isDead: Bool { invalidationCount != realm.invalidationCount }

    var isInvalidated: Bool { isDead || place?.isInvalidated ?? false }

    /// Whether the row that a list or backlinks belong to is not in a version.
    func isOwnerGone(in snapshot: Snapshot) -> Bool { place.map { $0.find(in: snapshot) == nil } ?? false }

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

    /// The element at a position, as the store has it. Stops the program where there is none.
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
            let place = table.unsafelyUnwrapped.location(at: position)
            // The elements of a class's table are of the class.
            return unsafeBitCast(
                realm.accessor(binding, place.leaf, place.row, key: place.leaf.key(place.row)), to: Element.self)
        }
        return Element._fromElement(value(at: position), realm)
    }

    private func checkIndex(_ index: Int, _ count: Int) {
        if index < 0 || index >= count {
            fatalError("Firn: index \(index) is out of bounds of a collection of \(count) elements.")
        }
    }

    func index(of object: ObjectBase) -> Int? {
        guard object.isManaged, !object.isInvalidated, !isDead, let binding, binding.info.type == type(of: object)
        else { return nil }
        guard RealmInstance.of(object._row) === realm else {
            fatalError("Firn: index(of:) was given an object of another realm. Find it in this realm first.")
        }
        if isWholeTable { return realm.table(binding)?.position(of: object._row.key) }
        guard case .keys(let keys) = content else { return nil }
        return keys.firstIndex(of: object._row.key)
    }

    /// The elements as they are now.
    var content: Content {
        realm.check()
        if isDead { return binding == nil ? .values([]) : .keys([]) }
        if let known, known.stamp == realm.snapshot.root.stamp, let content = known.content { return content }
        // Within a transaction pinning the state gives the transaction a new stamp, so whatever is written next makes a new root.
        let pin = realm.pinShown()
        let content = evaluate(pin.snapshot)
        keep(Cache(stamp: pin.snapshot.root.stamp, count: content.count, content: content))
        return content
    }

    private func keep(_ new: Cache) {
        guard realm.isFrozen else { return cache = new }
        // Many elements may go with the old one: outside of the lock.
        let old = CollectionSource.frozenCaches.withLock {
            defer { cache = new }
            return cache
        }
        withExtendedLifetime(old) {}
    }

    private var known: Cache? {
        realm.isFrozen ? CollectionSource.frozenCaches.withLock { cache } : cache
    }

    // MARK: Deriving

    /// The same elements in a frozen realm.
    func frozen(at place: CallSite) -> CollectionSource {
        let frozen = realm.freeze("results", at: place)
        return (isDead ? nil : moved(to: frozen)) ?? CollectionSource(frozen, binding, .unmanaged, stages, query)
    }

    /// The same elements in the calling thread's live realm; nil where what they belong to is gone.
    func thawed(at place: CallSite) -> CollectionSource? {
        isDead ? nil : moved(to: realm.thaw(at: place))
    }

    func moved(to other: RealmInstance) -> CollectionSource? {
        origin(in: other).map { CollectionSource(other, binding, $0, stages, query) }
    }

    /// The same elements in another realm of the store, whether what they belong to is there or not.
    func placed(in other: RealmInstance) -> CollectionSource {
        let origin: Origin =
            switch origin {
            case .table, .unmanaged: origin
            case .list(let place): .list(place.placed(in: other))
            case .backlinks(let place, let property): .backlinks(place.placed(in: other), property)
            }
        return CollectionSource(other, binding, origin, stages, query)
    }

    private func origin(in other: RealmInstance) -> Origin? {
        switch origin {
        case .table: return .table
        case .unmanaged: return .unmanaged
        case .list(let place): return place.moved(to: other).map { .list($0) }
        case .backlinks(let place, let property): return place.moved(to: other).map { .backlinks($0, property) }
        }
    }
}
