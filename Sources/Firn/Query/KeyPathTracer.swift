import CFirn
import FirnCore
import FirnQuery
import FirnStorage
import Foundation

/// Finds out which properties a key path reads, by reading it from an object that records every access.
///
/// The object looks unmanaged but has a core, whose owner is the tracer. Each wrapper of the object holds its
/// property's position, or a negative number if the property is ignored. A link returns another such object, so
/// `\Person.dog?.name` is traced as a read of `dog` and, of what that gave, one of `name`.
///
/// What the application computes may depend on the values. So they are chosen: a key path is traced twice, with two
/// values for each property.
public final class _KeyPathTracer {
    /// What a key path is traced for.
    enum Purpose {
        /// It has to name one property, whose value it gives. Lists are empty.
        case naming
        /// It may read what it likes. Lists have one element, so that what is read of it is found.
        case observing
    }

    /// One read of a property.
    struct Read {
        let object: ObjectBase
        let property: PropertyInfo
        /// The read that gave the object; nil for the first object.
        let origin: Int?
    }

    /// The number of runs whose values differ.
    static let runs = 2

    private let core: UnsafeMutablePointer<firn_realm_core_t>
    private let purpose: Purpose
    private let run: Int
    /// Links that end after a number of links on the way, so that what is read behind nil is found.
    private let ended: (links: Set<ObjectIdentifier>, depth: Int)
    private var objects: [(object: ObjectBase, origin: Int?, depth: Int)] = []
    private(set) var reads: [Read] = []
    /// The first read that counts.
    private var start = 0
    /// The numbers of the projected properties that were read.
    private(set) var projected: [Int] = []
    /// The links that were not followed because they lie too deep.
    private(set) var cut: Set<ObjectIdentifier> = []

    private init(_ purpose: Purpose, run: Int, ended: (links: Set<ObjectIdentifier>, depth: Int)) {
        self.purpose = purpose
        self.run = run
        self.ended = ended
        core = .allocate(capacity: 1)
        core.initialize(to: firn_realm_core_t())
        core.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        // The objects must not decrement the core's count of accessors.
        for (object, _, _) in objects { object._row.core = nil }
        core.deallocate()
    }

    static func of(_ object: ObjectBase) -> _KeyPathTracer {
        guard let owner = object._row.core?.pointee.owner else {
            fatalError("Firn: an object without a realm was traced.")
        }
        return Unmanaged<_KeyPathTracer>.fromOpaque(owner).takeUnretainedValue()
    }

    // MARK: What the objects call

    /// An object that records in this tracer which properties are read from it, reached by the last read.
    func linked(_ type: ObjectBase.Type) -> ObjectBase? {
        guard let read = reads.indices.last,
            let depth = objects.first(where: { $0.object === reads[read].object })?.depth
        else { return nil }
        let link = ObjectIdentifier(reads[read].property)
        if depth >= ended.depth, ended.links.contains(link) { return nil }
        // A computed property may follow a link that leads back to its own class, without an end.
        guard depth < (purpose == .naming ? 32 : AffectedObjects.depth) else {
            cut.insert(link)
            return nil
        }
        return object(type, origin: read, depth: depth + 1)
    }

    /// A list or set with one element, reached by the last read; nil if the property's own is to be read.
    func collection<C: _PersistableCollection>(_: C.Type) -> C? {
        guard purpose == .observing else { return nil }
        let shape = C._propertyType
        guard shape.collection != .map, !shape.isMapped else { return nil }
        let element: Any? = if let target = shape.target { linked(target) } else { probe(shape) }
        guard let element else { return nil }
        do { return try C._fromAny([element]) } catch {
            fatalError("Firn: \(C.self) does not take \(element), which is of its element type: \(error).")
        }
    }

    /// Records a property by the number that `object(_:origin:depth:)` wrote into its wrapper. Returns false if the
    /// property is ignored, which stops the program if the key path is to name a property.
    func record(_ object: ObjectBase, bound: Int32) -> Bool {
        let info = object.classInfo
        guard bound >= 0 else {
            if purpose == .observing { return false }
            fatalError(
                "Firn: \(info.name).\(info.ignored[Int(-1 - bound)].name) can't be queried, sorted by or observed: \(info.name).ignoredProperties() names it, so it is not stored."
            )
        }
        let origin = objects.first { $0.object === object }?.origin
        reads.append(Read(object: object, property: info.properties[Int(bound)], origin: origin))
        return true
    }

    /// Records that a projected property was read, by its number.
    func record(projected number: Int) { projected.append(number) }

    // MARK: Tracing

    /// Reads a key path of an object that records in a new tracer, or of a projection of it.
    ///
    /// - Parameter ended: links that are nil after `depth` links on the way.
    static func trace<Root: _QueriedObject>(
        _ keyPath: PartialKeyPath<Root>, _ purpose: Purpose, run: Int,
        ended: (links: Set<ObjectIdentifier>, depth: Int) = ([], 0)
    ) -> (tracer: _KeyPathTracer, value: Any) {
        let tracer = _KeyPathTracer(purpose, run: run, ended: ended)
        // A property's accessor reads from whatever object it is given, so it reads the tracing object.
        let root = Root._ofAccessor(tracer.object(Root._rootType, origin: nil, depth: 0))
        // What a projection's own initialiser has read is no part of the key path.
        tracer.start = tracer.reads.count
        tracer.projected = []
        return (tracer, root[keyPath: keyPath])
    }

