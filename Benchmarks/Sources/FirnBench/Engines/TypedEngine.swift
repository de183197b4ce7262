import Firn
import Foundation

/// The benchmark's object as an application would declare it, in the application's own module.
final class Person: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var email: String
    @Persisted var age: Int
    @Persisted var score: Double
    @Persisted var city: String
    @Persisted var active: Bool
    @Persisted var created: Int
    @Persisted var bio: String
}

extension Person {
    convenience init(_ people: People, _ index: Int) {
        self.init()
        let record = people.records[index]
        let texts = people.texts[index]
        id = record.id
        name = texts.name
        email = texts.email
        age = record.age
        score = record.score
        city = texts.city
        active = record.active
        created = record.created
        bio = texts.bio
    }
}

/// Firn through its public interface: managed objects, with strings made and read.
///
/// `@unchecked Sendable`: immutable except for `openRealm`, which only the sample's main thread uses.
class TypedEngine: Engine, @unchecked Sendable {
    static let takesStrings = true
    class var note: String {
        "Firn through `import Firn`: a class `Person: Object` in the benchmark's own module, managed objects, strings."
    }

    /// The key of the store; nil for a store without encryption.
    class var key: Data? { nil }
    /// The share of the store's files for which a store with a key may take memory when it is opened; nil for what
    /// Firn takes by itself.
    class var decryptedShare: Double? { nil }

    private let configuration: Realm.Configuration
    /// Keeps the store open between realms, so that no row pays for opening (W10 measures that).
    private var openRealm: Realm?

    required init(folder: String, durability: Durability) throws {
        var configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: folder + "/people.firn"), encryptionKey: Self.key,
            objectTypes: [Person.self])
        configuration.durability = durability == .full ? .full : .none
        if let share = Self.decryptedShare {
            configuration.decryptedMemoryLimit = Int(Double(allocatedBytes(under: folder)) * share)
        }
        self.configuration = configuration
        openRealm = try Realm(configuration: configuration)
    }

    func load(_ people: People, batch: Int) throws {
        let realm = openRealm!
        var next = 0
        while next < people.count {
            try realm.write {
                for index in next..<min(next + batch, people.count) { realm.add(Person(people, index)) }
            }
            next += batch
        }
    }

    func makeReader() throws -> any Reader { TypedReader(try Realm(configuration: configuration)) }
    func makeWriter() throws -> any Writer { TypedWriter(try Realm(configuration: configuration)) }
    func waitUntilIdle() throws { try waitForCompactor(configuration.fileURL!.path) }
    func compact() throws { try openRealm!.compact() }

    func makeCompactor() throws -> () throws -> Void {
        let realm = try Realm(configuration: configuration)
        return { try realm.compact() }
    }

    func hold() throws -> Any {
        openRealm!.refresh()
        return openRealm!.freeze()
    }

    var retainedBytes: Int? { openRealm!.activeVersions.reduce(0) { $0 + $1.retainedBytes } }
    func close() throws { openRealm = nil }
}

private final class TypedWriter: Writer {
    private let realm: Realm
    init(_ realm: Realm) { self.realm = realm }

    @inline(__always)
    private func person(_ id: Int) throws -> Person {
        guard let person = realm.object(ofType: Person.self, forPrimaryKey: id) else {
            throw BenchError("no person \(id)")
        }
        return person
    }

    func setAge(_ age: Int, ofPerson id: Int) throws {
        try realm.write { try person(id).age = age }
    }

    func apply(_ changes: [Change], of people: People) throws {
        try realm.write {
            for change in changes {
                switch change {
                case .setAge(let age, let id): try person(id).age = age
                case .setBio(let index, let id): try person(id).bio = people.texts[index].bio
                case .insert(let index): realm.add(Person(people, index))
                case .delete(let id): realm.delete(try person(id))
                }
            }
        }
    }

    func setAgeOfEveryone(_ age: Int) throws {
        try realm.write { for person in realm.objects(Person.self) { person.age = age } }
    }

    func insert(_ people: People, at index: Int) throws {
        try realm.write { realm.add(Person(people, index)) }
    }
}

private final class TypedReader: Reader {
    private let realm: Realm
    init(_ realm: Realm) { self.realm = realm }

    @inline(__always)
    private func digest(_ person: Person) -> UInt64 {
        let name = person.name
        return readDigest(age: person.age, nameLength: name.utf8.count, firstByte: name.utf8.first ?? 0)
    }

    func pointReads(_ keys: [Int]) throws -> UInt64 {
        var sum: UInt64 = 0
        for key in keys {
            guard let person = realm.object(ofType: Person.self, forPrimaryKey: key) else {
                throw BenchError("no person \(key)")
            }
            sum &+= digest(person)
        }
        return sum
    }

    func sumOfAges() throws -> Int { realm.objects(Person.self).sum(of: \.age) }
    func count(olderThan age: Int) throws -> Int { realm.objects(Person.self).where { $0.age > age }.count }

    func readEveryone() throws -> UInt64 {
        var sum: UInt64 = 0
        for person in realm.objects(Person.self) { sum &+= digest(person) }
        return sum
    }

    func readEverything() throws -> UInt64 {
        var sum: UInt64 = 0
        for person in realm.objects(Person.self) {
            func text(_ position: UInt64, _ text: String) -> UInt64 {
                textDigest(position, length: text.utf8.count, firstByte: text.utf8.first ?? 0)
            }
            sum &+= fullDigest(
                id: person.id, age: person.age, score: person.score, created: person.created, active: person.active,
                texts: text(0, person.name) &+ text(1, person.email) &+ text(2, person.city) &+ text(3, person.bio))
        }
        return sum
    }

    func openSnapshots(_ count: Int) throws { try freeze(count) }

    func freeze(_ count: Int) throws {
        for _ in 0..<count { escape(realm.freeze().isFrozen ? 1 : 0) }
    }

    func refresh() throws { realm.refresh() }
}

/// Firn as `TypedEngine`, with a key: what encryption costs. Measured if it is named: `Tools/bench --engines
/// typed,encrypted,limited`.
class EncryptedEngine: TypedEngine, @unchecked Sendable {
    override class var note: String { "As typed, in an encrypted store." }
    override class var key: Data? { Data(repeating: 7, count: 64) }
}

/// Firn as `EncryptedEngine`, when less memory than the data has is allowed for what is decrypted.
final class LimitedEngine: EncryptedEngine, @unchecked Sendable {
    override class var note: String {
        "As encrypted, with a quarter of the files when they are opened decrypted at a time."
    }
    override class var decryptedShare: Double? { 0.25 }
}
