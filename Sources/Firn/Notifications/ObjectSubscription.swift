import FirnCore

/// An observer of one row. It is called for assignments to the object's own properties, or along key paths. It has no
/// first call.
class RowSubscription: DataSubscription {
    let binding: TableBinding
    let key: Int64

    init(realm: _RealmInstance, binding: TableBinding, key: Int64, from start: SubscriptionStart) {
        self.binding = binding
        self.key = key
        super.init(realm, from: start)
    }

    override var wantsOldValues: Bool { true }

    override func skipped(_ pin: Pin) {
        // If a deletion is hidden from the observer, it is not shown later either.
        if pin.snapshot.table(binding.table).find(key) == nil { finish() }
    }

    override func notify(_ summary: ChangeSummary, from old: Pin, to new: Pin) {
        guard new.snapshot.table(binding.table).find(key) != nil else {
            finish()
            return deleted()
        }
        notify(RowDifference(summary: summary, from: old, to: new, binding: binding, key: key))
    }

    /// Calls the observer after the row was deleted.
    func deleted() {}
    /// Calls the observer, if it observes what changed in the row.
    func notify(_ difference: RowDifference) {}
}

/// What differs in one row between two versions.
struct RowDifference {
    let old: Pin
    let new: Pin
    private let binding: TableBinding
    private let key: Int64
    private let table: TableSummary?
    private let affected: AffectedObjects

    init(summary: ChangeSummary, from old: Pin, to new: Pin, binding: TableBinding, key: Int64) {
        self.old = old
        self.new = new
        self.binding = binding
        self.key = key
        table = summary.tables[binding.table]
        affected = AffectedObjects(summary: summary, old: old.snapshot, snapshot: new.snapshot)
    }

    /// Whether a property of the row was assigned.
    func isAssigned(_ property: PropertyInfo) -> Bool {
        if property.isLinkingObjects { return false }
        let column = binding.column(property)
        return table?.modified[key]?.contains(column) ?? false
            || table?.scripts[.init(key: key, column: column)] != nil
    }

    /// Whether something changed along a key path that begins in the row.
    func isAffected(_ path: ObservedPath) -> Bool {
        path.isNested || path.property.isLinkingObjects
            ? affected.via(path.path).contains(key) : isAssigned(path.property)
    }

    /// Whether the observer's own realm assigned the property.
    func isOwn(_ property: PropertyInfo, in realm: _RealmInstance) -> Bool {
        realm.observers.isOwnChange(
            binding.table, key: key, column: binding.column(property), after: old.version, through: new.version)
    }

    /// The stored values of a property in the old and in the new version; nil if the row does not exist in that
    /// version.
    func values(_ property: PropertyInfo) -> (old: Value?, new: Value?) {
        let column = binding.column(property)
        return (
            old.snapshot.table(binding.table).value(column, of: key),
            new.snapshot.table(binding.table).value(column, of: key)
        )
    }
}

/// An observer of one object.
final class ObjectSubscription<T: ObjectBase>: RowSubscription {
    private let paths: [ObservedPath]?
    private let block: (ObjectChange<T>) -> Void

    init(
        realm: _RealmInstance, binding: TableBinding, key: Int64, from start: SubscriptionStart,
        paths: [ObservedPath]?,
        _ block: @escaping (ObjectChange<T>) -> Void
    ) {
        self.paths = paths
        self.block = block
        super.init(realm: realm, binding: binding, key: key, from: start)
    }

    override func deleted() { block(.deleted) }

    override func notify(_ difference: RowDifference) {
        let changed = changedProperties(difference)
        guard !changed.isEmpty else { return }
        let changes = changed.map { property, hasValues -> PropertyChange in
            guard hasValues, !property.isCollection else {
                return PropertyChange(name: property.name, oldValue: nil, newValue: nil)
            }
            let (old, new) = difference.values(property)
            let isOwn = difference.isOwn(property, in: realm)
            return PropertyChange(
                name: property.name, oldValue: isOwn ? nil : old.flatMap { any($0, property) },
                newValue: new.flatMap { any($0, property) })
        }
        guard let object = realm.accessor(binding, key, isDynamic: isDynamic(T.self)) as? T else { return }
        block(.change(object, changes))
    }

    private func any(_ value: Value, _ property: PropertyInfo) -> Any? {
        if case .link(let key) = value, let target = property.shape.target {
            return key < 0 ? nil : realm.accessor(realm.binding(of: target), key, isDynamic: isDynamic(T.self))
        }
        return value == .null ? nil : property.wrapper.any(from: value, realm)
    }

    /// The properties that changed, in the order of the class. The Boolean is true if the property itself was assigned,
    /// and false if something behind it changed.
    private func changedProperties(_ difference: RowDifference) -> [(PropertyInfo, Bool)] {
        guard let paths else { return binding.info.stored.filter(difference.isAssigned).map { ($0, true) } }
        var result: [(PropertyInfo, Bool)] = []
        for property in binding.info.properties {
            let own = paths.filter { $0.property === property }
            if own.contains(where: { !$0.isNested }), difference.isAssigned(property) {
                result.append((property, true))
            } else if own.contains(where: { ($0.isNested || property.isLinkingObjects) && difference.isAffected($0) }) {
                result.append((property, false))
            }
        }
        return result
    }
}