    /// The ways to the properties that were read last, each outermost first: those from which nothing else was read.
    /// `value` is what the key path gave, to which the last read leads.
    func ways(to value: Any) -> [[PropertyInfo]] {
        let elements = (value as? any ProjectsElements)?.elementWays(purpose) ?? []
        let origins = Set(reads.compactMap(\.origin))
        return (start..<reads.count).filter { !origins.contains($0) }.flatMap { read -> [[PropertyInfo]] in
            let way = way(to: read)
            return read == reads.count - 1 && !elements.isEmpty ? elements.map { way + $0 } : [way]
        }
    }

    private func way(to read: Int) -> [PropertyInfo] {
        let read = reads[read]
        return (read.origin.map(way) ?? []) + [read.property]
    }

    /// Whether each read is of what the one before has given.
    var isOneWay: Bool { reads.indices.dropFirst(start).dropFirst().allSatisfy { reads[$0].origin == $0 - 1 } }

    /// Whether a value of the last read's type is the one that it gave, and not one that the application made of it.
    func isWhatWasRead(_ value: Any) -> Bool {
        guard let read = reads.last else { return false }
        let shape = read.property.shape
        // The application makes none of these out of others in a key path.
        guard shape.collection == .none, !shape.isLinkingObjects, !shape.isMapped else { return true }
        if shape.target != nil {
            return objects.contains { $0.origin == reads.count - 1 && $0.object === unwrapped(value) as AnyObject? }
        }
        let expected = read.property.wrapper.any(read.object.address + read.property.offset, of: read.object)
        guard let value = unwrapped(value) else { return expected == nil }
        func any<P: _Persistable>(_ value: P) -> Any? { P._any(value) }
        let found = (value as? any _Persistable).flatMap { any($0) } as? AnyHashable
        return found == expected as? AnyHashable
    }

    private func object(_ type: ObjectBase.Type, origin: Int?, depth: Int) -> ObjectBase {
        let object = type.init()
        let info = object.classInfo
        for property in info.properties {
            let wrapper = object.address + property.offset
            wrapper.storeBytes(of: Int32(property.position), as: Int32.self)
            let shape = property.shape
            guard shape.collection == .none, let probe = probe(shape), property.wrapper.takes(probe) else { continue }
            do { try property.wrapper.set(wrapper, probe, of: object) } catch {
                fatalError(
                    "Firn: \(info.name).\(property.name) does not take \(probe), which it took before: \(error).")
            }
        }
        for (number, property) in info.ignored.enumerated() {
            (object.address + property.offset).storeBytes(of: Int32(-1 - number), as: Int32.self)
        }
        object._row.core = core
        objects.append((object, origin, depth))
        return object
    }

    /// A value for properties of a type in this run; nil if they keep their initial value.
    private func probe(_ shape: _PropertyType) -> Any? {
        let isFirst = run == 0
        if shape.callsApplication {
            // The code of other types may stop the program for a value that it does not expect.
            guard let type = wrappedType(shape.swiftType) as? any PersistableEnum.Type else { return nil }
            return isFirst ? firstCase(type) : lastCase(type)
        }
        switch shape.type {
        case .bool: return isFirst
        case .int: return isFirst ? 37 : -101
        case .float: return isFirst ? Float(1.5) : -2.25
        case .double: return isFirst ? 1.5 : -2.25
        case .string: return isFirst ? " firn é" : "Schnee B"
        case .data: return Data(isFirst ? [1, 2, 3] : [200])
        case .date: return Date(timeIntervalSinceReferenceDate: isFirst ? 1_000_000.25 : -86_400.5)
        case .objectID: return ObjectId(ObjectIDBytes(isFirst ? 1 : 2, 3, 4))
        case .uuid: return UUID(uuid: (isFirst ? 1 : 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        case .decimal: return Decimal128(DecimalBits(integer: isFirst ? 25 : -3))
        case .mixed: return AnyRealmValue.int(isFirst ? 37 : -101)
        case .link: return nil
        }
    }
}

private func firstCase<E: PersistableEnum>(_: E.Type) -> Any? { E.allCases.first }
private func lastCase<E: PersistableEnum>(_: E.Type) -> Any? { Array(E.allCases).last }

/// The type that an optional type wraps, or the type itself if it is not optional. A path through a link is optional.
func wrappedType(_ type: Any.Type) -> Any.Type {
    func wrapped<Optional: _OptionalProtocol>(_: Optional.Type) -> Any.Type { Optional.Wrapped.self }
    guard let optional = type as? any _OptionalProtocol.Type else { return type }
    return wrapped(optional)
}
