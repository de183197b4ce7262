import Foundation
import Testing

@testable import Firn

@MainActor
@Suite(.timeLimit(.minutes(20))) struct SkippedNotificationTests {
    private let name = UUID().uuidString
    private let types: [ObjectBase.Type] = [Dog.self, Person.self]

    /// SEMANTICS 57: an observer that is not told of a transaction is still told of what others wrote. Here another writer's version is written, and
    /// not published, when the transaction begins on it.
    @Test func whatAnotherWriterHadWrittenIsToldThoughTheTransactionIsNot() async throws {
        let realm = try memoryRealm(types, name)
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var told: [String] = []
        let token = dog.observe { (change: ObjectChange<Dog>) in
            guard case .change(_, let properties) = change else { return }
            told += properties.map { "\($0.name): \($0.newValue.map { "\($0)" } ?? "-")" }
        }
        var updates = 0
        let others = realm.objects(Dog.self).where { $0.age > 0 }.observe { change in
            if case .update = change { updates += 1 }
        }
        await settle(realm)

        let binding = realm.instance.binding(of: Dog.self)
        let age = try #require(binding.info.stored.first { $0.name == "age" })
        let store = realm.instance.store
        let other = try store.beginWrite()
        let key = try #require(other.table(binding.table).firstKey(primaryKeyInt: 1))
        other.set(binding.table, binding.column(age), key, .int(9))
        _ = try other.write()
        try realm.write(withoutNotifying: [token, others]) {
            #expect(dog.age == 9)
            dog.name = "Max"
        }
        await settle(realm)
        #expect(told == ["age: 9"])
        #expect(updates == 1)
        try realm.write { dog.name = "Ben" }
        await wait { updates == 2 }
        #expect(told == ["age: 9", "name: Ben"])
    }
}
