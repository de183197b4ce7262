import FirnCore
import FirnStorage

/// The location of a list or dictionary inside a mixed value of a managed object. It consists of the property, and of
/// the indices and keys that lead from the property's value to the collection.
///
/// A mixed value is stored as a whole. So reading the collection decodes the value, and changing it stores the value
/// again.
struct NestedLocation {
    enum Step {
        case index(Int)
        case key(String)
    }

    var owner: CollectionLocation
    /// If the property is a collection of mixed values, the first step leads to one of its elements.
    let steps: [Step]

    init(_ owner: CollectionLocation, _ steps: [Step]) {
        self.owner = owner
        self.steps = steps
    }

    func appending(_ step: Step) -> NestedLocation { NestedLocation(owner, steps + [step]) }

    /// The value that the steps lead to, in the realm's current state. Nil if the object is gone, or if the steps lead
    /// to no value. Stops the program on the wrong thread.
    private var found: Value? {
        let realm = owner.realm
        realm.check()
        guard let row = realm.locate(owner.row), let view = realm.table(owner.binding) else { return nil }
        var rest = steps[...]
        var value: Value?
        if owner.property.isCollection {
            let cell = view.list(owner.column, leaf: row.leafView, row: row.row)
            switch rest.popFirst() {
            case .index(let index): value = index < cell.count ? cell.value(at: index) : nil
            case .key(let key): value = cell.value(forKey: key)
            case nil: value = nil
            }
        } else {
            value = view.value(owner.column, leaf: row.leafView, row: row.row)
        }
        for step in rest { value = value?.nested(step) }
        return value
    }

    /// Whether the steps no longer lead to a collection.
    var isInvalidated: Bool {
        switch found {
        case .some(.list), .some(.map): false
        default: true
        }
    }

    /// The elements of the list. Stops the program if the steps lead to no list.
    var elements: [AnyRealmValue] {
        guard case .list(let elements)? = found else { stop() }
        return elements.enumerated().map { index, value in
            AnyRealmValue(value, owner.realm, at: appending(.index(index)))
        }
    }

    /// The entries of the dictionary. Stops the program if the steps lead to no dictionary.
    var entries: [MapKeyBytes: AnyRealmValue] {
        guard case .map(let entries)? = found else { stop() }
        var result: [MapKeyBytes: AnyRealmValue] = [:]
        for entry in entries {
            result[MapKeyBytes(entry.key)] = AnyRealmValue(
                entry.value, owner.realm, at: appending(.key(entry.key)))
        }
        return result
    }

    /// Replaces the collection. Stops the program outside a write transaction, and if the collection is gone. Also
    /// stops it if the collection has links to objects whose class the realm does not have. Such links are shown as
    /// nil, so storing the collection again would lose them.
    func replace(with collection: AnyRealmValue) {
        let realm = owner.realm
        _ = realm.writing("change \(owner.name)")
        // This may run the application's code, which may end the transaction, so the transaction is looked up again
        // below.
        let new = collection._element(for: realm)
        let transaction = realm.writing("change \(owner.name)")
        // In a transaction that has met damage, changes do nothing.
        let old = transaction.recordingDamage { found }
        if transaction.hasMetDamage { return }
        switch old {
        case .some(.list), .some(.map): break
        default: stop()
        }
        if let old, old.hasUnknownLinks(realm.schema) {
            stopProgram(
                "a collection in a mixed value of \(owner.name) can't be changed, because it has links to objects of a class that the realm was opened without. Add the class to Configuration.objectTypes."
            )
        }
        let (table, column, key) = (owner.binding.table, owner.column, owner.row.key)
        guard owner.property.isCollection else {
            let old = transaction.table(table).value(column, of: key) ?? .null
            transaction.set(table, column: column, key: key, to: old.replacing(steps[...], with: new))
            return
        }
        transaction.edit(table, column: column, key: key) { change in
            switch steps[0] {
            case .index(let index):
                change.set(change.elements.value(at: index).replacing(steps[1...], with: new), at: index)
            case .key(let name):
                let old = change.elements.value(forKey: name) ?? .null
                change.setValue(old.replacing(steps[1...], with: new), forKey: name)
            }
        }
    }

    private func stop() -> Never {
        stopProgram(
            "a collection in a mixed value of \(owner.name) was used although it is gone: its object was deleted, or something else is in its place. Check isInvalidated first."
        )
    }
}

extension Value {
    /// Whether a mixed value contains links to tables for which the realm has no class.
    fileprivate func hasUnknownLinks(_ schema: SchemaBinding) -> Bool {
        switch self {
        case .typedLink(let table, _): schema.table(table) == nil
        case .list(let elements): elements.contains { $0.hasUnknownLinks(schema) }
        case .map(let entries): entries.contains { $0.value.hasUnknownLinks(schema) }
        default: false
        }
    }

    /// The element of a list or map at a step; nil if there is none.
    fileprivate func nested(_ step: NestedLocation.Step) -> Value? {
        switch (self, step) {
        case (.list(let elements), .index(let index)): index < elements.count ? elements[index] : nil
        case (.map(let entries), .key(let key)):
            entries.first { $0.key.utf8.elementsEqual(key.utf8) }?.value
        default: nil
        }
    }

    /// This value, with the value at the end of `steps` replaced by `new`. Unchanged if the steps lead to no value.
    fileprivate func replacing(_ steps: ArraySlice<NestedLocation.Step>, with new: Value) -> Value {
        guard let step = steps.first else { return new }
        let rest = steps.dropFirst()
        switch (self, step) {
        case (.list(var elements), .index(let index)) where index < elements.count:
            elements[index] = elements[index].replacing(rest, with: new)
            return .list(elements)
        case (.map(let entries), .key(let key)):
            return .map(
                entries.map { entry in
                    guard entry.key.utf8.elementsEqual(key.utf8) else { return entry }
                    return Value.MapEntry(key: entry.key, value: entry.value.replacing(rest, with: new))
                })
        default: return self
        }
    }
}
