import Firn
import FirnTestSupport
import Foundation
import Testing

/// `Frozen<T>`: what is frozen crosses to other threads, tasks and actors without the compiler's complaint (S110).
@Suite(.timeLimit(.minutes(20))) struct FrozenTests {
    private actor Reader {
        func names(_ dogs: Frozen<Results<Dog>>) -> [String] { dogs.value.map(\.name) }
        func name(_ dog: Frozen<Dog>) -> String { dog.value.name + (dog.value.owner?.name ?? "") }
        func count(_ realm: Frozen<Realm>) -> Int { realm.value.objects(Dog.self).count }
        func sum(_ numbers: Frozen<List<Int>>) -> Int { numbers.value.sum() }
    }

    @MainActor @Test func frozenThingsCrossToAnActor() async throws {
        let realm = try memoryRealm()
        let dog = Dog(1, "Rex")
        let person = Person()
        person.numbers.append(objectsIn: [1, 2])
        dog.owner = person
        try realm.write { realm.add([dog, Dog(2, "Max")]) }
        let reader = Reader()
        let (object, dogs) = (Frozen(dog), Frozen(realm.objects(Dog.self)))
        let (whole, numbers) = (Frozen(realm), Frozen(person.numbers))
        try realm.write {
            dog.name = "changed"
            person.numbers.removeAll()
            realm.delete(realm.objects(Dog.self).where { $0.id == 2 })
        }
        #expect(await reader.name(object) == "Rexnobody")
        #expect(await reader.names(dogs) == ["Rex", "Max"])
        #expect(await reader.count(whole) == 2)
        #expect(await reader.sum(numbers) == 3)
        #expect(object.value.isFrozen && object.value.thaw()?.name == "changed")
        // What is frozen already is taken as it is.
        #expect(Frozen(object.value).value === object.value && Frozen(whole.value).value == whole.value)
        let detached = await Task.detached { object.value.name }.value
        #expect(detached == "Rex")
    }

    @Test func freezingSomethingUnmanagedStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Frozen(Dog())
        }
        expectMessage(result, "an unmanaged object of Dog can't be frozen")
    }
}
