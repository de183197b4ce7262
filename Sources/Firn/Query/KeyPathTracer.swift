import CFirn
import FirnQuery
import FirnStorage

/// Finds out which properties a key path reads, by reading it from an object that records every access.
///
/// The object looks unmanaged but has a core, whose owner is the tracer. Each wrapper of the object holds its
/// property's position, or a negative number if the property is ignored. A link returns another such object, so
/// `\Person.dog?.name` is traced as `dog.name`.
public final class _KeyPathTracer {
    private let core: UnsafeMutablePointer<firn_realm_core_t>
    private var objects: [ObjectBase] = []
    /// The properties read so far, outermost first.
    private(set) var properties: [PropertyInfo] = []

    init() {
        core = .allocate(capacity: 1)
        core.initialize(to: firn_realm_core_t())
        core.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        // The objects must not decrement the core's count of accessors.
        for object in objects { object._row.core = nil }
        core.deallocate()
    }

    static func of(_ object: ObjectBase) -> _KeyPathTracer {
        guard let owner = object._row.core?.pointee.owner else {
            fatalError("Firn: an object without a realm was traced.")
        }
        return Unmanaged<_KeyPathTracer>.fromOpaque(owner).takeUnretainedValue()
    }

    /// An object that records in this tracer which properties are read from it.
    func object(_ type: ObjectBase.Type) -> ObjectBase {
        let object = type.init()
        let info = object.classInfo
        for property in info.properties {
            (object.address + property.offset).storeBytes(of: Int32(property.position), as: Int32.self)
        }
        for (number, property) in info.ignored.enumerated() {
            (object.address + property.offset).storeBytes(of: Int32(-1 - number), as: Int32.self)
        }
        object._row.core = core
        objects.append(object)
        return object
    }

    /// Records a property by the number that `object(_:)` wrote into its wrapper. Stops the program if the property
    /// is ignored.
    func record(_ object: ObjectBase, bound: Int32) {
        let info = object.classInfo
        guard bound >= 0 else {
            fatalError(
                "Firn: \(info.name).\(info.ignored[Int(-1 - bound)].name) can't be queried, sorted by or observed: \(info.name).ignoredProperties() names it, so it is not stored."
            )
        }
        let property = info.properties[Int(bound)]
        properties.append(property)
    }

    /// The properties that a key path reads, outermost first, also if the key path continues behind them; empty if it
    /// reads no stored property.
    static func allProperties<Root: _QueriedObject>(_ keyPath: PartialKeyPath<Root>) -> [PropertyInfo] {
        let tracer = _KeyPathTracer()
        let value = tracer.read(keyPath)
        return tracer.properties + tracer.elementProperties(value)
    }

    /// Reads a key path of an object that records in this tracer.
    private func read<Root: _QueriedObject>(_ keyPath: PartialKeyPath<Root>) -> Any {
        // A property's accessor reads from whatever object it is given, so it reads the tracing object.
        let root = Root._ofAccessor(object(Root._rootType))
        // What a projection's own initialiser has read is no part of the key path.
        properties = []
        return root[keyPath: keyPath]
    }

    /// The properties that a projected collection reads of its elements.
    private func elementProperties(_ value: Any) -> [PropertyInfo] {
        (value as? any ProjectsElements)?.elementProperties ?? []
    }

    /// The properties that a key path reads, outermost first; empty if it reads no stored property. Stops the program
    /// if the key path's value has another type than the last of the properties: then the key path continues behind
    /// that property.
    fileprivate static func properties<Root: _QueriedObject>(_ keyPath: PartialKeyPath<Root>) -> [PropertyInfo] {
        let tracer = _KeyPathTracer()
        let value = tracer.read(keyPath)
        if value is any ProjectsElements { return tracer.properties + tracer.elementProperties(value) }
        if let last = tracer.properties.last {
            let type = Swift.type(of: keyPath).valueType
            guard ObjectIdentifier(wrappedType(type)) == ObjectIdentifier(wrappedType(last.shape.swiftType)) else {
                fatalError(
                    "Firn: \(keyPath) gives a value of the type \(type), but \(last.name) is of the type \(last.shape.swiftType); give the key path of the property itself."
                )
            }
        }
        return tracer.properties
    }

