import CFirn
import FirnCore
import FirnQuery
import FirnStorage
import Foundation

/// Finds out which properties a key path reads, by reading it from an object that records every access.
///
/// The object looks unmanaged but has a core, whose owner is the tracer. Each wrapper of the object holds its
/// property's position, or a negative number if the property is ignored. A link returns another such object. So
/// `\Person.dog?.name` is traced as a read of `dog`, and a read of `name` from the object that `dog` returned.
///
/// Values that the application computes may depend on the stored values. So a key path is traced twice: with the
/// initial values, and with others (`probe`).
public final class _KeyPathTracer {
    /// The purpose for which a key path is traced.
    enum Purpose {
        /// The key path must name one property and return its value. Lists are empty.
        case naming
        /// The key path may read anything. Lists and sets of objects have one element, so that reads of its properties
        /// are found.
        case observing
    }

    /// One read of a property.
    struct Read {
        let object: ObjectBase
        let property: PropertyInfo
        /// The read that returned the object; nil for the first object.
        let origin: Int?
    }

    /// The number of runs. Each has other values.
    static let runs = 2

    private let core: UnsafeMutablePointer<firn_realm_core_t>
    private let purpose: Purpose
    private let run: Int
    /// Links that are nil from a certain depth on, so that properties are found which are read only if a link is nil.
    private let ended: (links: Set<ObjectIdentifier>, depth: Int)
    private var objects: [(object: ObjectBase, origin: Int?, depth: Int)] = []
    private(set) var reads: [Read] = []
    /// The index of the first read that belongs to the key path.
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
            stopProgram("an object without a realm was traced.")
        }
        return Unmanaged<_KeyPathTracer>.fromOpaque(owner).takeUnretainedValue()
    }

    // MARK: What the objects call

    /// The object that the last read returns. It records reads of its own properties in this tracer. Nil if the link
    /// ends here.
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

    /// The collection that the last read returns: a list or set with one object. Nil if the property's own collection
    /// must be read.
    func collection<C: _PersistableCollection>(_: C.Type) -> C? {
        guard purpose == .observing else { return nil }
        let shape = C._propertyType
        guard shape.collection != .map, !shape.isMapped else { return nil }
        // A collection of values needs no tracing element: reading a value counts as reading the collection.
        guard let element = shape.target.flatMap({ linked($0) }) else { return nil }
        do { return try C._fromAny([element]) } catch {
            stopProgram("\(C.self) does not take \(element), which is of its element type: \(error).")
        }
    }

    /// Records the read of a property by the number that `object(_:origin:depth:)` wrote into its wrapper. For an
    /// ignored property, returns false, or stops the program if the key path must name a property.
    func record(_ object: ObjectBase, bound: Int32) -> Bool {
        let info = object.classInfo
        guard bound >= 0 else {
            if purpose == .observing { return false }
            stopProgram(
                "\(info.name).\(info.ignored[Int(-1 - bound)].name) can't be queried, sorted by or observed: \(info.name).ignoredProperties() names it, so it is not stored."
            )
        }
        let origin = objects.first { $0.object === object }?.origin
        reads.append(Read(object: object, property: info.properties[Int(bound)], origin: origin))
        return true
    }

    /// Records the read of a projected property by its number.
    func record(projected number: Int) { projected.append(number) }

    // MARK: Tracing

    /// Reads a key path from an object that records in a new tracer, or from a projection of such an object.
    ///
    /// - Parameter ended: links that are nil behind at least `depth` other links.
    static func trace<Root: _QueriedObject>(
        _ keyPath: PartialKeyPath<Root>, _ purpose: Purpose, run: Int,
        ended: (links: Set<ObjectIdentifier>, depth: Int) = ([], 0)
    ) -> (tracer: _KeyPathTracer, value: Any) {
        let tracer = _KeyPathTracer(purpose, run: run, ended: ended)
        // A property's accessor reads from any object that it is given, so it reads from the tracing object.
        let root = Root._ofAccessor(tracer.object(Root._rootType, origin: nil, depth: 0))
        // Reads by a projection's own initialiser do not belong to the key path.
        tracer.start = tracer.reads.count
        tracer.projected = []
        return (tracer, root[keyPath: keyPath])
    }

    /// The ways to the properties from whose values nothing else was read. Each way begins with the outermost property.
    /// `value` is the key path's value, to which the last read leads.
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

    /// Whether `value` is the value that the last read returned. If not, the application computed another value of the
    /// same type from it.
    func isWhatWasRead(_ value: Any) -> Bool {
        guard let read = reads.last else { return false }
        let shape = read.property.shape
        // An application does not compute values of these kinds in a key path.
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
            guard shape.collection == .none, !shape.isLinkingObjects, !shape.isBoxed,
                let probe = probe(property, property.wrapper.any(wrapper, of: object)), property.wrapper.takes(probe)
            else { continue }
            do { try property.wrapper.set(wrapper, probe, of: object) } catch {
                stopProgram(
                    "\(info.name).\(property.name) does not take \(probe), which it took before: \(error).")
            }
        }
        for (number, property) in info.ignored.enumerated() {
            (object.address + property.offset).storeBytes(of: Int32(-1 - number), as: Int32.self)
        }
        object._row.core = core
        objects.append((object, origin, depth))
        return object
    }

    /// A value for a property of an object in this run; nil if the property keeps its initial value.
    ///
    /// In the first run all properties keep theirs, because the application's code may stop the program for a value
    /// that it does not expect. In the second run, an observed key path is read with other values of Bool and enum
    /// properties. The application expects each of their few values. A key path that must name a property is read with
    /// values that no property has at first. This shows whether it returned the property's own value in the first run
    /// only by chance.
    private func probe(_ property: PropertyInfo, _ initial: Any?) -> Any? {
        guard run > 0 else { return nil }
        let shape = property.shape
        if shape.callsApplication {
            guard let type = wrappedType(shape.swiftType) as? any PersistableEnum.Type else { return nil }
            return otherCase(type, initial)
        }
        if shape.type == .bool { return !(initial as? Bool ?? false) }
        guard purpose == .naming else { return nil }
        return switch shape.type {
        case .bool, .link: nil
        case .int: 37
        case .float: Float(1.5)
        case .double: 1.5
        case .string: " firn é"
        case .data: Data([1, 2, 3])
        case .date: Date(timeIntervalSinceReferenceDate: 1_000_000.25)
        case .objectID: ObjectId(ObjectIDBytes(a: 1, b: 2, c: 3))
        case .uuid: UUID(uuid: (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        case .decimal: Decimal128(DecimalBits(integer: 25))
        case .mixed: AnyRealmValue.int(37)
        }
    }
}

/// A case other than the initial one.
private func otherCase<E: PersistableEnum>(_: E.Type, _ initial: Any?) -> Any? {
    E.allCases.first { !(E._any($0) as? AnyHashable == initial as? AnyHashable) }
}

/// The type that an optional type wraps, or the type itself if it is not optional. A Swift key path through a link to
/// one object has an optional type, even if the property at its end has not.
func wrappedType(_ type: Any.Type) -> Any.Type {
    func wrapped<Optional: _OptionalProtocol>(_: Optional.Type) -> Any.Type { Optional.Wrapped.self }
    guard let optional = type as? any _OptionalProtocol.Type else { return type }
    return wrapped(optional)
}
