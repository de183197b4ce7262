import FirnCore
import FirnStorage
import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// It has no stored property but those of the store.
private class Counted: Object {
    @Persisted var number = 0
    @Persisted var numbers: List<Int>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Has a property that the store does not know.
private class Plain: Object {
    @Persisted var number = 0
    var note = "plain"
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Ignoring: Object {
    @Persisted var number = 0
    @Persisted var note = "ignored"
    override class func ignoredProperties() -> [String] { ["note"] }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Making: Object {
    @Persisted var number = 0
    required init() {
        _ = Plain()
        super.init()
    }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Its initialiser assigns what the wrappers then own.
private class Assigning: Object {
    @Persisted(primaryKey: true) var id: String
    @Persisted var tags: List<String>
    @Persisted var data: Data
    @Persisted var linked: Linked?
    required init() {
        super.init()
        id = "an id that is too long to lie in the string itself: \(UUID().uuidString)"
        tags.append("a tag that is too long to lie in the string itself")
        data = Data(repeating: 7, count: 100)
        linked = Linked()
    }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Linked: Object {
    nonisolated(unsafe) static var alive = 0
    @Persisted var number = 0
    var note = "has a property of its own, so that each initialiser runs"
    required init() {
        super.init()
        Linked.alive += 1
    }
    deinit { Linked.alive -= 1 }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Its own properties and those of its superclass are all stored.
private class Derived: Counted {
    @Persisted var text = "derived"
}

/// The class between has a property of its own.
private class Between: Counted {
    let note = [1, 2, 3]
}
private class Last: Between {
    @Persisted var text = "last"
}

private class Generic<Value: RealmCollectionValue>: Object where Value: _PrimaryKey {
    @Persisted var values: List<Value>
    @Persisted var number = 5
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// A value that owns something.
private struct Owned: PersistableEnum {
    let rawValue: String
    init?(rawValue: String) { self.rawValue = rawValue }
    static var allCases: [Owned] { [Owned(rawValue: String(repeating: "x", count: 40))!] }
}

/// A value that is stored as an embedded object, of which an unmanaged object has one.
private class StoredPair: EmbeddedObject {
    @Persisted var first = 1
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
private struct Pair: CustomPersistable {
    var first: Int
    init(persistedValue: StoredPair) { first = persistedValue.first }
    var persistableValue: StoredPair { StoredPair(value: [first]) }
}

private class Owning: Object {
    @Persisted var owned: Owned
    @Persisted var pair: Pair
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// An enum whose raw values are long.
private enum Long: String, PersistableEnum {
    case first = "a raw value that is too long to lie in the string itself"
    case second
}

private class WithLong: Object {
    @Persisted var long: Long
    @Persisted var other: Long?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite("Accessors are copies of a template", .timeLimit(.minutes(20)), .serialized)
struct AccessorTemplateTests {
    @Test("whatever the types of the properties") func types() throws {
        for type in [
            Dog.self, Person.self, Counted.self, WithLong.self, Owning.self, Assigning.self, Derived.self,
            Generic<String>.self,
        ] as [ObjectBase.Type] {
            #expect(ClassInfo.of(type).template != nil, "\(type)")
        }
        // A property type that comes later must say whether its initial value owns something.
        let types = Set(ClassInfo.of(Everything.self).stored.map { "\($0.shape.type) \($0.shape.isNullable)" })
        for type in [.bool, .int, .float, .double, .string, .data, .date, .objectID, .uuid, .decimal] as [ColumnType] {
            #expect(types.contains("\(type) false") && types.contains("\(type) true"), "\(type)")
        }
        for property in ClassInfo.of(Everything.self).properties {
            let ownsNothing = property.wrapper.blankOwnsNothing
            #expect(ownsNothing, "\(property.name)")
        }
    }

    @Test("unless a class holds something else, or makes other objects") func others() {
        for type in [
            Plain.self, Ignoring.self, Making.self, Everything.self, Last.self, Linked.self,
        ] as [ObjectBase.Type] {
            #expect(ClassInfo.of(type).template == nil, "\(type)")
        }
    }

    /// A template that owned what the initialiser has assigned would release it with each accessor.
    @Test("which owns nothing, whatever the class's initialiser assigns") func assigned() throws {
        let realm = try memoryRealm([Assigning.self, Linked.self])
        try realm.write { for _ in 0..<300 { realm.add(Assigning()) } }
        Linked.alive = 0
        var kept: [Assigning] = []
        for round in 0..<3 {
            for object in realm.objects(Assigning.self) {
                #expect(object.id.hasPrefix("an id") && object.tags.count == 1 && object.data.count == 100)
                #expect(object.linked?.number == 0)
                if round == 1 { kept.append(object) }
            }
        }
        #expect(kept.allSatisfy { $0.id.utf8.count > 40 && $0.tags[0].hasPrefix("a tag") && $0.linked != nil })
        kept = []
        // Accessors of linked objects were made and released by their initialisers, and nothing else was.
        #expect(Linked.alive == 0)
    }

    @Test("of subclasses and generic classes, too") func subclasses() throws {
        let realm = try memoryRealm([Derived.self, Last.self, Generic<String>.self])
        try realm.write {
            for number in 0..<50 {
                for object in [Derived(), Last()] {
                    object.number = number
                    realm.add(object)
                }
                let generic = Generic<String>()
                generic.values.append("\(number)")
                realm.add(generic)
            }
        }
        for (number, object) in realm.objects(Derived.self).enumerated() {
            #expect(object.number == number && object.text == "derived")
        }
        for (number, object) in realm.objects(Last.self).enumerated() {
            #expect(object.number == number && object.text == "last" && object.note == [1, 2, 3])
        }
        for (number, object) in realm.objects(Generic<String>.self).enumerated() {
            #expect(object.number == 5 && object.values.map { $0 } == ["\(number)"])
        }
    }

    @Test("which are made and released alike") func manyTimes() throws {
        let realm = try memoryRealm([Dog.self, Person.self, WithLong.self])
        try realm.write {
            for id in 0..<100 {
                let dog = Dog(id, "a name that is too long to lie in the string itself \(id)")
                let person = Person()
                person.dogs.append(dog)
                person.numbers.append(id)
                dog.owner = person
                realm.add(person)
                realm.add(WithLong(value: ["long": Long.second, "other": Long.first]))
            }
        }
        for _ in 0..<20 {
            var kept: [Object] = []
            for (id, dog) in realm.objects(Dog.self).enumerated() {
                #expect(dog.id == id && dog.name.hasSuffix(" \(id)") && dog.owner?.numbers.first == id)
                #expect(dog.keepers.count == 1 && dog.keepers[0].dogs[0] == dog)
                kept.append(dog)
            }
            for person in realm.objects(Person.self) {
                #expect(person.name == "nobody" && person.age == nil && person.owned.count == 1)
                kept.append(person)
            }
            for value in realm.objects(WithLong.self) {
                #expect(value.long == .second && value.other == .first)
                kept.append(value)
            }
            for (id, dog) in realm.objects(Dog.self).enumerated() {
                #expect(dog.owner?.dogs.first?.id == id && dog.keepers.count == 1 && dog.keepers[0].numbers[0] == id)
            }
            #expect(kept.count == 300)
            #expect(Set(kept.map { ObjectIdentifier($0) }).count == 300)
        }
    }
}

/// Counts its accessors that have ended, for one test.
private class Ended: Object {
    nonisolated(unsafe) static var count = 0
    @Persisted var number = 0
    deinit { Ended.count += 1 }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite("A loop that keeps no object makes one accessor", .timeLimit(.minutes(20)), .serialized)
struct LentAccessorTests {
    private static func realm(_ count: Int = 600) throws -> Realm {
        let realm = try memoryRealm([Counted.self])
        try realm.write {
            for number in 0..<count {
                let object = Counted()
                object.number = number
                object.numbers.append(number)
                realm.add(object)
            }
        }
        return realm
    }

    @Test("of a class and of a query, and not of a frozen realm") func loops() throws {
        let realm = try memoryRealm([Ended.self])
        try realm.write { for number in 0..<600 { realm.add(Ended(value: ["number": number])) } }
        func check(_ objects: Results<Ended>, _ count: Int, ended: Int = 1) {
            Ended.count = 0
            var sum = 0
            for object in objects { sum += object.number }
            #expect(Ended.count == ended)
            #expect(sum == count * (count - 1) / 2)
        }
        check(realm.objects(Ended.self), 600)
        check(realm.objects(Ended.self).where { $0.number < 300 }, 300)
        check(realm.freeze().objects(Ended.self), 600, ended: 600)
    }

    @Test("copies of an iterator share the objects that are left, and each object is its own") func copies() throws {
        let realm = try Self.realm(20)
        var first = realm.objects(Counted.self).makeIterator()
        let a = first.next()
        var second = first
        let b = second.next()
        let c = first.next()
        #expect(a?.number == 0 && b?.number == 1 && c?.number == 2)
    }

    @Test("an object that is kept is not reused, however it is kept") func kept() throws {
        let realm = try Self.realm()
        let objects = realm.objects(Counted.self)

        var array: [Counted] = []
        for object in objects { array.append(object) }
        #expect(array.map(\.number) == Array(0..<600))

        var closures: [() -> Int] = []
        for object in objects { closures.append { object.number } }
        #expect(closures.map { $0() } == Array(0..<600))

        // Every third one only.
        array = []
        for object in objects where object.number % 3 == 0 { array.append(object) }
        #expect(array.map(\.number) == Array(stride(from: 0, to: 600, by: 3)))

        var iterator = objects.makeIterator()
        let first = iterator.next()!
        let second = iterator.next()!
        let numbers = withExtendedLifetime((first, second)) { (iterator.next()!.number, first.number, second.number) }
        #expect(numbers == (2, 0, 1))

        var previous: Counted?
        for object in objects {
            if let previous { #expect(previous.number == object.number - 1 && previous !== object) }
            previous = object
        }
    }

    @Test("a weak or an unowned reference shows the object that it was made for, or nothing") func weakly() throws {
        let realm = try Self.realm()
        var iterator = realm.objects(Counted.self).makeIterator()
        weak var weakly: Counted?
        do {
            let object = iterator.next()!
            weakly = object
        }
        let next = iterator.next()!
        #expect(weakly?.number ?? 0 == 0 && next.number == 1)
        var strong: Counted? = iterator.next()!
        unowned let unowned = strong!
        let later = iterator.next()!
        #expect(unowned.number == 2 && later.number == 3)
        strong = nil
    }

    @Test("another thread may keep a frozen one") func threads() async throws {
        let realm = try Self.realm().freeze()
        var tasks: [Task<Int, Never>] = []
        for object in realm.objects(Counted.self) {
            nonisolated(unsafe) let kept = object
            tasks.append(
                Task.detached {
                    await Task.yield()
                    return kept.number
                })
        }
        var numbers: [Int] = []
        for task in tasks { numbers.append(await task.value) }
        #expect(numbers == Array(0..<600))
    }

    /// The thread sanitizer must have nothing to report: an application that uses it would get the report, too.
    @Test("another thread may keep a frozen one for a while, and drop it at any time") func dropping() throws {
        let realm = try Self.realm().freeze()
        let handed = Handed()
        let threads = try (0..<2).map { _ in
            try StorageThread.start(name: "reader") {
                while true {
                    switch handed.take() {
                    case .ended: return
                    case .none: yieldThread()
                    case .object(let object):
                        let number = object.number
                        yieldThread()
                        if object.number != number { Issue.record("\(number) became \(object.number)") }
                    }
                }
            }
        }
        for _ in 0..<40 {
            var number = 0
            for object in realm.objects(Counted.self) {
                #expect(object.number == number)
                if number % 3 != 0 { handed.give(object) }
                number += 1
            }
        }
        handed.end()
        for thread in threads { thread.join() }
    }

    /// What a loop hands to other threads: one object at a time.
    private final class Handed: @unchecked Sendable {
        enum Taken { case none, ended, object(Counted) }
        private let lock = NSLock()
        // Guarded by the lock.
        private var object: Counted?
        private var hasEnded = false

        func give(_ new: Counted) {
            let before = lock.withLock { () -> Counted? in
                defer { object = new }
                return object
            }
            withExtendedLifetime(before) {}
        }

        func take() -> Taken {
            lock.withLock {
                defer { object = nil }
                if let object { return .object(object) }
                return hasEnded ? .ended : .none
            }
        }

        func end() { lock.withLock { hasEnded = true } }
    }

    /// The accessors of such a realm hold it, each by a reference.
    @Test("of a queue's realm, too, which lives as long as one of its objects") func queue() throws {
        let queue = DispatchQueue(label: "lent")
        nonisolated(unsafe) var last: Counted?
        let reference = try queue.sync {
            let name = UUID().uuidString
            let realm = try Realm(
                configuration: .init(inMemoryIdentifier: name, objectTypes: [Counted.self]), queue: queue)
            try realm.write { for number in 0..<300 { realm.create(Counted.self, value: ["number": number]) } }
            var identities: Set<ObjectIdentifier> = []
            var sum = 0
            for object in realm.objects(Counted.self) {
                identities.insert(ObjectIdentifier(object))
                sum += object.number
            }
            #expect(identities.count == 1 && sum == 300 * 299 / 2)
            for object in realm.objects(Counted.self) where object.number == 7 { last = object }
            return realm.instance.reference
        }
        #expect(reference.object != nil)
        queue.sync {
            #expect(last?.number == 7)
            last = nil
        }
        #expect(TestTimeout.awaits { reference.object == nil })
    }

    @Test("each object has its own list") func lists() throws {
        let realm = try Self.realm(300)
        var lists: [List<Int>] = []
        for object in realm.objects(Counted.self) {
            #expect(object.numbers.first == object.number)
            lists.append(object.numbers)
        }
        #expect(lists.map { $0[0] } == Array(0..<300))
    }

    @Test("whatever is written meanwhile") func writing() throws {
        let realm = try Self.realm()
        try realm.write {
            for object in realm.objects(Counted.self) {
                let number = object.number
                object.number = number + 1000
                if number % 2 == 0 { realm.delete(object) }
            }
        }
        #expect(realm.objects(Counted.self).map(\.number) == stride(from: 1001, to: 1600, by: 2).map { $0 })
        var seen = 0
        for object in realm.objects(Counted.self) {
            seen += 1
            if seen == 10 { realm.invalidate() }
            #expect(object.isInvalidated == (seen == 10))
            if seen == 20 { break }
        }
    }

    /// The store closes when the last of what refers to it has gone, and not before.
    @Test("the realm lives as long as one of its objects") func lifetime() throws {
        var object: Counted?
        do {
            let realm = try Self.realm(10)
            for each in realm.objects(Counted.self) where each.number == 7 { object = each }
        }
        #expect(object?.number == 7)
        let reference = _RealmInstance.of(object!._row).reference
        #expect(reference.object != nil)
        object = nil
        #expect(reference.object == nil)
    }
}
