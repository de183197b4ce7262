import FirnCore
import Observation
import Synchronization

/// Reports to Swift's Observation framework which properties of managed objects are read, and which have changed: for
/// classes that are declared `Observable`.
///
/// The rows of such a class's accessors never count as located (`_Row.unlocated`). So each read calls the code that
/// finds a row again, which reports the read to this tracker. Other classes pay nothing.
///
/// A realm makes its tracker at the first read within `withObservationTracking`. It belongs to the realm, and to the
/// realm's thread, queue or actor, and does not keep the realm alive.
final class PropertyTracker: Observable {
    private let registrar = ObservationRegistrar()
    private let token = NotificationToken()
    private let probe = Probe()
    private let probePath: KeyPath<PropertyTracker, Void>
    /// The properties that were read and have not changed since, by table and object key. A property stays here until
    /// it changes, even if the application no longer observes it.
    private var tracked: [TableID: [Int64: Set<Int>]] = [:]
    /// The backlinks that were read and have not changed since, by table and property.
    private var trackedBacklinks: [TableID: [Int: Set<Int64>]] = [:]
    /// Cells that were read in a transaction, or while the realm showed another version than `version`. Whether they
    /// changed in between is not known, so they count as changed at the next version, and when the transaction is
    /// undone.
    private var early: Set<Cell> = []
    /// The version after which changes are reported.
    private var version: UInt64

    private init(_ version: UInt64) {
        self.version = version
        probePath = \PropertyTracker.[probe: probe]
    }

    // The key paths of these subscripts identify what is tracked. They are never used to read a value.
    private subscript(probe _: Probe) -> Void { () }
    private subscript(cell _: Cell) -> Void { () }

    /// One property of one object.
    private struct Cell: Hashable {
        let table: TableID
        let key: Int64
        /// The property's position in its class.
        let position: Int
    }

    /// Finds out whether the framework tracks what is read. If so, the framework hashes the key path that it is given,
    /// and with it this probe. It may hash the key path on any thread later.
    private final class Probe: Hashable, Sendable {
        let isHashed = Atomic(false)
        static func == (a: Probe, b: Probe) -> Bool { a === b }
        func hash(into hasher: inout Hasher) { isHashed.store(true, ordering: .relaxed) }
    }

    /// Whether reads on this thread are tracked at the moment. Costs about 20 ns if not.
    private var isTracking: Bool {
        probe.isHashed.store(false, ordering: .relaxed)
        registrar.access(self, keyPath: probePath)
        return probe.isHashed.load(ordering: .relaxed)
    }

    /// Notes that a property of a row is read, if that is tracked and can change.
    @inline(never)
    static func read(_ property: PropertyInfo, of row: _Row, in realm: _RealmInstance) {
        if let tracker = realm.observers.propertyTracker, !tracker.token.isInvalidated {
            if tracker.isTracking { tracker.note(property, row, in: realm) }
            return
        }
        guard !realm.isFrozen, !realm.isInTransaction, !realm.configuration.readOnly, realm.migration == nil,
            realm.scheduler?.canDeliver ?? false
        else { return }
        // A read must not wait for a commit that is on its way to the disk. So if the realm shows such a commit,
        // changes are reported from the published version on.
        let shown = realm.shownPin
        let pin = realm.isAhead ? realm.store.pin(at: shown.callSite) : shown.again(at: shown.callSite)
        let tracker = PropertyTracker(pin.version)
        guard tracker.isTracking else { return }
        realm.observers.propertyTracker = tracker
        let start = SubscriptionStart(pin: pin, cursor: realm.store.makeChangeCursor(after: pin.version))
        realm.add(TrackingSubscription(realm, tracker, from: start), tracker.token)
        tracker.note(property, row, in: realm)
    }

    private func note(_ property: PropertyInfo, _ row: _Row, in realm: _RealmInstance) {
        let cell = Cell(table: TableBinding.of(row).table, key: row.key, position: property.position)
        if realm.isInTransaction || realm.pin?.version != version {
            early.insert(cell)
        } else if property.isLinkingObjects {
            trackedBacklinks[cell.table, default: [:]][cell.position, default: []].insert(cell.key)
        } else {
            tracked[cell.table, default: [:]][cell.key, default: []].insert(cell.position)
        }
        registrar.access(self, keyPath: \.[cell: cell])
    }

    /// Reports changes to the framework. O(changes).
    fileprivate func changed(_ summary: ChangeSummary, from old: Pin, to new: Pin, in realm: _RealmInstance) {
        version = new.version
        var cells = early
        early = []
        for (table, changes) in summary.tables {
            guard let rows = tracked[table], let binding = realm.schema.table(table) else { continue }
            for key in changes.deleted {
                for position in rows[key] ?? [] { cells.insert(Cell(table: table, key: key, position: position)) }
            }
            func note(_ key: Int64, _ isChanged: (Int) -> Bool) {
                for position in rows[key] ?? [] where isChanged(binding.column(binding.info.properties[position])) {
                    cells.insert(Cell(table: table, key: key, position: position))
                }
            }
            for (key, columns) in changes.modified { note(key) { columns.contains($0) } }
            for list in changes.scripts.keys { note(list.key) { $0 == list.column } }
        }
        addBacklinks(to: &cells, summary: summary, from: old, new: new, realm: realm)
        // The application is notified last: it may read again, which is tracked anew.
        for cell in cells {
            tracked[cell.table]?[cell.key]?.remove(cell.position)
            if tracked[cell.table]?[cell.key]?.isEmpty ?? false { tracked[cell.table]?[cell.key] = nil }
            trackedBacklinks[cell.table]?[cell.position]?.remove(cell.key)
        }
        for cell in cells { registrar.withMutation(of: self, keyPath: \.[cell: cell]) {} }
    }

    /// Reports to the framework that the cells in `early` have changed. The state that they were read in is gone,
    /// because a transaction was undone, or because a commit that was already shown has failed.
    func undone() {
        let cells = early
        early = []
        for cell in cells { registrar.withMutation(of: self, keyPath: \.[cell: cell]) {} }
    }

    /// Adds the tracked backlinks that have changed.
    private func addBacklinks(
        to cells: inout Set<Cell>, summary: ChangeSummary, from old: Pin, new: Pin, realm: _RealmInstance
    ) {
        let objects = AffectedObjects(summary: summary, old: old.snapshot, snapshot: new.snapshot)
        for (table, properties) in trackedBacklinks {
            guard let binding = realm.schema.table(table) else { continue }
            for (position, keys) in properties where !keys.isEmpty {
                let path = ObservedPath(
                    text: binding.info.properties[position].name, binding: binding, schema: realm.schema
                ).path
                let affected = objects.via(path).union(summary.tables[table]?.deleted ?? [])
                for key in affected where keys.contains(key) {
                    cells.insert(Cell(table: table, key: key, position: position))
                }
            }
        }
    }
}

/// The subscription by which a tracker learns of new versions.
private final class TrackingSubscription: DataSubscription {
    private unowned let tracker: PropertyTracker

    init(_ realm: _RealmInstance, _ tracker: PropertyTracker, from start: SubscriptionStart) {
        self.tracker = tracker
        super.init(realm, from: start, keepsRealm: false)
    }

    override func notify(_ summary: ChangeSummary, from old: Pin, to new: Pin) {
        tracker.changed(summary, from: old, to: new, in: realm)
    }
}
