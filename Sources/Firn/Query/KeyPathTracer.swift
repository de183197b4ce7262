import CFirn
import FirnStorage

/// Finds out which properties a key path reads, by reading it from an object that only takes notes.
///
/// The object looks unmanaged but has a core, whose owner is the tracer; its wrappers hold their property's place, those of ignored properties a
/// negative number. A link gives another such
/// object, so `\Person.dog?.name` is traced as `dog.name`.
public final class KeyPathTracer {
    private let core: UnsafeMutablePointer<firn_realm_core_t>
    private var objects: [ObjectBase] = []
    private(set) var names: [String] = []
    /// The class that owns the last property read.
    private(set) var properties: [PropertyInfo] = []

    init() {
        core = .allocate(capacity: 1)
        core.initialize(to: firn_realm_core_t())
        core.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        // The objects must not count themselves off the core.
        for object in objects { object._row.core = nil }
        core.deallocate()
    }

    static func of(_ object: ObjectBase) -> KeyPathTracer {
        guard let owner = object._row.core?.pointee.owner else {
            fatalError("Firn: an object without a realm was traced.")
        }
        return Unmanaged<KeyPathTracer>.fromOpaque(owner).takeUnretainedValue()
    }

    /// An object that tells this tracer what is read from it.
    func object(_ type: ObjectBase.Type) -> ObjectBase {
        let object = type.init()
        let info = object.classInfo
        for property in info.properties {
            (object.address + property.offset).storeBytes(of: Int32(property.place), as: Int32.self)
        }
        for (number, property) in info.ignored.enumerated() {
            (object.address + property.offset).storeBytes(of: Int32(-1 - number), as: Int32.self)
        }
        object._row.core = core
        objects.append(object)
        return object
    }

    /// Notes a property by what `object(_:)` wrote into its wrapper. Stops the program where the property is ignored.
    func record(_ object: ObjectBase, bound: Int32) {
        let info = object.classInfo
        guard bound >= 0 else {
            fatalError(
                "Firn: \(info.name).\(info.ignored[Int(-1 - bound)].name) can't be queried, sorted by or observed: \(info.name).ignoredProperties() names it, so it is not stored."
            )
        }
        let property = info.properties[Int(bound)]
        properties.append(property)
        names.append(property.name)
    }

    /// The properties that a key path reads, outermost first; empty where it reads none that is stored. Stops the
    /// program where the key path gives a value of another type than the last of them has: it goes on behind that.
    static func properties<Root: ObjectBase>(_ keyPath: PartialKeyPath<Root>) -> [PropertyInfo] {
        let tracer = KeyPathTracer()
        // The accessor of a property reads it from whatever it is given, so the tracing object does.
        guard let root = tracer.object(Root.self) as? Root else { return [] }
        _ = root[keyPath: keyPath]
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

    /// The type that an optional one wraps, and others as they are: a path through a link is optional.
    private static func wrappedType(_ type: Any.Type) -> Any.Type {
        func wrapped<Optional: OptionalProtocol>(_: Optional.Type) -> Any.Type { Optional.Wrapped.self }
        guard let optional = type as? any OptionalProtocol.Type else { return type }
        return wrapped(optional)
    }

    /// The key path's name as text queries and observers take it, as `dog.name`.
    static func name<Root: ObjectBase>(_ keyPath: PartialKeyPath<Root>) -> String {
        if let name = names.value(keyPath) { return name }
        let name = properties(keyPath).map(\.name).joined(separator: ".")
        guard !name.isEmpty else {
            fatalError("Firn: \(keyPath) reads no @Persisted property of \(Root.self); give the key path of one.")
        }
        names.keep(name, keyPath)
        return name
    }

    /// What was found out about key paths, on any thread.
    ///
    /// They are told apart by their addresses: to hash or compare one with arguments, as of a subscript, runs the
    /// application's code, which may query and so come here again. One without arguments is made once for each place in
    /// the program. The others are made each time, so there is a limit to what is kept.
    struct Cache<Content> {
        fileprivate let entries: GlobalGuarded<[Key: Entry]>
        fileprivate static var limit: Int { 1000 }

        fileprivate struct Key: Hashable {
            let root: ObjectIdentifier
            let keyPath: ObjectIdentifier
        }
        fileprivate struct Entry {
            /// Held, so that no other one gets its address.
            let keyPath: AnyKeyPath
            let content: Content
        }

        init(_ lock: GlobalLock) { entries = GlobalGuarded(lock) { [:] } }

        func value<Root>(_ keyPath: PartialKeyPath<Root>) -> Content? {
            let key = Key(root: ObjectIdentifier(Root.self), keyPath: ObjectIdentifier(keyPath))
            return entries.withLock { $0[key]?.content }
        }

        func keep<Root>(_ content: Content, _ keyPath: PartialKeyPath<Root>) {
            let key = Key(root: ObjectIdentifier(Root.self), keyPath: ObjectIdentifier(keyPath))
            // What goes may hold the application's arguments: it goes outside of the guard.
            let old = entries.withLock { entries -> [Key: Entry] in
                var old: [Key: Entry] = [:]
                if entries.count >= Self.limit { swap(&old, &entries) }
                if entries[key] == nil { entries[key] = Entry(keyPath: keyPath, content: content) }
                return old
            }
            withExtendedLifetime(old) {}
        }
    }

    private static var names: Cache<String> { Cache(.keyPathNames) }
}
