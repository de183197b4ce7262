import FirnCore
import FirnQuery

/// An observer of a collection, with indices or with keys: the collection that it shows, and its first call.
class SourceSubscription<C: _SourcedCollection>: DataSubscription {
    private var collection: C
    private(set) var source: _CollectionSource
    private let paths: [ObservedPath]?
    private var hasBegun = false

    init(_ collection: C, from start: SubscriptionStart, _ paths: [ObservedPath]?) {
        self.collection = collection
        source = collection._source
        self.paths = paths
        super.init(source.realm, from: start)
    }

    override var wantsInitial: Bool { !hasBegun }

    override func begin(_ pin: Pin) {
        hasBegun = true
        skipped(pin)
        let collection = shown()
        // Reading a list whose owner is gone stops the program, and the owner may be deleted at any time before the
        // first call.
        showInitial(source.isOwnerGone(in: pin.snapshot) ? collection._withoutOwner : collection)
    }

    /// Makes the first call.
    func showInitial(_ collection: C) { preconditionFailure("Firn: \(Self.self) makes no first call") }

    /// The collection to pass to the block. After `invalidate()` it is made again, because the old one can no longer
    /// be read.
    func shown() -> C {
        if source.isDead {
            collection = collection._moved(to: realm)
            source = collection._source
        }
        return collection
    }

    /// The keys of the elements that count as changed: along the observed key paths, or through links.
    func affected(_ summary: ChangeSummary, from old: Snapshot, to new: Snapshot) -> Set<Int64> {
        guard let binding = source.binding else { return [] }
        let objects = AffectedObjects(summary: summary, old: old, snapshot: new)
        guard let paths else { return objects.viaLinks()[binding.table] ?? [] }
        return paths.reduce(into: []) { $0.formUnion(objects.via($1.path)) }
    }

    // MARK: A query that is brought from version to version

    /// The query, if it can be brought from version to version.
    private lazy var maintained = source.maintained

    /// How many changes the elements were brought through, and how often they were found anew. Only tests read it: both
    /// ways show the same.
    private(set) var ways = (updated: 0, foundAnew: 0)

    /// Notes that the elements were found anew.
    func foundAnew() {
        ways.foundAnew += 1
        maintained?.forget()
    }

    /// Brings the elements to the new version by the objects that the change concerns. Nil if the query does not allow
    /// it, or if the change concerns so many objects that running the query again costs less. Then `keys` has not
    /// changed.
    func update(
        _ keys: inout OrderedKeys, summary: ChangeSummary, from old: Snapshot, to new: Snapshot,
        affected: Set<Int64>
    ) -> MaintainedChange? {
        guard let reads = maintained?.reads, let table = source.binding?.table else { return nil }
        // Running the query costs about the number of objects in the class. As many as this are looked up one by one,
        // however few there are.
        let limit = max(64, new.table(table).count / 16)
        guard affected.count <= limit else { return nil }
        let objects = AffectedObjects(summary: summary, old: old, snapshot: new)
        var candidates: Set<Int64> = []
        if let own = summary.tables[table] {
            guard own.inserted.count + own.deleted.count <= limit else { return nil }
            candidates = own.inserted.union(own.deleted)
        }
        for path in reads {
            candidates.formUnion(objects.via(path))
            if candidates.count > limit { return nil }
        }
        // Nothing else may share the keys, so that they are changed in place.
        source.dropContent()
        ways.updated += 1
        return maintained?.update(&keys, from: old, to: new, candidates: candidates, changed: affected)
    }

    /// The objects that count as changed for the elements that link to them, if the elements are mixed values.
    func affectedTargets(_ summary: ChangeSummary, from old: Snapshot, to new: Snapshot) -> [TableID: Set<Int64>] {
        guard source.origin.location?.property.isMixed ?? false else { return [:] }
        return AffectedObjects(summary: summary, old: old, snapshot: new).viaLinks()
    }
}

extension TableView {
    /// Whether a collection of `count` links or mixed values may link to one of some objects. If not, it need not be
    /// searched. A look-up among the backlinks costs about as much as to search 16 elements.
    func mayHaveLink(_ collection: CollectionLocation, toOneOf objects: [TableID: Set<Int64>], among count: Int) -> Bool
    {
        objects.contains { table, keys in
            keys.count * 16 >= count
                || keys.contains { key in
                    collection.property.isMixed
                        ? mayBeLinked(from: collection.row.key, to: key, in: table, mixed: collection.column)
                        : isLinked(from: collection.row.key, to: key, collection.column)
                }
        }
    }
}
