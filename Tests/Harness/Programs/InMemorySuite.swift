import RealmSwift
import Foundation

class P12Dog: Object {
    @Persisted(primaryKey: true) var name: String
    @Persisted var age = 0
    @Persisted var toys: List<P12Toy>
    @Persisted(originProperty: "dog") var owners: LinkingObjects<P12Owner>
}
class P12Toy: Object {
    @Persisted var label = ""
}
class P12Owner: Object {
    @Persisted var name = ""
    @Persisted var dog: P12Dog?
    @Persisted var home: P12Home?
}
class P12Home: EmbeddedObject {
    @Persisted var city = ""
}

nonisolated(unsafe) private var failures = 0
nonisolated(unsafe) private var current = ""
private func XCTAssert(_ ok: @autoclosure () throws -> Bool, _ what: String = "", line: UInt = #line) {
    do { if !(try ok()) { failures += 1; print("12:\(line): FAILED in \(current): \(what)") } } catch {
        failures += 1; print("12:\(line): threw \(error)")
    }
}
private func XCTAssertTrue(_ ok: @autoclosure () throws -> Bool, line: UInt = #line) {
    XCTAssert(try ok(), "not true", line: line)
}
private func XCTAssertFalse(_ ok: @autoclosure () throws -> Bool, line: UInt = #line) {
    XCTAssert(try !ok(), "not false", line: line)
}
private func XCTAssertNil(_ v: @autoclosure () throws -> Any?, line: UInt = #line) {
    XCTAssert(try v() == nil, "not nil", line: line)
}
private func XCTAssertNotNil(_ v: @autoclosure () throws -> Any?, line: UInt = #line) {
    XCTAssert(try v() != nil, "nil", line: line)
}
private func XCTAssertEqual<T: Equatable>(
    _ a: @autoclosure () throws -> T, _ b: @autoclosure () throws -> T, line: UInt = #line
) {
    do { let x = try a(), y = try b(); XCTAssert(x == y, "\(x) is not \(y)", line: line) } catch {
        XCTAssert(false, "threw \(error)", line: line)
    }
}
private func XCTAssertThrowsError<T>(
    _ v: @autoclosure () throws -> T, line: UInt = #line, _ check: (Error) -> Void = { _ in }
) {
    do { _ = try v(); XCTAssert(false, "did not throw", line: line) } catch { check(error) }
}
private struct P12Error: Error {}

class P12TestCase {
    let name: String
    init(name: String) { self.name = name }
    func setUp() {
        Realm.Configuration.defaultConfiguration.inMemoryIdentifier = self.name
    }
    func tearDown() {}
}

