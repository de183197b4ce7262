import FirnCore
import FirnStorage

/// The common part of `List`, `MutableSet` and `Map`: a location once they are managed.
///
/// Only Firn makes subclasses of it.
public class CollectionBase {
    /// The location of the collection once it is managed.
    final var location: CollectionLocation?

    /// A managed collection at a location, or an empty unmanaged collection if `location` is nil.
    required init(at location: CollectionLocation?) {
        location?.retain()
        self.location = location
    }

    /// The location of a collection inside a mixed value of a managed object; nil for all other collections.
    final var nest: NestedLocation?

    /// Makes a collection inside a mixed value of a managed object.
    init(nested nest: NestedLocation) {
        nest.owner.retain()
        self.nest = nest
    }

    deinit {
        location?.release()
        nest?.owner.release()
    }

    /// The realm that manages the collection; nil if it is unmanaged. O(1).
    public final var realm: Realm? { (location ?? nest?.owner).map { Realm($0.realm) } }
    /// Whether the collection's object was deleted or its realm was invalidated. False if the collection is unmanaged.
    /// O(log objects) at most. Stops the program on the wrong thread, if the realm notices that: see `List`.
    public final var isInvalidated: Bool { location?.isInvalidated ?? nest?.isInvalidated ?? false }
    /// Whether the collection belongs to a frozen realm and never changes. O(1). May be read on any thread.
    public final var isFrozen: Bool { (location ?? nest?.owner)?.realm.isFrozen ?? false }

    /// The collection itself as a `PersistedCollection`, without the conformance lookup that a cast would need.
    var persisted: any PersistedCollection { preconditionFailure("Firn: \(Self.self) is no persisted collection") }

    /// The word for the collection in messages.
    class var noun: String { preconditionFailure("Firn: \(Self.self) has no noun") }

    /// The collection's contents in the current state, valid until the next change. For a frozen collection this writes
    /// nothing, because its row never has to be found again.
    final var cell: ListCell {
        if !location!.row.isCurrent { location!.row = _relocate(location!.row, reading: location!.property) }
        return location!.cell
    }

    /// The location. Stops the program if the collection is unmanaged or lies inside a mixed value.
    private func managed(to purpose: String) -> CollectionLocation {
        guard let location else {
            if let nest {
                stopProgram(
                    "a \(Self.noun) in a mixed value of \(nest.owner.name) can't be \(purpose) by itself. Use its object."
                )
            }
            stopProgram(
                "an unmanaged \(Self.noun) can't be \(purpose). Add the object that holds it to a realm first.")
        }
        return location
    }

    /// Implements `freeze()`. Stops the program if the collection is unmanaged or its object is gone, in a write
    /// transaction, and on the wrong thread.
    public final func _freeze(_ file: StaticString, _ line: UInt) -> Self {
        if isFrozen { return self }
        if let nest {
            let frozen = moved(nest, to: nest.owner.realm.freeze("a \(Self.noun)", at: CallSite(file, line)))
            guard !frozen.isInvalidated else { stopForMissingOwner(at: CallSite(file, line)) }
            return frozen
        }
        let location = managed(to: "frozen")
        guard !isInvalidated,
            let frozen = location.moved(
                to: location.realm.freeze("a \(Self.noun)", at: CallSite(file, line)), { Self(at: $0) })
        else { stopForMissingOwner(at: CallSite(file, line)) }
        return frozen
    }

    private func stopForMissingOwner(at callSite: CallSite) -> Never {
        stopProgram(
            "a \(Self.noun) was frozen whose object is gone. Check isInvalidated first.", at: callSite)
    }

    /// Implements `thaw()`: nil if the collection's object no longer exists. Stops the program if the collection is
    /// unmanaged.
    public final func _thaw(_ file: StaticString, _ line: UInt) -> Self? {
        if let nest {
            guard isFrozen else { return self }
            let thawed = moved(nest, to: nest.owner.realm.thaw(at: CallSite(file, line)))
            return thawed.isInvalidated ? nil : thawed
        }
        let location = managed(to: "thawed")
        guard isFrozen else { return self }
        return location.moved(to: location.realm.thaw(at: CallSite(file, line))) { Self(at: $0) }
    }

    /// The same collection in another realm of the store, whether or not its object exists there. An unmanaged
    /// collection is returned as it is.
    public final func _moved(to realm: _RealmInstance) -> Self {
        if let nest { return moved(nest, to: realm) }
        return location?.unlocated(in: realm) { Self(at: $0) } ?? self
    }

    private func moved(_ nest: NestedLocation, to realm: _RealmInstance) -> Self {
        let moved = Self(at: nil)
        nest.owner.unlocated(in: realm) { owner in
            owner.retain()
            moved.nest = NestedLocation(owner, nest.steps)
        }
        return moved
    }

    /// An empty, unmanaged collection.
    public final var _withoutOwner: Self { Self(at: nil) }

    /// The source that queries over the collection read. Stops the program if the collection is unmanaged, or lies
    /// inside a mixed value.
    public final var _source: _CollectionSource {
        let location = managed(to: "queried or observed")
        let realm = location.realm
        if location.binding.isObservable, !realm.isFrozen {
            realm.check()
            location.row.wasRead(location.property)
        }
        let binding = location.property.isLink ? realm.target(of: location.property, in: location.binding) : nil
        return _CollectionSource(realm: realm, binding: binding, origin: .list(location))
    }

