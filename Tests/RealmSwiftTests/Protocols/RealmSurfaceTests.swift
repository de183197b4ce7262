import RealmSwift
import Testing

// RealmSwift's signatures of a realm that `RequirementTests` does not have, and of what realms hand to other threads.

private protocol RealmSurface: Equatable {
    func create<T: Object>(_ type: T.Type, value: Any, update: Realm.UpdatePolicy) -> T
    func delete(_ object: ObjectBase)
    func delete<Element: ObjectBase>(_ objects: Results<Element>)
    func delete<S: Sequence>(_ objects: S) where S.Iterator.Element: ObjectBase
    func delete<Element: ObjectBase>(_ objects: List<Element>)
    func delete<Element: ObjectBase>(_ objects: MutableSet<Element>)
    func delete<Element: ObjectBase>(_ map: Map<String, Element?>)
    func freeze() -> Realm
    func thaw() -> Realm
    func freeze<T: ObjectBase>(_ obj: T) -> T
    func thaw<T: ObjectBase>(_ obj: T) -> T?
    func freeze<Collection: RealmCollection>(_ collection: Collection) -> Collection
    func objects<Element: RealmFetchable>(_ type: Element.Type) -> Results<Element>
    func object<Element: Object, KeyType>(ofType type: Element.Type, forPrimaryKey key: KeyType) -> Element?
    static func == (lhs: Self, rhs: Self) -> Bool
    func resolve<Confined>(_ reference: ThreadSafeReference<Confined>) -> Confined?
    var configuration: Realm.Configuration { get }
    init(configuration: Realm.Configuration, queue: DispatchQueue?) throws
    init(fileURL: URL) throws
    static func asyncOpen(
        configuration: Realm.Configuration, callbackQueue: DispatchQueue,
        callback: @escaping @Sendable (Result<Realm, Error>) -> Void
    ) -> Realm.AsyncOpenTask
}
extension Realm: RealmSurface {}

private protocol OpenTaskSurface: Sendable {
    func cancel()
}
extension Realm.AsyncOpenTask: OpenTaskSurface {}

private protocol ThreadSafeSurface: AnyObject, Sendable {
    associatedtype T: ThreadConfined
    init(wrappedValue: T?)
    var wrappedValue: T? { get set }
}
extension ThreadSafe: ThreadSafeSurface {}

private protocol ReferenceSurface: Sendable {
    associatedtype Confined: ThreadConfined
    init(to threadConfined: Confined)
    var isInvalidated: Bool { get }
}
extension ThreadSafeReference: ReferenceSurface {}

private protocol LoggerSurface: AnyObject {
    init(level: LogLevel, logFunction: @escaping @Sendable (LogLevel, String) -> Void)
    var level: LogLevel { get set }
    static var shared: Logger { get set }
}
extension Logger: LoggerSurface {}

/// A type of the application that is handed over.
private func confined<T: ThreadConfined>(_ value: T) -> ThreadSafeReference<T> { ThreadSafeReference(to: value) }

@Suite(.timeLimit(.minutes(20))) struct RealmSurfaceTests {
    private let realm: Realm
    private let high: Peak
    private let low: Peak

    init() throws {
        realm = try peaks()
        (high, low) = highAndLow(realm)
    }

    @Test func objectsAreCreatedFoundAndDeletedThroughTheRequirements() throws {
        func created<R: RealmSurface>(_ realm: R) -> [Peak] {
            (3...9).map { realm.create(Peak.self, value: ["id": $0], update: .error) }
        }
        func delete<R: RealmSurface>(_ realm: R, _ new: [Peak]) {
            let base: ObjectBase = new[0]
            realm.delete(base)
            new[1].rivals.insert(new[2])
            realm.delete(new[1].rivals)
            new[1].neighbours.append(new[3])
            realm.delete(new[1].neighbours)
            new[1].routes["a"] = new[4]
            realm.delete(new[1].routes)
            realm.delete([new[5]])
            realm.delete(realm.objects(Peak.self).filter("id == 9"))
        }
        try realm.write { delete(realm, created(realm)) }
        #expect(realm.objects(Peak.self).map(\.id).sorted() == [1, 2, 4])
        func key<R: RealmSurface>(_ realm: R) -> Peak? { realm.object(ofType: Peak.self, forPrimaryKey: 4) }
        #expect(key(realm)?.id == 4)
    }

    @Test func realmsAreFrozenThroughTheRequirements() {
        func facts<R: RealmSurface>(_ realm: R) -> [Bool] {
            let frozen: Realm = realm.freeze()
            let (object, all) = (realm.freeze(high), realm.freeze(high.neighbours))
            return [
                frozen.isFrozen, frozen.thaw() == self.realm, object.isFrozen, all.isFrozen,
                realm.thaw(object) != nil, realm == realm, realm.configuration == self.realm.configuration,
            ]
        }
        #expect(facts(realm) == Array(repeating: true, count: 7))
    }

    @Test func valuesAreHandedToAnotherThreadThroughTheRequirements() throws {
        func reference<R: ReferenceSurface>(_: R.Type) -> R where R.Confined == Peak { R(to: high) }
        let handed = reference(ThreadSafeReference<Peak>.self)
        let list = confined(high.neighbours)
        let wrapper = wrapped(ThreadSafe<Peak>.self, high)
        let configuration = realm.configuration
        let queue = DispatchQueue(label: "elsewhere")
        try queue.sync {
            func resolved<R: RealmSurface>(_ realm: R) -> [Int?] {
                [realm.resolve(handed)?.id, realm.resolve(list)?.count]
            }
            let realm = try Realm(configuration: configuration, queue: queue)
            #expect(resolved(realm) == [1, 1] && handed.isInvalidated && wrapper.wrappedValue?.id == 1)
        }
    }

    private func wrapped<T: ThreadSafeSurface>(_: T.Type, _ value: T.T) -> T {
        let wrapper = T(wrappedValue: nil)
        wrapper.wrappedValue = value
        return wrapper
    }

    @Test func anOpeningIsCancelledThroughItsRequirement() throws {
        func cancel<T: OpenTaskSurface>(_ task: T) { task.cancel() }
        let queue = DispatchQueue(label: "opening")
        func task<R: RealmSurface>(_: R.Type) -> Realm.AsyncOpenTask {
            R.asyncOpen(configuration: realm.configuration, callbackQueue: queue) { _ in }
        }
        let task = task(Realm.self)
        cancel(task)
        queue.sync {}
        #expect(realm.objects(Peak.self).count == 2)
    }

    @Test func aLoggerIsMadeThroughItsRequirements() {
        func level<L: LoggerSurface>(_ logger: L) -> LogLevel {
            logger.level = .debug
            return logger.level
        }
        #expect(level(Logger(level: .off) { _, _ in }) == .debug)
    }
}
