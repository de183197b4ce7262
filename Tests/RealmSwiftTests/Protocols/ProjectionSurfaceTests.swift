import RealmSwift
import Testing

// RealmSwift's signatures of projections, as requirements. The compiler checks that they are satisfied.

private protocol ProjectionSurface: AnyObject, Hashable, CustomStringConvertible, ThreadConfined {
    associatedtype Root: ObjectBase
    var rootObject: Root { get }
    init(projecting object: Root)
    var realm: Realm? { get }
    var isInvalidated: Bool { get }
    var isFrozen: Bool { get }
    func freeze() -> Self
    func thaw() -> Self?
    var description: String { get }
    static func className() -> String
    func hash(into hasher: inout Hasher)
    static func == (lhs: Self, rhs: Self) -> Bool
}
extension Projection: ProjectionSurface {}

/// What a projection of an application's class has.
private protocol CardSurface: ProjectionObservable {
    var rootObject: Peak { get }
    init(projecting object: Peak)
    func observe(
        keyPaths: [PartialKeyPath<PeakCard>], on queue: DispatchQueue?,
        _ block: @escaping (ObjectChange<PeakCard>) -> Void
    ) -> NotificationToken
    func observe(on queue: DispatchQueue?, _ block: @escaping (ObjectChange<PeakCard>) -> Void) -> NotificationToken
    func observe(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (ObjectChange<PeakCard>) -> Void
    ) -> NotificationToken
}
extension PeakCard: CardSurface {}

private protocol ProjectedSurface {
    associatedtype T: ObjectBase
    associatedtype Value
    init(_ projectedKeyPath: KeyPath<T, Value>)
}
extension Projected: ProjectedSurface {}

