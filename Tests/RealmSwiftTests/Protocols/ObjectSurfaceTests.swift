import RealmSwift
import Testing

// RealmSwift's signatures of objects, as requirements. The compiler checks that they are satisfied.

/// What belongs to a realm, of all kinds.
private protocol ConfinedSurface: ThreadConfined {
    var realm: Realm? { get }
    var isInvalidated: Bool { get }
    var isFrozen: Bool { get }
    func freeze() -> Self
    func thaw() -> Self?
}
extension Object: ConfinedSurface {}
extension EmbeddedObject: ConfinedSurface {}
extension Projection: ConfinedSurface {}
extension Results: ConfinedSurface {}
extension List: ConfinedSurface {}
extension LinkingObjects: ConfinedSurface {}
extension MutableSet: ConfinedSurface {}
extension AnyRealmCollection: ConfinedSurface {}
extension Map: ConfinedSurface {}
extension SectionedResults: ConfinedSurface {}
extension ResultsSection: ConfinedSurface {}
extension ProjectedCollection: ConfinedSurface {}

private protocol ObjectBaseSurface: AnyObject, Hashable, CustomStringConvertible {
    init()
    var realm: Realm? { get }
    var objectSchema: ObjectSchema { get }
    var isInvalidated: Bool { get }
    var isFrozen: Bool { get }
    var description: String { get }
    static func ignoredProperties() -> [String]
    static func propertiesMapping() -> [String: String]
    static func className() -> String
    static func shouldIncludeInDefaultSchema() -> Bool
    static func primaryKey() -> String?
    static func indexedProperties() -> [String]
    func isEqual(_ object: Any?) -> Bool
    var hash: Int { get }
    func observe<T: ObjectBase>(on queue: DispatchQueue?, _ block: @escaping (ObjectChange<T>) -> Void)
        -> NotificationToken
    func observe<T: ObjectBase>(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (ObjectChange<T>) -> Void
    ) -> NotificationToken
    func observe<T: ObjectBase>(
        keyPaths: [PartialKeyPath<T>], on queue: DispatchQueue?, _ block: @escaping (ObjectChange<T>) -> Void
    ) -> NotificationToken
}
extension ObjectBase: ObjectBaseSurface {}

/// What objects and embedded ones have alike.
private protocol StoredObjectSurface: AnyObject, ThreadConfined {
    init()
    var realm: Realm? { get }
    var objectSchema: ObjectSchema { get }
    var isInvalidated: Bool { get }
    var isFrozen: Bool { get }
    var description: String { get }
    static func ignoredProperties() -> [String]
    static func propertiesMapping() -> [String: String]
    static func sharedSchema() -> ObjectSchema?
    static func className() -> String
    subscript(key: String) -> Any? { get set }
    func dynamicList(_ propertyName: String) -> List<DynamicObject>
    func freeze() -> Self
    func thaw() -> Self?
    func observe<T: ObjectBase>(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (ObjectChange<T>) -> Void
    ) -> NotificationToken
}

private protocol ObjectSurface: StoredObjectSurface {
    static func primaryKey() -> String?
    static func indexedProperties() -> [String]
    func dynamicMutableSet(_ propertyName: String) -> MutableSet<DynamicObject>
    func dynamicMap<Key: _MapKey>(_ propertyName: String) -> Map<Key, DynamicObject?>
    func value(forKey key: String) -> Any?
    func setValue(_ value: Any?, forKey key: String)
}
extension Object: ObjectSurface {}

private protocol EmbeddedSurface: StoredObjectSurface {
    func observe<T: ObjectBase>(on queue: DispatchQueue?, _ block: @escaping (ObjectChange<T>) -> Void)
        -> NotificationToken
    func observe<T: ObjectBase>(
        keyPaths: [PartialKeyPath<T>], on queue: DispatchQueue?, _ block: @escaping (ObjectChange<T>) -> Void
    ) -> NotificationToken
}
extension EmbeddedObject: EmbeddedSurface {}

private protocol DynamicSurface: AnyObject {
    subscript(key: String) -> Any? { get set }
    subscript(dynamicMember member: String) -> Any? { get set }
    static func sharedSchema() -> ObjectSchema?
    static func shouldIncludeInDefaultSchema() -> Bool
    func dynamicList(_ propertyName: String) -> List<DynamicObject>
}
extension DynamicObject: DynamicSurface {}

