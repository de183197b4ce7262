import FirnCore
import FirnQuery
import FirnStorage

/// The stored property to which a Swift key path leads.
///
/// The key path must return that property's own value. A key path whose value Swift computes from it, such as
/// `\Dog.name.count`, is refused, because the query would use the name.
///
/// Finding the property takes microseconds, so it is done once for each key path (`of`).
final class TracedKeyPath: Sendable {
    /// The links, outermost first, followed by the property. Never empty.
    let properties: [PropertyInfo]
    /// The key path in the form that text queries and observers use, such as `dog.name`.
    let name: String
    /// The key path in the form that queries, sorts and aggregates use.
    let path: PropertyPath

    private init(_ properties: [PropertyInfo]) {
        self.properties = properties
        name = properties.dotted
        path = PropertyPath(properties.map(\.name))
    }

    /// The property to which `keyPath` leads. Stops the program if it leads to none.
    static func of<Root: _QueriedObject>(_ keyPath: PartialKeyPath<Root>) -> TracedKeyPath {
        do { return try trying(keyPath) } catch { stopProgram("\(error.text)") }
    }

    /// The property to which `keyPath` leads.
    ///
    /// - Throws: why it leads to no stored property.
    static func trying<Root: _QueriedObject>(_ keyPath: PartialKeyPath<Root>) throws(Fault) -> TracedKeyPath {
        if let known = cache.value(keyPath) { return known }
        let traced = TracedKeyPath(try properties(keyPath))
        cache.keep(traced, keyPath)
        return traced
    }

    /// The property to which `keyPath` leads, or the only one that it reads to compute its value. Stops the program if
    /// it reads none, or several.
    static func computing<Root: _QueriedObject>(
        _ keyPath: PartialKeyPath<Root>
    ) -> (traced: TracedKeyPath, isStored: Bool) {
        if let traced = try? trying(keyPath) { return (traced, true) }
        let ways = ObservableKeyPath.of(keyPath).ways
        guard ways.count == 1 else { return (of(keyPath), true) }  // This stops the program.
        return (TracedKeyPath(ways[0]), false)
    }

    private static var cache: KeyPathCache<TracedKeyPath> { KeyPathCache(.keyPaths) }

    /// Traces the key path with each of the tracer's values, because the value that it computes may depend on them.
    private static func properties<Root: _QueriedObject>(
        _ keyPath: PartialKeyPath<Root>
    ) throws(Fault) -> [PropertyInfo] {
        var found: [PropertyInfo] = []
        for run in 0..<_KeyPathTracer.runs {
            let (tracer, value) = _KeyPathTracer.trace(keyPath, .naming, run: run)
            let ways = tracer.ways(to: value)
            guard let way = ways.first else {
                throw Fault("\(keyPath) reads no @Persisted property of \(Root.self); give the key path of one.")
            }
            let isProjected = value is any ProjectsElements
            if !isProjected, let last = way.last, ways.count == 1 {
                let type = Swift.type(of: keyPath).valueType
                guard ObjectIdentifier(wrappedType(type)) == ObjectIdentifier(wrappedType(last.shape.swiftType)) else {
                    throw Fault(
                        "\(keyPath) gives a value of the type \(type), but \(last.name) is of the type \(last.shape.swiftType); give the key path of the property itself."
                    )
                }
            }
            guard ways.count == 1, tracer.cut.isEmpty, isProjected || tracer.isWhatWasRead(value),
                found.isEmpty || found.elementsEqual(way, by: ===)
            else {
                throw Fault(
                    "\(keyPath) gives what the application computes, for which it reads \(ways.map(\.dotted).joined(separator: ", ")); give the key path of a stored property itself."
                )
            }
            found = way
        }
        return found
    }
}

