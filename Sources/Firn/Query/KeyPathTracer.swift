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

    /// The properties that a key path reads, outermost first; empty where it reads none that is stored.
    static func properties<Root: ObjectBase>(_ keyPath: PartialKeyPath<Root>) -> [PropertyInfo] {
        let tracer = KeyPathTracer()
        // The accessor of a property reads it from whatever it is given, so the tracing object does.
        guard let root = tracer.object(Root.self) as? Root else { return [] }
        _ = root[keyPath: keyPath]
        return tracer.properties
    }

    /// The key path's name as text queries and observers take it, as `dog.name`.
    static func name<Root: ObjectBase>(_ keyPath: PartialKeyPath<Root>) -> String {
        let id = CacheKey(root: ObjectIdentifier(Root.self), keyPath: keyPath)
        if let name = cache.withLock({ $0[id] }) { return name }
        let name = properties(keyPath).map(\.name).joined(separator: ".")
        guard !name.isEmpty else {
            fatalError("Firn: \(keyPath) reads no @Persisted property of \(Root.self); give the key path of one.")
        }
        cache.withLock { $0[id] = name }
        return name
    }

    private struct CacheKey: Hashable {
        let root: ObjectIdentifier
        let keyPath: AnyKeyPath
    }

    // Key paths are traced on any thread; the guard is in the type.
    private static var cache: GlobalGuarded<[CacheKey: String]> { GlobalGuarded(.keyPathNames) { [:] } }
}
