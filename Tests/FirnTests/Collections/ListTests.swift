import Firn
import Foundation
import FirnTestSupport
import Testing

private class Numbers: Object {
    @Persisted var ints: List<Int>
    @Persisted var bytes: List<Int8>
    @Persisted var floats: List<Float>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite(.timeLimit(.minutes(20))) struct ListTests {
    /// Swift's algorithms that change a collection in place, on a list and through its property.
    @Test func aListIsSortedReversedAndPartitionedInPlace() throws {
        func check(_ person: Person) {
            person.numbers.append(objectsIn: [5, 1, 4, 2, 3])
            person.numbers.sort()
            #expect(Array(person.numbers) == [1, 2, 3, 4, 5])
            person.numbers.reverse()
            #expect(Array(person.numbers) == [5, 4, 3, 2, 1])
            let half = person.numbers.partition { $0 < 3 }
            #expect(half == 3 && person.numbers[half...].allSatisfy { $0 < 3 } && person.numbers.count == 5)
            var list = person.numbers
            list.shuffle()
            #expect(list === person.numbers && list.sorted() == [1, 2, 3, 4, 5])
            list[1..<3].sort(by: >)
            #expect(person.numbers[1] >= person.numbers[2] && person.numbers.count == 5)
        }
        check(Person())
        let realm = try memoryRealm()
        try realm.write { check(realm.create(Person.self)) }
    }

    /// Every edit does the same to an unmanaged list, to a managed one, and to an array (SPEC R46).
    @Test(arguments: [1, 2, 3] as [UInt64])
    func editsBehaveLikeThoseOfAnArray(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let realm = try memoryRealm()
        let managed = Person()
        let unmanaged = Person()
        try realm.write { realm.add(managed) }
        var model: [Int] = []
        realm.beginWrite()
        for step in 0..<600 {
            let value = Int(random.next() % 1000)
            let n = model.count
            let index = n == 0 ? 0 : Int(random.next() % UInt64(n))
            let other = n == 0 ? 0 : Int(random.next() % UInt64(n))
            let kind = random.next() % 14
            for list in [managed.numbers, unmanaged.numbers] {
                switch kind {
                case 0, 1, 2: list.append(value)
                case 3: list.insert(value, at: index)
                case 4: if n > 0 { list.remove(at: index) }
                case 5: if n > 0 { list[index] = value }
                case 6: if n > 0 { list.move(from: index, to: other) }
                case 7: if n > 0 { list.swapAt(index, other) }
                case 8: list.replaceSubrange(min(index, other)..<max(index, other), with: [value, value + 1])
                case 9: list.append(objectsIn: [value, value])
                case 10: if n < 100 { list.insert(contentsOf: list, at: index) }
                case 11: list.replaceSubrange(0..., with: list.reversed())
                case 12: list.replaceSubrange(index..., with: list.prefix(5))
                default: if step % 5 == 0 { list.removeLast(min(n, 3)) }
                }
            }
            switch kind {
            case 0, 1, 2: model.append(value)
            case 3: model.insert(value, at: index)
            case 4: if n > 0 { model.remove(at: index) }
            case 5: if n > 0 { model[index] = value }
            case 6: if n > 0 { model.insert(model.remove(at: index), at: other) }
            case 7: if n > 0 { model.swapAt(index, other) }
            case 8: model.replaceSubrange(min(index, other)..<max(index, other), with: [value, value + 1])
            case 9: model += [value, value]
            case 10: if n < 100 { model.insert(contentsOf: model, at: index) }
            case 11: model.reverse()
            case 12: model.replaceSubrange(index..., with: model.prefix(5))
            default: if step % 5 == 0 { model.removeLast(min(n, 3)) }
            }
            try #require(
                Array(managed.numbers) == model && Array(unmanaged.numbers) == model,
                "seed \(seed), step \(step), edit \(kind): \(Array(managed.numbers)) \(Array(unmanaged.numbers)) \(model)"
            )
        }
        try realm.commitWrite()
        #expect(Array(managed.numbers) == model && managed.numbers.count == model.count)
    }

    @Test func elementsThatAreMovedByOffsetsKeepTheirOrder() throws {
        let realm = try memoryRealm()
        let people = [Person(), Person()]
        try realm.write { realm.add(people[0]) }
        for (offsets, destination, expected) in [
            ([0, 2, 5], 4, [1, 3, 0, 2, 5, 4]), ([0, 1], 6, [2, 3, 4, 5, 0, 1]), ([4, 5], 0, [4, 5, 0, 1, 2, 3]),
            ([1, 3, 4], 2, [0, 1, 3, 4, 2, 5]), ([0, 1, 2, 3, 4, 5], 3, [0, 1, 2, 3, 4, 5]),
            ([], 3, [0, 1, 2, 3, 4, 5]),
        ] {
            try realm.write {
                for list in people.map(\.numbers) {
                    list.removeAll()
                    list.append(objectsIn: 0..<6)
                    list.move(fromOffsets: IndexSet(offsets), toOffset: destination)
                    #expect(Array(list) == expected, "\(offsets) to \(destination)")
                }
            }
        }
    }

