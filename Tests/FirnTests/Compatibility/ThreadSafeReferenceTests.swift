import Firn
import FirnTestSupport
import Foundation
import Testing

/// `ThreadSafeReference` and `@ThreadSafe` (R85, R86; SEMANTICS 66, 67).
@Suite(.timeLimit(.minutes(20))) struct ThreadSafeReferenceTests {
    private static let types: [ObjectBase.Type] = [Dog.self, Person.self, Machine.self, Gear.self, Box.self]
    private let name = UUID().uuidString

    private func realm() throws -> Realm { try memoryRealm(Self.types, name) }

    /// Runs `body` on a thread whose realm has read nothing yet.
    private func elsewhere(_ body: @escaping @Sendable (Realm) throws -> Void) throws {
        try onAnotherThread(name, types: Self.types, body)
    }

    private func filled() throws -> Realm {
        let realm = try realm()
        let person = Person()
        person.name = "Ann"
        person.numbers.append(objectsIn: [3, 1, 2])
        let dog = Dog(1, "Rex")
        dog.owner = person
        person.dogs.append(objectsIn: [dog, Dog(2, "Max", age: 5)])
        let machine = Machine()
        machine.core = Gear()
        machine.core?.name = "core"
        let box = Box(1, .fromArray([.int(4), .fromDictionary(["k": .int(5)])]))
        box.set.insert(.int(6))
        box.map["m"] = .int(7)
        try realm.write { realm.add([person, machine, box] as [Object]) }
        return realm
    }

    // MARK: References

    @Test func whatIsHandedOverIsTheSame() throws {
        let realm = try filled()
        let dog = try #require(realm.objects(Dog.self).first)
        let person = try #require(realm.objects(Person.self).first)
        let box = try #require(realm.objects(Box.self).first)
        let gear = try #require(realm.objects(Machine.self).first?.core)
        let (object, embedded) = (ThreadSafeReference(to: dog), ThreadSafeReference(to: gear))
        let (list, set) = (ThreadSafeReference(to: person.numbers), ThreadSafeReference(to: box.set))
        let map = ThreadSafeReference(to: box.map)
        let nested = ThreadSafeReference(to: try #require(box.any.listValue?[1].dictionaryValue))
        let old = ThreadSafeReference(to: realm.objects(Dog.self).where { $0.age > 3 }.sorted(by: \.name))
        let (links, dogs) = (
            ThreadSafeReference(to: dog.keepers), ThreadSafeReference(to: person.dogs.where { $0.age < 9 })
        )
        let dynamic = ThreadSafeReference(to: realm.dynamicObjects("Dog")[1])
        #expect(!object.isInvalidated)
        try elsewhere { other in
            let dog = try #require(other.resolve(object))
            #expect(dog.name == "Rex" && dog.owner?.name == "Ann" && dog.realm == other && !dog.isFrozen)
            #expect(other.resolve(embedded)?.name == "core")
            let numbers = try #require(other.resolve(list))
            #expect(Array(numbers) == [3, 1, 2] && other.resolve(set).map { Array($0) } == [.int(6)])
            #expect(other.resolve(map)?["m"] == .int(7) && other.resolve(nested)?["k"] == .int(5))
            let found = try #require(other.resolve(old))
            #expect(found.map(\.name) == ["Max"] && other.resolve(links)?.map(\.name) == ["Ann"])
            #expect(other.resolve(dogs)?.count == 2 && other.resolve(dynamic)?["name"] as? String == "Max")
            // They are live.
            try other.write {
                dog.age = 8
                numbers.append(9)
            }
            #expect(found.map(\.name) == ["Max", "Rex"])
        }
        #expect(object.isInvalidated && dogs.isInvalidated && dynamic.isInvalidated)
        realm.refresh()
        #expect(dog.age == 8 && Array(person.numbers) == [3, 1, 2, 9])
    }

    @Test func aReferenceIsResolvedOnce() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            let dog = try realm.write { realm.create(Dog.self, value: [1]) }
            let reference = ThreadSafeReference(to: dog)
            precondition(realm.resolve(reference) != nil && reference.isInvalidated)
            _ = realm.resolve(reference)
        }
        expectMessage(result, "can be resolved once")
        // In vain counts, too.
        let realm = try filled()
        let reference = ThreadSafeReference(to: realm.objects(Dog.self)[0])
        #expect(try memoryRealm(Self.types).resolve(reference) == nil && reference.isInvalidated)
    }

    @Test func aRealmThatHasReadNothingBeginsAtTheReference() throws {
        let realm = try filled()
        let dog = realm.objects(Dog.self)[0]
        let reference = ThreadSafeReference(to: dog)
        try realm.write {
            realm.delete(dog)
            realm.create(Dog.self, value: [7])
        }
        try elsewhere { other in
            let dog = try #require(other.resolve(reference))
            #expect(dog.name == "Rex" && other.objects(Dog.self).map(\.id) == [1, 2])
            // A newer version is due, although nobody writes any more.
            let end = Date(timeIntervalSinceNow: 10)
            while !dog.isInvalidated, Date() < end { RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.01)) }
            #expect(dog.isInvalidated && other.objects(Dog.self).map(\.id) == [2, 7])
        }
    }

    /// A realm never goes back, and a version that a compaction has replaced can still be begun from.
    @Test func aRealmShowsAtLeastTheReferencesVersion() throws {
        let realm = try filled()
        let dog = realm.objects(Dog.self)[0]
        let (first, second) = (ThreadSafeReference(to: dog), ThreadSafeReference(to: dog))
        let results = ThreadSafeReference(to: realm.objects(Dog.self).where { $0.age > 0 })
        nonisolated(unsafe) var late: ThreadSafeReference<Dog>?
        nonisolated(unsafe) let mine = realm
        let steps = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        DispatchQueue.global().async { [name] in
            steps.0.wait()
            // On a thread of its own, because this test holds the other one.
            try? onAnotherThread(name, types: Self.types) { other in
                let new = try other.write { other.create(Dog.self, value: [9, "late"]) }
                late = ThreadSafeReference(to: new)
            }
            steps.1.signal()
        }
        try elsewhere { other in
            other.autorefresh = false
            #expect(other.objects(Dog.self).count == 2)
            steps.0.signal()
            steps.1.wait()
            // Older and equal: it stays where it is.
            #expect(other.resolve(first)?.id == 1 && other.objects(Dog.self).count == 2)
            // Newer: it advances.
            #expect(late.flatMap { other.resolve($0) }?.name == "late" && other.objects(Dog.self).count == 3)
            other.invalidate()
            // It has shown a newer one before.
            #expect(other.resolve(second)?.id == 1 && other.objects(Dog.self).count == 3)
        }
        try mine.write { mine.delete(mine.objects(Dog.self)) }
        try mine.compact()
        try elsewhere { other in #expect(other.resolve(results)?.count == 2) }
    }

    @Test func aReferenceOfATransactionStandsForTheNewestVersion() throws {
        let realm = try realm()
        for isCancelled in [false, true] {
            realm.beginWrite()
            let dog = realm.create(Dog.self, value: [isCancelled ? 2 : 1, "new"] as [Any])
            let (outside, inside) = (ThreadSafeReference(to: dog), ThreadSafeReference(to: dog))
            let early = ThreadSafeReference(to: dog)
            #expect(realm.resolve(inside)?.name == "new")
            try elsewhere { #expect($0.resolve(early) == nil, "it is in no version yet") }
            dog.name = "changed"
            if isCancelled { realm.cancelWrite() } else { try realm.commitWrite() }
            try realm.write { realm.create(Dog.self, value: [isCancelled ? 4 : 3, "other"] as [Any]) }
            try elsewhere { other in
                other.autorefresh = false
                #expect(other.resolve(outside)?.name == (isCancelled ? nil : "changed"))
            }
        }
    }

    @Test func aRealmAtTheTransactionsBaseAdvances() throws {
        let realm = try realm()
        let other = try memoryRealm([Dog.self, Person.self], name)
        other.autorefresh = false
        #expect(other.objects(Dog.self).isEmpty)
        realm.beginWrite()
        let reference = ThreadSafeReference(to: realm.create(Dog.self, value: [1, "new"]))
        try realm.commitWrite()
        #expect(other.objects(Dog.self).isEmpty)
        #expect(other.resolve(reference)?.name == "new" && other.objects(Dog.self).count == 1)
    }

    @Test func whatIsGoneIsNil() throws {
        let realm = try filled()
        let person = realm.objects(Person.self)[0]
        let (object, list) = (ThreadSafeReference(to: person), ThreadSafeReference(to: person.numbers))
        let (results, links) = (
            ThreadSafeReference(to: person.dogs.where { $0.age > 0 }), ThreadSafeReference(to: person.owned)
        )
        let whole = ThreadSafeReference(to: realm.objects(Person.self))
        try realm.write { realm.delete(person) }
        try elsewhere { other in
            #expect(other.objects(Dog.self).count == 2)
            #expect(other.resolve(object) == nil && other.resolve(list) == nil)
            #expect(other.resolve(results) == nil && other.resolve(links) == nil && other.resolve(whole)?.count == 0)
        }
    }

    @Test func whatIsFrozenIsThawed() throws {
        let realm = try filled()
        let frozen = realm.objects(Dog.self)[0].freeze()
        let (reference, gone) = (
            ThreadSafeReference(to: frozen), ThreadSafeReference(to: realm.objects(Dog.self)[1].freeze())
        )
        try realm.write {
            realm.objects(Dog.self)[0].name = "newer"
            realm.delete(realm.objects(Dog.self)[1])
        }
        try elsewhere { #expect($0.resolve(reference)?.name == "newer" && $0.resolve(gone) == nil) }
    }

    /// Two realms of one store may have different classes.
    @Test func realmsWithDifferentClassesResolve() async throws {
        let realm = try filled()
        let dog = ThreadSafeReference(to: realm.objects(Dog.self)[0])
        let list = ThreadSafeReference(to: realm.objects(Person.self)[0].dogs)
        let results = ThreadSafeReference(to: realm.objects(Dog.self).where { $0.owner.name == "Ann" })
        let links = ThreadSafeReference(to: realm.objects(Dog.self)[0].keepers)
        try onAnotherThread(name, types: [Person.self, Dog.self]) { other in
            let found = try #require(other.resolve(dog))
            #expect(found.name == "Rex" && other.resolve(list)?.map(\.id) == [1, 2])
            #expect(other.resolve(results)?.map(\.id) == [1] && other.resolve(links)?.first?.name == "Ann")
            try other.write { found.owner?.name = "Bea" }
            #expect(found.realm?.schema.objectSchema.count == 2)
        }
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm(Self.types, "shared")
            let dog = try realm.write { realm.create(Dog.self, value: [1]) }
            let other = try memoryRealm([Box.self, Label.self], "shared")
            _ = other.resolve(ThreadSafeReference(to: dog))
        }
        expectMessage(result, "has no class Dog")
    }

    // MARK: ThreadSafe

    private func rename(@ThreadSafe _ dog: Dog?, name: String, _ done: @escaping @Sendable () -> Void) {
        DispatchQueue.global().async { [_dog] in
            defer { done() }
            guard let dog = _dog.wrappedValue, let realm = dog.realm else { return }
            try? realm.write { dog.name = name }
        }
    }

    @MainActor private func rename(_ dog: Dog?, to name: String) async {
        await withCheckedContinuation { done in rename(dog, name: name) { done.resume() } }
    }

    @MainActor @Test func aThreadSafePropertyIsReadEverywhere() async throws {
        let realm = try filled()
        @ThreadSafe var dog = realm.objects(Dog.self).first
        @ThreadSafe var names = realm.objects(Dog.self).sorted(by: \.name)
        @ThreadSafe var none = Dog?.none
        #expect(dog?.name == "Rex" && dog?.realm == realm && none == nil)
        await rename(dog, to: "Zoe")
        realm.refresh()
        #expect(dog?.name == "Zoe" && names?.map(\.name) == ["Max", "Zoe"])
        await rename(nil, to: "nobody")
        let first = dog
        dog = realm.objects(Dog.self).last
        #expect(dog?.name == "Max")
        try realm.write {
            // In a transaction, too.
            #expect(dog?.name == "Max")
            dog?.age = 77
            realm.delete(realm.objects(Dog.self).last!)
            #expect(dog == nil)
        }
        #expect(dog == nil && names?.count == 1 && first?.name == "Zoe")
        dog = nil
        #expect(dog == nil)
    }

    private final class Holder: Sendable {
        let wrapped: ThreadSafe<Dog>
        init(_ dog: Dog) { wrapped = ThreadSafe(wrappedValue: dog) }
    }

    @Test func manyThreadsReadAndSetIt() throws {
        let realm = try filled()
        let holder = Holder(realm.objects(Dog.self)[0])
        let ids = Holder(realm.objects(Dog.self)[1])
        DispatchQueue.concurrentPerform(iterations: 40) { index in
            for _ in 0..<20 {
                let dog = holder.wrapped.wrappedValue
                #expect(dog?.id == 1 || dog?.id == 2)
                if index % 4 == 0, let realm = dog?.realm {
                    try? realm.write { dog?.age += 1 }
                } else if index % 4 == 1 {
                    holder.wrapped.wrappedValue = ids.wrapped.wrappedValue
                }
            }
        }
        realm.refresh()
        #expect(realm.objects(Dog.self).sum(of: \.age) == 1 + 5 + 200)
    }

    /// What is not there yet is not gone.
    @Test func somethingUncommittedIsReadOnceItIsCommitted() throws {
        let realm = try realm()
        realm.beginWrite()
        let wrapped = ThreadSafe(wrappedValue: realm.create(Dog.self, value: [1, "new"]))
        try elsewhere { _ in #expect(wrapped.wrappedValue == nil) }
        try realm.commitWrite()
        try elsewhere { _ in #expect(wrapped.wrappedValue?.name == "new") }
        #expect(wrapped.wrappedValue?.name == "new")
        try realm.write { realm.deleteAll() }
        #expect(wrapped.wrappedValue == nil)
    }

    /// It holds a single version: the one that was read last.
    @Test func readingLetsTheOlderVersionGo() throws {
        let realm = try filled()
        let wrapped = ThreadSafe(wrappedValue: realm.objects(Dog.self)[0])
        for age in 1...20 {
            try realm.write { realm.objects(Dog.self)[0].age = age }
            #expect(wrapped.wrappedValue?.age == age)
        }
        #expect(realm.activeVersions.allSatisfy { $0.number >= realm.activeVersions.last!.number - 1 })
    }

    // MARK: Stops

    @Test(arguments: 0..<6) func whatCannotBeHandedOverStops(variant: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [variant] in
            let realm = try memoryRealm()
            let dog = try realm.write { realm.create(Dog.self, value: [1]) }
            nonisolated(unsafe) let other = dog
            switch variant {
            case 0: _ = ThreadSafeReference(to: Dog(2, "x"))
            case 1: _ = ThreadSafeReference(to: Person().dogs)
            case 2:
                try realm.write { realm.delete(dog) }
                _ = ThreadSafeReference(to: dog)
            case 3: Thread { _ = ThreadSafeReference(to: other) }.start()
            case 4: _ = realm.freeze().resolve(ThreadSafeReference(to: dog))
            default: _ = ThreadSafe(wrappedValue: Dog(2, "x"))
            }
            try await Task.sleep(for: .seconds(20))
        }
        let messages = [
            "what is unmanaged has no thread", "what is unmanaged has no thread", "no reference to what is gone",
            "thread", "can't be resolved in a frozen realm", "what is unmanaged has no thread",
        ]
        expectMessage(result, messages[variant])
    }
}