    /// The type that an optional type wraps, or the type itself if it is not optional. A path through a link is
    /// optional.
    private static func wrappedType(_ type: Any.Type) -> Any.Type {
        func wrapped<Optional: _OptionalProtocol>(_: Optional.Type) -> Any.Type { Optional.Wrapped.self }
        guard let optional = type as? any _OptionalProtocol.Type else { return type }
        return wrapped(optional)
    }
}

/// The stored properties that a key path of Swift reads.
///
/// Finding them takes microseconds, so it is done once for each key path (`of`).
final class TracedKeyPath: Sendable {
    /// Outermost first; never empty.
    let properties: [PropertyInfo]
    /// The key path as text queries and observers take it, such as `dog.name`.
    let name: String
    /// The key path as queries, sorts and aggregates take it.
    let path: PropertyPath

    private init(_ properties: [PropertyInfo]) {
        self.properties = properties
        name = properties.map(\.name).joined(separator: ".")
        path = PropertyPath(properties.map(\.name))
    }

    /// The properties that `keyPath` reads. Stops the program if it reads no stored property.
    static func of<Root: _QueriedObject>(_ keyPath: PartialKeyPath<Root>) -> TracedKeyPath {
        if let known = cache.value(keyPath) { return known }
        let properties = _KeyPathTracer.properties(keyPath)
        guard !properties.isEmpty else {
            fatalError("Firn: \(keyPath) reads no @Persisted property of \(Root.self); give the key path of one.")
        }
        let traced = TracedKeyPath(properties)
        cache.keep(traced, keyPath)
        return traced
    }

    /// The properties that `keyPath` reads, which may compute a value of another type from the last of them. If that is
    /// read more than once, it counts once. Stops the program if the key path reads no stored property.
    static func computing<Root: _QueriedObject>(_ keyPath: PartialKeyPath<Root>) -> TracedKeyPath {
        var properties: [PropertyInfo] = []
        for property in _KeyPathTracer.allProperties(keyPath) where property.isLink || property !== properties.last {
            properties.append(property)
        }
        guard !properties.isEmpty else {
            fatalError("Firn: \(keyPath) reads no @Persisted property of \(Root.self); give the key path of one.")
        }
        return TracedKeyPath(properties)
    }

    private static var cache: KeyPathCache { KeyPathCache(.keyPaths) }
}

/// The key paths that have been traced. May be used on any thread.
///
/// Key paths are identified by their addresses. To hash or compare a key path that has arguments, such as those of a
/// subscript, would run the application's code, which may query and so enter this cache again. A key path without
/// arguments is made once for each expression in the program. A key path with arguments is made each time, so the
/// number of entries has a limit.
private struct KeyPathCache {
    let entries: GlobalGuarded<[Key: Entry]>
    static var limit: Int { 1000 }

    struct Key: Hashable {
        let root: ObjectIdentifier
        let keyPath: ObjectIdentifier
    }
    struct Entry {
        /// Kept alive, so that no other key path gets its address.
        let keyPath: AnyKeyPath
        let traced: TracedKeyPath
    }

    init(_ lock: GlobalLock) { entries = GlobalGuarded(lock) { [:] } }

    func value<Root>(_ keyPath: PartialKeyPath<Root>) -> TracedKeyPath? {
        let key = Key(root: ObjectIdentifier(Root.self), keyPath: ObjectIdentifier(keyPath))
        return entries.withLock { $0[key]?.traced }
    }

    func keep<Root>(_ traced: TracedKeyPath, _ keyPath: PartialKeyPath<Root>) {
        let key = Key(root: ObjectIdentifier(Root.self), keyPath: ObjectIdentifier(keyPath))
        // The dropped key paths may hold the application's arguments, so they are released outside of the lock.
        let old = entries.withLock { entries -> [Key: Entry] in
            var old: [Key: Entry] = [:]
            if entries.count >= Self.limit { swap(&old, &entries) }
            if entries[key] == nil { entries[key] = Entry(keyPath: keyPath, traced: traced) }
            return old
        }
        withExtendedLifetime(old) {}
    }
}