private protocol ProjectedCollectionSurface: RandomAccessCollection, Equatable, CustomStringConvertible, ThreadConfined
where Element: RealmCollectionValue, Index == Int {
    var realm: Realm? { get }
    var isInvalidated: Bool { get }
    var isFrozen: Bool { get }
    var count: Int { get }
    var description: String { get }
    func freeze() -> Self
    func thaw() -> Self?
    static func == (lhs: Self, rhs: Self) -> Bool
    var startIndex: Int { get }
    var endIndex: Int { get }
    func index(of object: Element) -> Int?
    subscript(position: Int) -> Element { get nonmutating set }
    func observe(on queue: DispatchQueue?, _ block: @escaping (RealmCollectionChange<Self>) -> Void)
        -> NotificationToken
    func observe(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken
}
extension ProjectedCollection: ProjectedCollectionSurface {}

private protocol ProjectedChangeSurface {
    var name: String { get }
    var oldValue: Any? { get }
    var newValue: Any? { get }
}
extension ProjectedPropertyChange: ProjectedChangeSurface {}

/// RealmSwift's protocol of projections, as a constraint.
private func root<P: ProjectionObservable>(_ projection: P) -> (P.Root, P) {
    (projection.rootObject, P(projecting: projection.rootObject))
}

@Suite(.timeLimit(.minutes(20))) struct ProjectionSurfaceTests {
    private let realm: Realm
    private let high: Peak
    private let card: PeakCard

    init() throws {
        realm = try peaks()
        high = highAndLow(realm).0
        card = PeakCard(projecting: high)
    }

    @Test func aProjectionAnswersThroughItsRequirements() {
        func facts<P: ProjectionSurface>(_ card: P) -> [String] {
            var hasher = Hasher()
            card.hash(into: &hasher)
            return [
                P.className(), "\(card.realm == realm)", "\(card.isInvalidated)", "\(card.isFrozen)",
                "\(card.freeze().isFrozen)", "\(card.freeze().thaw() == card)", "\(card.description.isEmpty)",
                "\(card == card)", "\(hasher.finalize() == card.hashValue)",
            ]
        }
        #expect(facts(card) == ["PeakCard", "true", "false", "false", "true", "true", "false", "true", "true"])
        func made<P: ProjectionSurface>(_ type: P.Type, _ root: P.Root) -> P { P(projecting: root) }
        #expect(made(PeakCard.self, high).rootObject === high && made(PeakCard.self, high).name == "Eiger")
        let (object, again) = root(card)
        #expect(object.id == 1 && again == card)
    }

    @Test func aProjectionIsObservedThroughItsRequirements() {
        let queue = DispatchQueue(label: "cards")
        func observe<P: CardSurface>(_ card: P) -> [NotificationToken] {
            let made = P(projecting: card.rootObject)
            return [
                card.observe(keyPaths: [\PeakCard.name], on: queue) { (_: ObjectChange<PeakCard>) in },
                made.observe(on: queue) { (_: ObjectChange<PeakCard>) in },
                made.observe(keyPaths: ["name"], on: queue) { (_: ObjectChange<PeakCard>) in },
            ]
        }
        for token in observe(card) { #expect(token.invalidate()) }
    }

    @Test func aProjectedPropertyIsDeclaredByAKeyPath() throws {
        func wrapper<P: ProjectedSurface>(_: P.Type) -> P where P.T == Peak, P.Value == String { P(\Peak.name) }
        #expect("\(wrapper(Projected<Peak, String>.self))".isEmpty == false)
        // The wrapper's subscript reads and writes it.
        try realm.write { card.name = "Mönch" }
        #expect(high.name == "Mönch" && card.name == "Mönch")
    }

    @Test func aProjectedCollectionAnswersThroughItsRequirements() throws {
        func facts<C: ProjectedCollectionSurface>(_ names: C, _ name: C.Element) -> [String] {
            [
                "\(names.count)", "\(names.startIndex)", "\(names.endIndex)", "\(names.index(of: name) ?? -1)",
                "\(names[0])", "\(names.realm == realm)", "\(names.isInvalidated)", "\(names.isFrozen)",
                "\(names.freeze().isFrozen)", "\(names.freeze().thaw() != nil)", "\(names == names)",
                "\(names.description.isEmpty)",
            ]
        }
        let index: ProjectedCollection<String>.Index = card.neighbours.startIndex
        #expect(
            facts(card.neighbours, "Niesen") == [
                "1", "\(index)", "1", "0", "Niesen", "true", "false", "false", "true", "true", "true", "false",
            ])
        #expect(card.neighbours.index(matching: RealmPredicate(format: "name == 'Niesen'")) == 0)
        func rename<C: ProjectedCollectionSurface>(_ names: C, _ name: C.Element) { names[0] = name }
        try realm.write { rename(card.neighbours, "Jungfrau") }
        #expect(high.neighbours[0].name == "Jungfrau")
        let queue = DispatchQueue(label: "names")
        func observe<C: ProjectedCollectionSurface>(_ names: C) -> [NotificationToken] {
            [
                names.observe(on: queue) { (_: RealmCollectionChange<C>) in },
                names.observe(keyPaths: nil, on: queue) { (_: RealmCollectionChange<C>) in },
            ]
        }
        for token in observe(card.neighbours) + observe(card.rivals) { #expect(token.invalidate()) }
    }

    @MainActor @Test func aChangedProjectedPropertyHasItsNameAndValues() throws {
        let realm = try peaks()
        let card = PeakCard(projecting: highAndLow(realm).0)
        var changes: [ProjectedPropertyChange] = []
        let token = card.observe(on: nil as DispatchQueue?) { change in
            if case .change(_, let properties) = change { changes += properties }
        }
        try realm.write { card.name = "Mönch" }
        realm.refresh()
        RunLoop.main.run(until: Date())
        token.invalidate()
        func facts<C: ProjectedChangeSurface>(_ change: C) -> [String?] {
            [change.name, change.oldValue as? String, change.newValue as? String]
        }
        #expect(changes.map(facts) == [["name", nil, "Mönch"]])
    }

    #if Combine
        @Test func aProjectionPublishesItsChanges() {
            func willChange<P: ObservableObject>(_ projection: P) -> P.ObjectWillChangePublisher {
                projection.objectWillChange
            }
            _ = willChange(card)
            // Realm has a publisher of this name that opens, beside the function with a callback.
            _ = Realm.asyncOpen(configuration: realm.configuration)
            #expect(card.rootObject === high)
        }
    #endif
}
