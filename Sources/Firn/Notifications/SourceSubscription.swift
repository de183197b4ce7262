import FirnCore
import FirnQuery

/// The common part of observers of collections with indices and with keys: the collection to show, and the first call.
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

    /// The collection to pass to the block. After `invalidate()` it is made anew, because the old one can no longer be
    /// read.
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

    /// The query as a maintained one; nil if it has another form.
    private lazy var maintained = source.maintained

    /// How often the elements were updated, and how often they were evaluated again. Only tests read these counts,
    /// because both ways show the same.
    private(set) var ways = (updated: 0, foundAnew: 0)

    /// Must be called when the elements are evaluated again instead of being updated.
    func foundAnew() {
        ways.foundAnew += 1
        maintained?.forget()
    }

    /// Updates the elements to the new version by looking up the objects that the change concerns. Returns nil and
    /// leaves `keys` unchanged if the query is no maintained one. Also does so if the change concerns so many objects
    /// that running the query again costs less.
    func update(
        _ keys: inout OrderedKeys, summary: ChangeSummary, from old: Snapshot, to new: Snapshot,
        affected: Set<Int64>
    ) -> MaintainedChange? {
        guard let reads = maintained?.reads, let table = source.binding?.table else { return nil }
        // Running the query costs about the number of objects in the class, so a sixteenth of them can be looked up
        // instead. Up to 64 objects are looked up one by one, however small the class is.
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

    /// The changed objects to which mixed values may link, by table; empty if the elements are not mixed values.
    func affectedTargets(_ summary: ChangeSummary, from old: Snapshot, to new: Snapshot) -> [TableID: Set<Int64>] {
        guard source.origin.location?.property.isMixed ?? false else { return [:] }
        return AffectedObjects(summary: summary, old: old, snapshot: new).viaLinks()
    }
}

extension TableView {
    /// Whether a collection of `count` links or mixed values may link to one of `objects`. If not, it need not be
    /// searched. A lookup among the backlinks costs about as much as a search of 16 elements.
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
