import CFirn

// Embedded objects as the stored form of types of the application (`CustomPersistable`).

extension EmbeddedObject: _MappingTarget {
    /// A link. If it is nil, the property shows a new object.
    public static var _targetType: _PropertyType { _optionalPropertyType }
    /// A new object; nil for an accessor.
    public static var _targetInitial: ObjectBase? {
        if firn_is_making_accessor() { return nil }
        return withoutNoting { self.init() }
    }
    /// Runs `body` while the object that will hold the embedded one is being made. The thread's accessor state must
    /// record the outer object, and not one that `body` makes.
    static func withoutNoting<Result>(_ body: () -> Result) -> Result {
        let before = firn_set_accessor_state(0)
        defer { _ = firn_set_accessor_state(before) }
        return body()
    }
    /// The linked object, or a new one.
    public static func _unwrapTarget(_ stored: ObjectBase?) -> Self { _unwrapOptional(stored) ?? Self() }
}

extension _MappingTarget where Self: EmbeddedObject {
    /// The linked object of a current row, or a new one.
    public static func _getTarget(_ row: _Row, _ column: Int) -> Self { _getOptional(row, column) ?? Self() }
    /// Runs code of the application that makes an object for a wrapper.
    public static func _making(_ body: () -> Self) -> Self { withoutNoting(body) }
}

/// The embedded object that a value of a type of the application is stored as; any other value as it is.
func storedObject(_ any: Any?) -> Any? {
    func stored(_ value: some _MappedValue) -> Any {
        let object = storedObject(value._mapped)
        return instance(object, of: EmbeddedObject.self) ?? value
    }
    guard let any = unwrapped(any) else { return any }
    return (any as? any _MappedValue).map { stored($0) } ?? any
}

extension EmbeddedObject {
    /// Whether the stored members of two objects are equal: links if they lead to the same object, and collections if
    /// their elements are equal.
    final func hasEqualMembers(_ other: EmbeddedObject) -> Bool {
        guard type(of: self) == type(of: other) else { return false }
        return classInfo.stored.allSatisfy { property in
            if property.isMixed, !property.isCollection {
                return Self.areEqual(mixedValue(property), other.mixedValue(property))
            }
            let (a, b) = (anyValue(property), other.anyValue(property))
            guard property.shape.collection == .set else { return Self.areEqual(a, b) }
            func members(_ set: Any?) -> Set<_SetMember>? {
                (set as? any Sequence).map { set in
                    Set(
                        anyElements(of: set).map { element in
                            (element as? any RealmCollectionValue).map { $0._rowMember ?? $0._member } ?? .value(.null)
                        })
                }
            }
            return members(a) == members(b)
        }
    }

    /// Hashes the stored members, except for links and collections.
    final func hashMembers(into hasher: inout Hasher) {
        for property in classInfo.stored {
            if let value = unwrapped(anyValue(property)) as? AnyHashable,
                instance(value, of: ObjectBase.self) == nil, instance(value, of: CollectionBase.self) == nil
            {
                hasher.combine(value)
            }
        }
    }

    /// The value of a mixed property. Untyped access would not distinguish numbers of different types.
    private func mixedValue(_ property: PropertyInfo) -> AnyRealmValue {
        guard isManaged else { return property.wrapper.mixed(address + property.offset) ?? .none }
        if !_row.isCurrent { _row = _relocate(_row, reading: property) }
        return AnyRealmValue._get(_row, TableBinding.of(_row).column(property))
    }

    private static func areEqual(_ a: AnyRealmValue, _ b: AnyRealmValue) -> Bool {
        if case .object(let a) = a, case .object(let b) = b { return areEqual(a as Any, b as Any) }
        return a == b
    }

    private static func areEqual(_ a: Any?, _ b: Any?) -> Bool {
        guard let a = unwrapped(a), let b = unwrapped(b) else { return unwrapped(a) == nil && unwrapped(b) == nil }
        switch (a, b) {
        case (let a as EmbeddedObject, let b as EmbeddedObject): return a.hasEqualMembers(b)
        case (let a as ObjectBase, let b as ObjectBase): return a.isSameObject(as: b)
        case (let a as AnyRealmValue, let b as AnyRealmValue): return areEqual(a, b)
        case (let a as Map<String, AnyRealmValue>, let b as Map<String, AnyRealmValue>):
            return a.count == b.count
                && a.allSatisfy { entry in b[entry.key].map { areEqual(entry.value, $0) } ?? false }
        case (let a as any UntypedMap, let b as any UntypedMap):
            let (a, b) = (a.untypedEntries, b.untypedEntries)
            guard a.count == b.count else { return false }
            let others = Dictionary(b.map { ("\($0.key)", $0.value) }, uniquingKeysWith: { first, _ in first })
            return a.allSatisfy { entry in others["\(entry.key)"].map { areEqual(entry.value, $0) } ?? false }
        case (let a as any ElementCollection, let b as any ElementCollection):
            let (a, b) = (anyElements(of: a), anyElements(of: b))
            return a.count == b.count && zip(a, b).allSatisfy { areEqual($0, $1) }
        default: return (a as? AnyHashable) == (b as? AnyHashable)
        }
    }
}
