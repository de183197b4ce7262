import FirnCore
import FirnStorage

/// What is wrong with a dynamic object that belongs to no realm and holds no value.
let unmanagedDynamicText = "a dynamic object that belongs to no realm has no class, so it can't be stored"

/// The value that a dynamic object shows instead of a row.
final class HeldValue {
    let value: AnyRealmValue

    init(_ value: AnyRealmValue) { self.value = value }

    /// The value as untyped access returns it.
    var any: Any? { AnyRealmValue._any(value) }
}

extension DynamicObject {
    /// A dynamic object for an element of a collection of values. It is the object that the value links to, or an
    /// unmanaged object that holds the value.
    static func showing(_ value: Value, _ realm: _RealmInstance) -> DynamicObject {
        if case .typedLink(let table, let key) = value {
            return realm.schema.table(table).map { realm.dynamicAccessor($0, key) } ?? holding(.none)
        }
        return holding(AnyRealmValue(value, realm, at: nil))
    }

    /// An unmanaged dynamic object that shows a value. The value may be a mixed value that is an object.
    static func holding(_ value: AnyRealmValue) -> DynamicObject {
        let object = DynamicObject()
        object.hold(value)
        return object
    }
}

extension ObjectBase {
    /// The value that the object shows, if the object is an element of a collection of values; otherwise nil.
    final var heldValue: HeldValue? { isDynamic ? unsafeDowncast(self, to: DynamicObject.self).held : nil }

    /// The elements of an unmanaged object's collection of values, as dynamic objects; in a map with their keys. Stops
    /// the program if the property is not a collection of this kind. Also stops it if the elements are objects, because
    /// only a realm can show these as dynamic objects.
    final func heldElements(_ name: String, _ kind: CollectionKind) -> [(key: String, element: DynamicObject?)] {
        let property = dynamicCollection(name, kind)
        guard !property.isLink else {
            stopProgram(
                "an unmanaged object of \(classInfo.name) has no dynamic collections of objects. Add it to a realm first."
            )
        }
        guard let collection = anyValue(property) else { return [] }
        let map = collection as? any UntypedMap
        let entries = map?.typedEntries.map { ($0.key, $0.value as Any?) }
        do {
            return try (entries ?? (KeyPathValue.elements(of: collection) ?? []).map { ("", $0) }).map { key, any in
                let value = try AnyRealmValue(untyped: any)
                if map != nil, value == .none { return (key, nil) }
                return (key, .holding(value))
            }
        } catch {
            stopProgram("\(classInfo.name).\(name): \(error)")
        }
    }

    /// The property that holds a collection of a kind. Stops the program if there is none.
    final func dynamicCollection(_ name: String, _ kind: CollectionKind) -> PropertyInfo {
        guard let property = classInfo.property(named: name), property.shape.collection == kind else {
            stopProgram("\(classInfo.name).\(name) is not a \(kind).")
        }
        return property
    }
}

extension DynamicObject {
    /// The value that the object is as an element of a collection of values: the value that it holds. In a collection
    /// of mixed values, it may also be the managed object itself. Otherwise nil.
    func shown(in location: CollectionLocation) -> HeldValue? {
        switch location.layout.type {
        case .link: nil
        case .mixed: held ?? (typed(self) as? Object).flatMap { $0 === self ? nil : HeldValue(.object($0)) }
        default: held
        }
    }
}

extension CollectionBase {
    /// Whether a stored value has the type of the collection's elements.
    final func takes(_ value: Value) -> Bool {
        let location = location!
        let type = location.layout.type
        return type == .mixed || value.columnType.map { $0 == type && type != .link } ?? location.property.isNullable
    }

    /// Whether the type of the elements has a value: an enum may have no case for it, and a short integer no room.
    private func converts(_ held: HeldValue) -> Bool {
        let location = location!
        guard location.layout.type != .mixed, let any = held.any else { return true }
        let elements: Any = location.property.shape.collection == .map ? ["": any] : [any]
        guard let value = try? location.property.wrapper.elements(elements, location.realm).first else { return false }
        if case .map(let entries) = value { return entries.first?.value != .null }
        return value != .null
    }

    /// The stored form, in this collection, of the value that a dynamic object holds. Stops the program if the
    /// collection can't contain the value.
    final func stored(_ held: HeldValue) -> Value {
        let location = location!
        let value = held.value._element(for: location.realm)
        guard takes(value), converts(held) else {
            stopProgram(
                "can't \(location.change): the element is the value \(describeValue(held.any, depth: 0)), and \(location.name) takes no such value."
            )
        }
        return value
    }
}