/// What a realm can be asked for.
private protocol FetchableSurface: RealmFetchable {
    static func className() -> String
}
extension Peak: FetchableSurface {}
extension DynamicObject: FetchableSurface {}
extension PeakCard: FetchableSurface {}

private protocol TokenSurface: AnyObject {
    func invalidate() -> Bool
}
extension NotificationToken: TokenSurface {}

private protocol ObjectChangeSurface {
    associatedtype T
    static func error(_ error: NSError) -> Self
    static func change(_ object: T, _ properties: [PropertyChange]) -> Self
    static var deleted: Self { get }
}
extension ObjectChange: ObjectChangeSurface {}
extension ObjectChangeSurface {
    fileprivate static func made(_ object: T, _ properties: [PropertyChange]) -> Self { .change(object, properties) }
    fileprivate static func made(_ error: NSError) -> Self { .error(error) }
    fileprivate static var made: Self { .deleted }
}

@Suite(.timeLimit(.minutes(20))) struct ObjectSurfaceTests {
    private let realm: Realm
    private let high: Peak
    private let low: Peak

    init() throws {
        realm = try peaks()
        (high, low) = highAndLow(realm)
    }

    @Test func whatBelongsToARealmIsFrozenThroughItsRequirements() {
        func facts<C: ConfinedSurface>(_ confined: C) -> [Bool] {
            [
                confined.realm == realm, confined.isInvalidated, confined.isFrozen, confined.freeze().isFrozen,
                confined.freeze().thaw()?.isFrozen == false,
            ]
        }
        let sections = realm.objects(Peak.self).sectioned(by: \.name)
        let all: [any ConfinedSurface] = [
            high, PeakCard(projecting: high), realm.objects(Peak.self), high.neighbours, high.seenFrom, high.rivals,
            AnyRealmCollection(high.neighbours), high.routes, sections, sections[0],
            PeakCard(projecting: high).neighbours,
        ]
        for confined in all { #expect(facts(confined) == [true, false, false, true, true]) }
    }

    @Test func anObjectAnswersThroughItsRequirements() throws {
        func facts<O: ObjectSurface>(_ object: O) -> [String] {
            [
                O.className(), O.primaryKey() ?? "none", "\(O.ignoredProperties())", "\(O.indexedProperties())",
                "\(O.propertiesMapping())", O.sharedSchema()?.className ?? "none", object.objectSchema.className,
                "\(object["name"] ?? "")", "\(object.value(forKey: "id") ?? "")", "\(object.realm == realm)",
                "\(object.isInvalidated)", "\(object.isFrozen)", "\(object.freeze().isFrozen)",
                "\(object.freeze().thaw() === object)", "\(object.description.isEmpty)",
                "\(object.dynamicList("neighbours").count)", "\(object.dynamicMutableSet("rivals").count)",
                "\((object.dynamicMap("routes") as Map<String, DynamicObject?>).count)",
            ]
        }
        #expect(
            facts(high) == [
                "Peak", "none", "[]", "[]", "[:]", "Peak", "Peak", "Eiger", "1", "true", "false", "false", "true",
                "false", "false", "1", "1", "1",
            ])
        func rename<O: ObjectSurface>(_ object: O) {
            object["name"] = "Mönch"
            object.setValue(3, forKey: "year")
        }
        try realm.write { rename(high) }
        #expect(high.name == "Mönch" && high.year == 3)
        func made<O: ObjectSurface>(_: O.Type) -> O { O() }
        #expect(made(Peak.self).realm == nil)
    }

    @Test func anObjectIsMadeOfAValueAndComparedWithAnOptional() {
        // No protocol can require an initialiser of a class that is not `required`, as RealmSwift's own is not.
        let peak = Peak(value: ["id": 4, "name": "Piz"] as Any)
        let spot = Spot(value: ["type": "Area"] as Any)
        #expect(peak.id == 4 && peak.name == "Piz" && spot.type == "Area")
        let (object, other): (Object?, Object?) = (high, nil)
        #expect(high.isSameObject(as: object) && !high.isSameObject(as: other) && !high.isSameObject(as: low))
    }

    @Test func anEmbeddedObjectAnswersThroughItsRequirements() throws {
        func facts<E: EmbeddedSurface>(_ spot: E) -> [String] {
            [
                E.className(), "\(E.ignoredProperties())", "\(E.propertiesMapping())",
                E.sharedSchema()?.className ?? "none", "\(spot.objectSchema.isEmbedded)", "\(spot["type"] ?? "")",
                "\(spot.realm == realm)", "\(spot.isInvalidated)", "\(spot.isFrozen)", "\(spot.freeze().isFrozen)",
                "\(spot.freeze().thaw() != nil)", "\(spot.description.isEmpty)", "\(spot.dynamicList("huts").count)",
            ]
        }
        try realm.write { high.spot = Spot() }
        let spot = try #require(high.spot)
        #expect(
            facts(spot) == [
                "Spot", "[]", "[:]", "Spot", "true", "Point", "true", "false", "false", "true", "true", "false", "0",
            ])
        #expect(spot.isSameObject(as: high.spot))
        func retype<E: EmbeddedSurface>(_ spot: E) { spot["type"] = "Area" }
        try realm.write { retype(spot) }
        #expect(spot.type == "Area")
    }

    @Test func aDynamicObjectAnswersThroughItsRequirements() throws {
        func facts<D: DynamicSurface>(_ object: D) -> [String] {
            [
                "\(object["name"] ?? "")", "\(object[dynamicMember: "id"] ?? "")", "\(D.sharedSchema() == nil)",
                "\(D.shouldIncludeInDefaultSchema())", "\(object.dynamicList("neighbours").count)",
            ]
        }
        let object: MigrationObject = try #require(realm.dynamicObject(ofType: "Peak", forPrimaryKey: 1))
        #expect(facts(object) == ["Eiger", "1", "true", "false", "1"])
        func rename<D: DynamicSurface>(_ object: D) {
            object["name"] = "Mönch"
            object[dynamicMember: "year"] = 3
        }
        try realm.write { rename(object) }
        #expect(high.name == "Mönch" && high.year == 3)
        func names<F: FetchableSurface>(_: F.Type) -> String { F.className() }
        #expect(names(Peak.self) == "Peak" && names(DynamicObject.self) == "DynamicObject")
    }

    @Test func objectsOfEachKindAreObservedThroughTheirBase() throws {
        let queue = DispatchQueue(label: "objects")
        func observe<O: ObjectBaseSurface, T: ObjectBase>(_ object: O, as _: T.Type) -> [NotificationToken] {
            [
                object.observe(on: queue) { (_: ObjectChange<T>) in },
                object.observe(keyPaths: nil, on: queue) { (_: ObjectChange<T>) in },
            ]
        }
        try realm.write { high.spot = Spot() }
        let typed = (high as any ObjectBaseSurface).observe(keyPaths: [\Peak.name], on: queue) { _ in }
        let tokens = observe(high, as: Peak.self) + observe(try #require(high.spot), as: Spot.self) + [typed]
        func end<T: TokenSurface>(_ token: T) -> [Bool] { [token.invalidate(), token.invalidate()] }
        for token in tokens { #expect(end(token) == [true, false]) }
    }

    @MainActor @Test func aChangeOfAnObjectHasRealmSwiftsCases() throws {
        let realm = try peaks()
        let peak = highAndLow(realm).0
        var changes: [PropertyChange] = []
        let token = peak.observe { (change: ObjectChange<Peak>) in
            if case .change(_, let properties) = change { changes += properties }
        }
        try realm.write { peak.year = 1858 }
        realm.refresh()
        token.invalidate()
        #expect(changes.map(\.name) == ["year"] && changes[0].newValue as? Int == 1858 && changes[0].oldValue == nil)
        let made: [ObjectChange<Peak>] = [.made(peak, changes), .made(NSError(domain: "peaks", code: 7)), .made]
        let texts = made.map { change in
            switch change {
            case .change(let object, let properties): "change \(object.id) \(properties.count)"
            case .error(let error): "error \(error.code)"
            case .deleted: "deleted"
            }
        }
        #expect(texts == ["change 1 1", "error 7", "deleted"])
    }
}