/// The stored properties that an observer of a key path watches: all those read by the key path, whatever it computes.
///
/// They are found by reading the key path from objects with their initial values. It is then read again with the other
/// value of each `Bool` and another case of each enum. No link is nil, and each list and set of objects has one
/// element. So properties that the key path reads only for other values are not found. Nor are properties behind
/// backlinks, in maps, or more than four links deep.
///
/// A key path may go deeper, such as a property that follows a link to its own class until the link is nil. Such a key
/// path must handle nil, so it is also read from objects where that link is nil earlier.
final class ObservableKeyPath: Sendable {
    /// The ways to the properties, each outermost first. Empty if nothing stored is read.
    let ways: [[PropertyInfo]]
    /// The numbers of the projected properties that are read, if the root is a projection: see `ProjectionInfo`.
    let projected: [Int]

    private init(_ ways: [[PropertyInfo]], _ projected: [Int]) {
        self.ways = ways
        self.projected = projected
    }

    /// Finds the properties that an observer of `keyPath` watches.
    static func of<Root: _QueriedObject>(_ keyPath: PartialKeyPath<Root>) -> ObservableKeyPath {
        if let known = cache.value(keyPath) { return known }
        var names: Set<String> = []
        var ways: [[PropertyInfo]] = []
        var projected: Set<Int> = []
        func note(run: Int, _ ended: (links: Set<ObjectIdentifier>, depth: Int)) -> Set<ObjectIdentifier> {
            let (tracer, value) = _KeyPathTracer.trace(keyPath, .observing, run: run, ended: ended)
            ways += tracer.ways(to: value).filter { names.insert($0.dotted).inserted }
            projected.formUnion(tracer.projected)
            return tracer.cut
        }
        for run in 0..<_KeyPathTracer.runs {
            let cut = note(run: run, ([], 0))
            if !cut.isEmpty { for depth in 0..<AffectedObjects.depth { _ = note(run: run, (cut, depth)) } }
        }
        let traced = ObservableKeyPath(ways, projected.sorted())
        cache.keep(traced, keyPath)
        return traced
    }

    private static var cache: KeyPathCache<ObservableKeyPath> { KeyPathCache(.observableKeyPaths) }
}

extension [PropertyInfo] {
    /// The names in the form that texts use, such as `dog.name`.
    var dotted: String { PropertyPath.keyPath(map(\.name)) }
}

/// The key paths that have been traced. May be used on any thread.
///
/// Key paths are identified by their addresses. Hashing or comparing a key path with arguments, such as those of a
/// subscript, would run the application's code. That code may query and so enter this cache again. A key path without
/// arguments is made once for each expression in the program. A key path with arguments is made each time, so the
/// number of entries has a limit.
private struct KeyPathCache<Traced: Sendable> {
    let entries: GlobalGuarded<[KeyPathIdentity: Entry]>
    static var limit: Int { 1000 }

    struct Entry {
        /// Kept alive, so that no other key path gets its address.
        let keyPath: AnyKeyPath
        let traced: Traced
    }

    init(_ lock: GlobalLock) { entries = GlobalGuarded(lock) { [:] } }

    func value<Root>(_ keyPath: PartialKeyPath<Root>) -> Traced? {
        entries.withLock { $0[KeyPathIdentity(keyPath)]?.traced }
    }

    func keep<Root>(_ traced: Traced, _ keyPath: PartialKeyPath<Root>) {
        let key = KeyPathIdentity(keyPath)
        // The dropped key paths may hold the application's arguments, so they are released outside of the lock.
        let old = entries.withLock { entries -> [KeyPathIdentity: Entry] in
            var old: [KeyPathIdentity: Entry] = [:]
            if entries.count >= Self.limit { swap(&old, &entries) }
            if entries[key] == nil { entries[key] = Entry(keyPath: keyPath, traced: traced) }
            return old
        }
        withExtendedLifetime(old) {}
    }
}

private struct KeyPathIdentity: Hashable {
    let root: ObjectIdentifier
    let keyPath: ObjectIdentifier

    init<Root>(_ keyPath: PartialKeyPath<Root>) {
        root = ObjectIdentifier(Root.self)
        self.keyPath = ObjectIdentifier(keyPath)
    }
}