    /// Converts the stored value at a step of the collection to an element. A collection inside a mixed value becomes a
    /// live collection.
    @inline(__always)
    final func element<Element: RealmCollectionValue>(
        _ value: Value, at step: @autoclosure () -> NestedLocation.Step
    ) -> Element {
        switch value {
        case .list, .map: return liveElement(value, step())
        case .link(let key) where isDynamic(Element.self): return dynamicElement(key)
        default:
            if isDynamic(Element.self) { return dynamicElement(of: value) }
            return Element._fromElement(value, location!.realm)
        }
    }

    @inline(never)
    private func dynamicElement<Element: RealmCollectionValue>(_ key: Int64) -> Element {
        let location = location!
        let realm = location.realm
        let target = realm.target(of: location.property, in: location.binding)
        return unsafeBitCast(realm.dynamicAccessor(target, key), to: Element.self)
    }

    /// The dynamic element for a value that is not a link of a property with one target class.
    @inline(never)
    private func dynamicElement<Element: RealmCollectionValue>(of value: Value) -> Element {
        if value == .null, let none = Optional<DynamicObject>.none as? Element { return none }
        return unsafeBitCast(DynamicObject.showing(value, location!.realm), to: Element.self)
    }

    @inline(never)
    private func liveElement<Element: RealmCollectionValue>(_ value: Value, _ step: NestedLocation.Step) -> Element {
        let element = AnyRealmValue(value, location!.realm, at: NestedLocation(location!, [step]))
        if isDynamic(Element.self) { return unsafeBitCast(DynamicObject.holding(element), to: Element.self) }
        // Only mixed values have collections in them.
        guard let element = element as? Element else { stopForUnknownValue("\(value)", Element.self) }
        return element
    }

    /// An element as the realm stores it, if the collection may contain it; nil otherwise. A collection never contains
    /// objects of another class, not even of a subclass.
    ///
    /// Computing the stored value may run any code of the application, so call this before `edit`.
    final func existing(_ element: some RealmCollectionValue) -> Value? {
        let location = location!
        if isDynamic(Swift.type(of: element)), location.layout.type != .link {
            guard let object = dynamicObject(in: element) else { return takes(.null) ? .null : nil }
            let value = object.shown(in: location)?.value._existingElement(in: location.realm)
            return value.flatMap { takes($0) ? $0 : nil }
        }
        if location.layout.type == .link, let object = instance(element, of: ObjectBase.self),
            !object.isManaged || TableBinding.of(object._row).table != location.binding.target(of: location.property)
        {
            return nil
        }
        return element._existingElement(in: location.realm)
    }

    /// An element as the realm's transaction stores it. An unmanaged object is added to the realm.
    ///
    /// Computing the stored value may run any code of the application, so call this before `edit`.
    final func stored(_ element: some RealmCollectionValue) -> Value {
        let location = location!
        _ = location.realm.writing(location.change)
        if isDynamic(Swift.type(of: element)) {
            let (object, target) = (dynamicObject(in: element), location.property.shape.target)
            if let object, object.currentForm == nil { stopForDeleted() }
            guard location.layout.type == .link, object?.held == nil else {
                let shown = object.map { $0.held ?? $0.shown(in: location) ?? HeldValue(.object($0)) }
                return stored(shown ?? HeldValue(.none))
            }
            guard let object, let target, let form = object.currentForm(as: target) else {
                return element._element(for: location.realm)
            }
            if form.modelType != target, location.realm.binding(of: target, showing: form) == nil {
                stopProgram("\(ValueFault(form, isNoTargetOf: target))")
            }
            if form !== object { return .link(location.realm.linkKey(of: form, as: target)) }
        }
        return element._element(for: location.realm)
    }

    /// Stops the program: the element is an old object, whose new form a migration has deleted.
    private func stopForDeleted() -> Never {
        stopProgram("can't \(location!.change): the migration has deleted the object that is added.")
    }

    /// Runs `body` on the managed collection in the realm's transaction. Does nothing if the transaction has met
    /// damage.
    final func edit(_ body: (inout ManagedListEdit) -> Void) {
        guard var edit = ManagedListEdit(&location!) else { return }
        body(&edit)
    }

    /// Whether `other` is this very collection. If so, a managed collection is marked as assigned and keeps its
    /// elements.
    final func isAssignedToItself(_ other: CollectionBase) -> Bool {
        guard self === other || isSameManaged(as: other) else { return false }
        if location != nil { edit { $0.markAssigned() } }
        return true
    }

    /// Turns an unmanaged collection into the collection of a managed row's property.
    final func adopt(_ row: _Row, _ property: PropertyInfo) {
        let location = CollectionLocation(row, property)
        location.retain()
        self.location = location
        dropUnmanaged()
    }

    /// Drops the elements that an unmanaged collection holds itself.
    func dropUnmanaged() { preconditionFailure("Firn: \(Self.self) does not drop its elements") }

    /// Whether both collections are managed and belong to the same property of the same row in one realm.
    final func isSameManaged(as other: CollectionBase) -> Bool {
        guard let x = location, let y = other.location else { return false }
        return x.row.core == y.row.core && x.row.table == y.row.table && x.row.key == y.row.key && x.column == y.column
    }
}