    /// A list's sum is computed like that of a property, managed or not (SEMANTICS 73).
    @Test func sumsAreExactAndDoNotTrap() throws {
        let realm = try memoryRealm([Numbers.self])
        let numbers = Numbers()
        numbers.ints.append(objectsIn: [.max, .max, 5])
        numbers.bytes.append(objectsIn: [100, 100, -1])
        numbers.floats.append(1e8)
        for _ in 0..<104 { numbers.floats.append(1) }
        for _ in 0..<2 {
            #expect(numbers.ints.sum() == .max && numbers.bytes.sum() == .max && numbers.floats.sum() == 100_000_104)
            if numbers.realm == nil { try realm.write { realm.add(numbers) } }
        }
        try realm.write {
            numbers.ints.append(objectsIn: [.min, .min])
            numbers.bytes.append(-128)
        }
        #expect(numbers.ints.sum() == 3 && numbers.bytes.sum() == 71)
    }

    /// Assigning to a list property copies the elements into the list (SPEC R48). Assigning a list to itself keeps
    /// its elements (SEMANTICS 31).
    @Test func assigningAListCopiesItAndAssigningItToItselfKeepsIt() throws {
        let realm = try memoryRealm()
        let person = Person(value: ["numbers": [1, 2, 3]])
        for _ in 0..<2 {
            let list = person.numbers
            if person.realm == nil {
                person.numbers = list
                #expect(Array(person.numbers) == [1, 2, 3] && person.numbers === list)
                try realm.write { realm.add(person) }
            } else {
                try realm.write { person.numbers = list }
                #expect(Array(person.numbers) == [1, 2, 3] && person.numbers === list)
                try realm.write { person["numbers"] = [7, 8] }
                #expect(Array(list) == [7, 8])
                try realm.write { person["numbers"] = nil }
                #expect(list.count == 0)
            }
        }
    }

    /// Deleting while iterating is legal: iteration runs over a snapshot (SEMANTICS 35).
    @Test func deletingWhileIteratingAListDeletesAll() throws {
        let realm = try memoryRealm()
        let person = Person(value: ["dogs": [[1], [2], [3]]])
        try realm.write {
            realm.add(person)
            for dog in person.dogs { realm.delete(dog) }
        }
        #expect(person.dogs.count == 0 && realm.objects(Dog.self).count == 0)
    }

    /// Managed lists are equal if they are the same list of the same row; unmanaged lists compare their elements
    /// (SEMANTICS 43).
    @Test func managedListsAreEqualIfTheyAreTheSameList() throws {
        let realm = try memoryRealm()
        let one = Person(value: ["numbers": [1]])
        let two = Person(value: ["numbers": [1]])
        #expect(one.numbers == two.numbers)
        try realm.write { realm.add([one, two]) }
        #expect(one.numbers != two.numbers && realm.objects(Person.self)[0].numbers == one.numbers)
    }

    /// An index out of bounds stops, naming the index and the count (SPEC R47).
    @Test(arguments: [-1, 3])
    func anIndexOutOfBoundsStops(index: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [index] in
            let realm = try memoryRealm()
            let person = Person(value: ["numbers": [1, 2, 3]])
            try realm.write { realm.add(person) }
            print(person.numbers[index])
        }
        expectMessage(result, "index \(index) is out of bounds", "3")
    }

    @Test func changingAListOutsideOfAWriteStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            let person = Person()
            try realm.write { realm.add(person) }
            person.numbers.append(1)
        }
        expectMessage(result, "Person.numbers", "outside of a write transaction")
    }

    /// Any use of a managed list on a thread that is not its realm's stops, even reading.
    @Test(arguments: 0..<7)
    func aListOnAnotherThreadStops(use: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [use] in
            let realm = try memoryRealm()
            let person = Person(value: ["numbers": [1, 2, 3], "dogs": [[1, "Rex"]]])
            try realm.write { realm.add(person) }
            // The list is up to date on its own thread.
            #expect(person.numbers.count == 3 && person.dogs.count == 1)
            nonisolated(unsafe) let (numbers, dogs) = (person.numbers, person.dogs)
            let done = DispatchSemaphore(value: 0)
            Thread {
                switch use {
                case 0: print(numbers.count)
                case 1: print(numbers[0])
                case 2: for number in numbers { print(number) }
                case 3: print(dogs[0].isInvalidated)
                case 4: print(dogs.where { $0.age > 0 }.count)
                case 5: print(numbers.isInvalidated)
                default: numbers.append(4)
                }
                done.signal()
            }.start()
            _ = done.wait(timeout: .testTimeout)
        }
        expectMessage(result, "Firn: ", "on another thread")
    }
}