final class P12Tests: P12TestCase {
    func testOneLiners() {
        try! Realm().write { try! Realm().add(P12Dog(value: ["name": "Rex", "age": 3])) }
        // nothing is kept; until the autorelease pool is drained the data is there
        XCTAssertEqual(try! Realm().objects(P12Dog.self).first?.age, 3)
        let realm = try! Realm()
        try! Realm().write { try! Realm().add(P12Dog(value: ["name": "Rex"]), update: .all) }
        XCTAssertEqual(try! Realm().objects(P12Dog.self).count, 1)
        XCTAssertEqual(realm.objects(P12Dog.self).first?.name, "Rex")
        XCTAssertEqual(realm.configuration.inMemoryIdentifier, name)
        XCTAssertTrue(realm == (try! Realm()))
    }
    func testKeptByAnObject() {
        let dog = P12Dog(value: ["name": "Kept"])
        try! Realm().write { try! Realm().add(dog) }
        XCTAssertEqual(try! Realm().objects(P12Dog.self).count, 1)
        XCTAssertEqual(dog.realm?.objects(P12Dog.self).count, 1)
    }
    func testIsolation() { XCTAssertTrue(try! Realm().isEmpty) }
    func testBeginCommitCancel() throws {
        let realm = try! Realm()
        XCTAssertFalse(realm.isInWriteTransaction)
        realm.beginWrite()
        XCTAssertTrue(realm.isInWriteTransaction)
        let dog = realm.create(P12Dog.self, value: ["name": "A"])
        try realm.commitWrite()
        XCTAssertFalse(realm.isInWriteTransaction)
        realm.beginWrite()
        dog.age = 9
        let gone = realm.create(P12Dog.self, value: ["name": "B"])
        realm.cancelWrite()
        XCTAssertEqual(dog.age, 0)
        XCTAssertTrue(gone.isInvalidated)
        XCTAssertThrowsError(
            try realm.write {
                dog.age = 5; throw P12Error()
            }
        ) { XCTAssertTrue($0 is P12Error) }
        XCTAssertEqual(dog.age, 0)
        try realm.write { realm.cancelWrite() }
        try realm.write {
            dog.age = 6; realm.cancelWrite(); realm.beginWrite(); dog.age = 7
        }
        XCTAssertEqual(dog.age, 7)
        let n = try realm.write { () -> Int in realm.objects(P12Dog.self).count }
        XCTAssertEqual(n, 1)
    }
    func testInvalidate() throws {
        let realm = try Realm()
        let dog = try realm.write { realm.create(P12Dog.self, value: ["name": "A"]) }
        let results = realm.objects(P12Dog.self), toys = dog.toys
        realm.invalidate()
        XCTAssertTrue(dog.isInvalidated)
        XCTAssertTrue(toys.isInvalidated)
        XCTAssertTrue(results.isInvalidated)
        realm.beginWrite(); realm.create(P12Dog.self, value: ["name": "B"]); realm.invalidate()
        XCTAssertFalse(realm.isInWriteTransaction)
        XCTAssertEqual(realm.objects(P12Dog.self).count, 1)
    }
    func testDeletion() throws {
        let realm = try Realm()
        let dog = P12Dog(value: ["name": "A", "toys": [["label": "ball"], ["label": "bone"]]] as [String: Any])
        let owner = P12Owner(value: ["name": "O", "dog": dog, "home": ["city": "Rome"]] as [String: Any])
        try realm.write { realm.add(owner) }
        let home = owner.home!, toys = dog.toys
        XCTAssertEqual(dog.owners.count, 1)
        try realm.write { owner.home = nil }
        XCTAssertTrue(home.isInvalidated)
        try realm.write { realm.delete(dog.toys) }
        XCTAssertEqual(toys.count, 0)
        XCTAssertEqual(realm.objects(P12Toy.self).count, 0)
        try realm.write {
            dog.toys.append(objectsIn: [P12Toy(), P12Toy()]); dog.toys.removeAll()
        }
        XCTAssertEqual(realm.objects(P12Toy.self).count, 2)
        try realm.write {
            realm.delete(realm.objects(P12Toy.self)); realm.delete([dog])
        }
        XCTAssertNil(owner.dog)
        XCTAssertTrue(toys.isInvalidated)
        XCTAssertEqual(dog.isInvalidated, true)
        XCTAssertTrue(dog.description.contains("[invalid object]"))
        XCTAssertNil(realm.object(ofType: P12Dog.self, forPrimaryKey: "A"))
        let set: Set<P12Owner> = [owner]
        XCTAssertTrue(set.contains(owner))
        try realm.write { realm.deleteAll() }
        XCTAssertTrue(realm.isEmpty)
    }
    func testFreezeThaw() throws {
        let realm = try Realm()
        let dog = try realm.write {
            realm.create(P12Dog.self, value: ["name": "A", "age": 1, "toys": [["label": "x"]]] as [String: Any])
        }
        let frozen = dog.freeze(), frozenList = dog.toys.freeze(), frozenResults = realm.objects(P12Dog.self).freeze(),
            frozenRealm = realm.freeze()
        try realm.write {
            dog.age = 2; dog.toys.removeAll(); realm.create(P12Dog.self, value: ["name": "B"])
        }
        XCTAssertEqual(frozen.age, 1)
        XCTAssertEqual(frozen.toys.count, 1)
        XCTAssertEqual(frozenList[0].label, "x")
        XCTAssertEqual(frozenResults.count, 1)
        XCTAssertEqual(frozenRealm.objects(P12Dog.self).count, 1)
        XCTAssertTrue(frozen.isFrozen && frozen.realm!.isFrozen && frozenResults[0].isFrozen && !dog.isFrozen)
        XCTAssertEqual(frozen.thaw()?.age, 2)
        XCTAssertEqual(frozenList.thaw()?.count, 0)
        XCTAssertEqual(frozenRealm.thaw().objects(P12Dog.self).count, 2)
        XCTAssertTrue(frozen.freeze() === frozen)
        XCTAssertTrue(dog.thaw() === dog)
        try realm.write { realm.delete(dog) }
        XCTAssertNil(frozen.thaw())
        XCTAssertFalse(frozen.isInvalidated)
        var read = 0
        let done = DispatchSemaphore(value: 0)
        nonisolated(unsafe) let f = frozen
        nonisolated(unsafe) let p = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        DispatchQueue.global().async {
            p.pointee = f.age; done.signal()
        }
        done.wait(); read = p.pointee; p.deallocate()
        XCTAssertEqual(read, 1)
    }
    func testSameObject() throws {
        let realm = try Realm()
        let a = try realm.write { realm.create(P12Dog.self, value: ["name": "A"]) }
        let o = try realm.write { realm.create(P12Owner.self, value: ["name": "O", "dog": a] as [String: Any]) }
        let again = realm.object(ofType: P12Dog.self, forPrimaryKey: "A")!
        XCTAssertTrue(a.isSameObject(as: again))
        XCTAssertTrue(o.dog!.isSameObject(as: a) && !a.isSameObject(as: P12Dog(value: ["name": "A"])))
        XCTAssertTrue(a == again && a.hashValue == again.hashValue && a !== again)
        XCTAssertTrue(
            o != realm.objects(P12Owner.self).first! && o.isSameObject(as: realm.objects(P12Owner.self).first!))
        XCTAssertEqual(realm.objects(P12Dog.self).index(of: a), 0)
        XCTAssertFalse(a.isSameObject(as: a.freeze()))
    }
    func testWriteCopy() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("p12-\(UUID().uuidString).realm")
        let copy = Realm.Configuration(fileURL: url)
        let realm = try Realm()
        try realm.write { realm.add((0..<10).map { P12Dog(value: ["name": "D\($0)", "age": $0] as [String: Any]) }) }
        try realm.writeCopy(toFile: url)
        XCTAssertTrue(Realm.fileExists(for: copy))
        try autoreleasepool {
            let other = try Realm(configuration: copy)
            XCTAssertEqual(other.objects(P12Dog.self).sum(of: \.age), 45)
            XCTAssertFalse(other == realm)
            // copy an object into another realm
            let toy = try realm.write { realm.create(P12Toy.self, value: ["label": "t"]) }
            try other.write {
                other.create(P12Toy.self, value: toy);
                other.create(P12Dog.self, value: realm.objects(P12Dog.self)[0], update: .modified)
            }
            XCTAssertEqual(other.objects(P12Toy.self).first?.label, "t")
        }
        XCTAssertThrowsError(try realm.writeCopy(toFile: url)) { e in
            XCTAssertEqual((e as? Realm.Error)?.code, .fileExists)
        }
        let key = Data(repeating: 7, count: 64), second = url.appendingPathExtension("2")
        let encrypted = Realm.Configuration(fileURL: second, encryptionKey: key, objectTypes: copy.objectTypes)
        try realm.writeCopy(configuration: encrypted)
        XCTAssertEqual(try Realm(configuration: encrypted).objects(P12Dog.self).count, realm.objects(P12Dog.self).count)
        XCTAssertTrue(try Realm.deleteFiles(for: encrypted))
        XCTAssertTrue(try Realm.deleteFiles(for: copy))
        XCTAssertThrowsError(try Realm(fileURL: URL(fileURLWithPath: "/nonexistent/x/y.realm")))
    }
}

func run12() throws {
    let saved = Realm.Configuration.defaultConfiguration
    defer { Realm.Configuration.defaultConfiguration = saved }
    let tests: [(String, (P12Tests) -> () throws -> Void)] = [
        ("testOneLiners", P12Tests.testOneLiners), ("testKeptByAnObject", P12Tests.testKeptByAnObject),
        ("testIsolation", P12Tests.testIsolation),
        ("testBeginCommitCancel", P12Tests.testBeginCommitCancel), ("testInvalidate", P12Tests.testInvalidate),
        ("testDeletion", P12Tests.testDeletion),
        ("testFreezeThaw", P12Tests.testFreezeThaw), ("testSameObject", P12Tests.testSameObject),
        ("testWriteCopy", P12Tests.testWriteCopy),
    ]
    for (name, test) in tests {
        current = name
        let c = P12Tests(name: name)
        c.setUp()
        do { try autoreleasepool { try test(c)() } } catch { failures += 1; print("12: \(name) threw \(error)") }
        c.tearDown()
    }
    print(failures == 0 ? "12 passed" : "12: \(failures) failures")
}
