import FirnCore
import Observation
import Synchronization

/// Tells Swift's Observation framework which properties of managed objects are read, and which have changed: for
/// classes that are declared `Observable`.
///
/// The rows of such a class's accessors never count as located (`_Row.unlocated`), so each read takes the way on which
/// a row is found again, and passes here. Other classes pay nothing.
///
/// A realm makes its tracker at the first read within `withObservationTracking`. It belongs to the realm, and to the
/// realm's thread, queue or actor, and does not keep the realm alive.
final class PropertyTracker: Observable {
    private let registrar = ObservationRegistrar()
    private let token = NotificationToken()
    private let probe = Probe()
    private let probePath: KeyPath<PropertyTracker, Void>
    /// What was read and has not changed since, by table and object key. A read that nobody waits for any more stays
    /// here until the property changes.
    private var tracked: [TableID: [Int64: Set<Int>]] = [:]

    private init() {
        probePath = \PropertyTracker.[probe: probe]
    }

    // A key path names what is tracked. Nothing is ever read by one.
    private subscript(probe _: Probe) -> Void { () }
    private subscript(cell _: Cell) -> Void { () }

    /// One property of one object.
    private struct Cell: Hashable {
        let table: TableID
        let key: Int64
        /// The property's position in its class.
        let position: Int
    }

    /// Finds out whether the framework tracks what is read: then it hashes the key path that it is told, and with it
    /// this. It may hash it on any thread later.
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
        if let tracker = realm.propertyTracker, !tracker.token.isInvalidated {
            if tracker.isTracking { tracker.note(property, row) }
            return
        }
        guard !realm.isFrozen, !realm.isInTransaction, !realm.configuration.readOnly, realm.migration == nil,
            realm.scheduler?.canDeliver ?? false
        else { return }
        let tracker = PropertyTracker()
        guard tracker.isTracking else { return }
        realm.propertyTracker = tracker
        // Nothing waits here: for a commit that is on its way to the disk, changes count from the version before it.
        let shown = realm.shownPin
        let pin = realm.isAhead ? realm.store.pin(at: shown.callSite) : shown.again(at: shown.callSite)
        let start = SubscriptionStart(pin: pin, cursor: realm.store.makeChangeCursor(after: pin.version))
        realm.add(TrackingSubscription(realm, tracker, from: start), tracker.token)
        tracker.note(property, row)
    }

    private func note(_ property: PropertyInfo, _ row: _Row) {
        let table = TableBinding.of(row).table
        tracked[table, default: [:]][row.key, default: []].insert(property.position)
        registrar.access(self, keyPath: \.[cell: Cell(table: table, key: row.key, position: property.position)])
    }

    /// Tells the framework what has changed.
    fileprivate func changed(_ summary: ChangeSummary, from old: Pin, to new: Pin, in realm: _RealmInstance) {
        var cells: [Cell] = []
        for (table, rows) in tracked {
            guard let binding = realm.schema.tables.first(where: { $0.table == table }) else { continue }
            let properties = binding.info.properties
            let changes = summary.tables[table]
            for (key, positions) in rows {
                let isGone = changes?.deleted.contains(key) ?? false
                let columns = changes?.modified[key]
                for position in positions {
                    let property = properties[position]
                    guard !property.isLinkingObjects else { continue }
                    let column = binding.column(property)
                    if isGone || columns?.contains(column) ?? false
                        || changes?.scripts[.init(key: key, column: column)] != nil
                    {
                        cells.append(Cell(table: table, key: key, position: position))
                    }
                }
            }
            cells += backlinks(binding, rows, summary, old, new, realm)
        }
        // The application is told last: it may read again, which is tracked anew.
        for cell in cells {
            tracked[cell.table]?[cell.key]?.remove(cell.position)
            if tracked[cell.table]?[cell.key]?.isEmpty ?? false { tracked[cell.table]?[cell.key] = nil }
        }
        for cell in cells { registrar.withMutation(of: self, keyPath: \.[cell: cell]) {} }
    }

    /// The backlinks among the tracked properties of a table that have changed.
    private func backlinks(
        _ binding: TableBinding, _ rows: [Int64: Set<Int>], _ summary: ChangeSummary, _ old: Pin, _ new: Pin,
        _ realm: _RealmInstance
    ) -> [Cell] {
        binding.info.properties.filter(\.isLinkingObjects).flatMap { property -> [Cell] in
            let keys = rows.filter { $0.value.contains(property.position) }.map(\.key)
            guard !keys.isEmpty else { return [] }
            let affected = AffectedObjects(summary: summary, old: old.snapshot, snapshot: new.snapshot).via(
                ObservedPath(property.name, binding, realm.schema).path)
            return keys.filter { affected.contains($0) || summary.tables[binding.table]?.deleted.contains($0) ?? false }
                .map { Cell(table: binding.table, key: $0, position: property.position) }
        }
    }
}

/// What tells a tracker of new versions.
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
