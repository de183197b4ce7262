import FirnCore

/// An observer of one object. It is called for assignments to the object's own properties, or along key paths. It has
/// no first call.
final class ObjectSubscription<T: ObjectBase>: DataSubscription {
    private let binding: TableBinding
    private let key: Int64
    private let paths: [ObservedPath]?
    private let block: (ObjectChange<T>) -> Void

    init(
        _ realm: _RealmInstance, _ binding: TableBinding, _ key: Int64, from start: SubscriptionStart,
        _ paths: [ObservedPath]?,
        _ block: @escaping (ObjectChange<T>) -> Void
    ) {
        self.binding = binding
        self.key = key
        self.paths = paths
        self.block = block
        super.init(realm, from: start)
    }

    override var wantsOldValues: Bool { true }

    override func skipped(_ pin: Pin) {
        // If a deletion is hidden from the observer, it is not shown later either.
        if pin.snapshot.table(binding.table).find(key) == nil { finish() }
    }

    override func notify(_ summary: ChangeSummary, from old: Pin, to new: Pin) {
        let view = new.snapshot.table(binding.table)
        guard let location = view.find(key) else {
            finish()
            block(.deleted)
            return
        }
        let changed = changedProperties(summary, old.snapshot, new.snapshot)
        guard !changed.isEmpty else { return }
        let before = old.snapshot.table(binding.table)
        let changes = changed.map { property, hasValues -> PropertyChange in
            guard hasValues, !property.isCollection else {
                return PropertyChange(name: property.name, oldValue: nil, newValue: nil)
            }
            let column = binding.column(property)
            let isOwn = realm.isOwnChange(binding.table, key, column, after: old.version, through: new.version)
            return PropertyChange(
                name: property.name,
                oldValue: isOwn ? nil : before.value(column, of: key).flatMap { any($0, property) },
                newValue: any(view.value(column, location.leaf, location.row), property))
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

    /// The properties that changed, in the order of the class. The Boolean is true if the property's own value was
    /// assigned.
    private func changedProperties(
        _ summary: ChangeSummary, _ old: Snapshot, _ new: Snapshot
    ) -> [(PropertyInfo, Bool)] {
        let table = summary.tables[binding.table]
        let columns = table?.modified[key]
        func isChanged(_ property: PropertyInfo) -> Bool {
            let column = binding.column(property)
            return columns?.contains(column) ?? false || table?.scripts[.init(key: key, column: column)] != nil
        }
        guard let paths else { return binding.info.stored.filter(isChanged).map { ($0, true) } }
        let affected = AffectedObjects(summary: summary, old: old, snapshot: new)
        var result: [(PropertyInfo, Bool)] = []
        for property in binding.info.properties {
            let own = paths.filter { $0.property === property }
            if own.contains(where: { !$0.isNested }), !property.isLinkingObjects, isChanged(property) {
                result.append((property, true))
            } else if own.contains(where: {
                ($0.isNested || property.isLinkingObjects) && affected.via($0.path).contains(key)
            }) {
                result.append((property, false))
            }
        }
        return result
    }
}
