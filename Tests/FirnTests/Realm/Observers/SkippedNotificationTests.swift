import FirnCore
import Foundation
import Synchronization
import Testing

@testable import Firn

@MainActor
@Suite(.timeLimit(.minutes(20))) struct SkippedNotificationTests {
    private let name = UUID().uuidString
    private let types: [ObjectBase.Type] = [Dog.self, Person.self]

    /// An observer that skips a transaction (SEMANTICS 56) is still shown what others wrote, and the block sees the
    /// newest data (SEMANTICS 8). Here another writer's version is written, and not published, when the transaction
    /// begins on it.
    @Test func anotherWritersCommitIsDeliveredAlthoughTheTransactionIsSkipped() async throws {
        let realm = try memoryRealm(types, name)
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var received: [String] = []
        let token = dog.observe { (change: ObjectChange<Dog>) in
            guard case .change(_, let properties) = change else { return }
            received += properties.map { "\($0.name): \($0.newValue.map { "\($0)" } ?? "-")" }
        }
        var updates = 0
        let others = realm.objects(Dog.self).where { $0.age > 0 }.observe { change in
            if case .update = change { updates += 1 }
        }
        await waitForDeliveries(of: realm)

        let binding = realm.instance.binding(of: Dog.self)
        let age = try #require(binding.info.stored.first { $0.name == "age" })
        let store = realm.instance.store
        let other = try store.beginWrite()
        let key = try #require(other.table(binding.table).firstKey(primaryKeyInt: 1))
        other.set(binding.table, column: binding.column(age), key: key, to: .int(9))
        _ = try other.commitWithoutWaiting()
        try realm.write(withoutNotifying: [token, others]) {
            #expect(dog.age == 9)
            dog.name = "Max"
        }
        await waitForDeliveries(of: realm)
        #expect(received == ["age: 9"])
        #expect(updates == 1)
        try realm.write { dog.name = "Ben" }
        await wait { updates == 2 }
        #expect(received == ["age: 9", "name: Ben"])
    }

    /// The write lock is free before the transaction's version is durable, so another writer's version may be published
    /// together with it.
    @Test func aCommitPublishedTogetherWithASkippedTransactionIsDeliveredAsAnothers() async throws {
        let realm = try memoryRealm(types, name)
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var skipping: [String] = []
        var notified: [String] = []
        let token = dog.observe { (change: ObjectChange<Dog>) in skipping.append(text(change)) }
        let other = dog.observe { (change: ObjectChange<Dog>) in notified.append(text(change)) }
        await waitForDeliveries(of: realm)

        let binding = realm.instance.binding(of: Dog.self)
        let age = binding.column(try #require(binding.info.stored.first { $0.name == "age" }))
        let table = binding.table
        let store = realm.instance.store
        let listener = publishedTogether(store) { $0.set(table, column: age, key: 0, to: .int(8)) }
        try realm.write(withoutNotifying: [token]) { dog.name = "Max" }
        await waitForDeliveries(of: realm)
        #expect(skipping == ["age: 1 > 8"])
        #expect(notified == ["name: - > Max, age: 1 > 8"])
        withExtendedLifetime((listener, token, other)) {}
    }

    /// The documented pattern: a block writes to what it observes, without being notified of that. Meanwhile another
    /// thread has written.
    @Test func anotherWritersCommitDuringABlockIsDeliveredAlthoughTheBlocksOwnWriteIsSkipped() async throws {
        let realm = try memoryRealm(types, name)
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var received: [String] = []
        var token: NotificationToken?
        token = dog.observe { (change: ObjectChange<Dog>) in
            received.append(text(change))
            guard received.count == 1, let token else { return }
            do {
                try onAnotherThread(name, types: types) { other in
                    try other.write { other.objects(Dog.self)[0].age = 7 }
                }
                // The same property: the value that another thread set is not the block's own.
                try realm.write(withoutNotifying: [token]) { dog.age = 8 }
                try realm.write(withoutNotifying: [token]) { dog.name = "Own" }
            } catch { Issue.record(error) }
        }
        try realm.write { dog.age = 2 }
        await wait { received.count == 2 }
        await waitForDeliveries(of: realm)
        #expect(received == ["age: - > 2", "age: 2 > 7"])
        try realm.write { dog.name = "Ben" }
        await waitForDeliveries(of: realm)
        #expect(received.dropFirst(2) == ["name: - > Ben"])
        token?.invalidate()
    }

    /// Of each version that a skipped write follows, the observer is shown what was assigned, however many versions
    /// there are by then: also the value that was there before, which a comparison of versions would not find.
    @Test func manySkippedWritesDuringABlockHideNoAssignment() async throws {
        let realm = try memoryRealm(types, name)
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var received: [String] = []
        var token: NotificationToken?
        token = dog.observe { (change: ObjectChange<Dog>) in
            received.append(text(change))
            guard received.count == 1, let token else { return }
            do {
                for _ in 0..<100 {
                    try onAnotherThread(name, types: types) { other in
                        try other.write { other.objects(Dog.self)[0].age = 2 }
                    }
                    try realm.write(withoutNotifying: [token]) { dog.name = "Own" }
                }
            } catch { Issue.record(error) }
        }
        try realm.write { dog.age = 2 }
        await wait { received.count >= 2 }
        await waitForDeliveries(of: realm)
        #expect(received == ["age: - > 2"] + Array(repeating: "age: 2 > 2", count: 100))
        token?.invalidate()
    }

    @Test func deliveredInsertionsAndDeletionsAddUpIfABlockWrites() async throws {
        let realm = try memoryRealm(types, name)
        let dogs = realm.objects(Dog.self).where { $0.age > 0 }
        var rows = 0
        var updates = 0
        var token: NotificationToken?
        token = dogs.observe { change in
            guard case .update(_, let deletions, let insertions, _) = change, let token else { return }
            rows += insertions.count - deletions.count
            updates += 1
            guard updates == 1 else { return }
            do {
                try onAnotherThread(name, types: types) { other in
                    try other.write { for id in 10..<13 { other.add(Dog(id, "other")) } }
                }
                try realm.write(withoutNotifying: [token]) { realm.add(Dog(2, "own")) }
                rows += 1
            } catch { Issue.record(error) }
        }
        await waitForDeliveries(of: realm)
        try realm.write { realm.add(Dog(1, "first")) }
        await wait { updates == 2 }
        await waitForDeliveries(of: realm)
        #expect(updates == 2 && rows == 5 && dogs.count == 5)
        token?.invalidate()
    }

    /// Indices are of no use in a collection of another version.
    @Test func indicesDeliveredBeforeASkippedTransactionMatchTheCollection() async throws {
        let realm = try memoryRealm(types, name)
        try realm.write { realm.add(Dog(1, "Rex")) }
        for dogs in [realm.objects(Dog.self), realm.objects(Dog.self).where { $0.age > 0 }] {
            var counts: [Int] = []
            let token = dogs.observe { change in
                guard case .update(let received, let deletions, let insertions, _) = change else { return }
                counts.append(insertions.count - deletions.count)
                #expect(
                    received.count == realm.objects(Dog.self).count, "the realm shows the version that is delivered")
                counts.append(dogs.count)
            }
            await waitForDeliveries(of: realm)
            let before = dogs.count
            // This version is written, and not published.
            let binding = realm.instance.binding(of: Dog.self)
            let other = try realm.instance.store.beginWrite()
            var row = other.beginRow(binding.table)
            for (number, property) in binding.info.stored.enumerated() where !property.isLink {
                switch property.name {
                case "id": other.fill(row, binding.columns[number], fixed: Int64(100 + before))
                case "age": other.fill(row, binding.columns[number], fixed: Int64(5))
                default: other.fill(&row, column: binding.columns[number], value: .string("other"))
                }
            }
            try other.endRow(row)
            _ = try other.commitWithoutWaiting()
            let own = Dog(50 + before, "own")
            try realm.write(withoutNotifying: [token]) { realm.add(own) }
            #expect(counts == [1, before + 1])
            #expect(dogs.count == before + 2 && own.name == "own" && !own.isInvalidated)
            await waitForDeliveries(of: realm)
            #expect(counts.count == 2)
            token.invalidate()
        }
    }

    /// The block may itself write in a transaction that skips its token. It is not called again.
    @Test func aBlockThatIsCalledBeforeASkippedTransactionMayWrite() async throws {
        let realm = try memoryRealm(types, name)
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var names: [String] = []
        var token: NotificationToken?
        token = dog.observe { (_: ObjectChange<Dog>) in
            names.append(dog.name)
            guard names.count == 1, let token else { return }
            do {
                try realm.write(withoutNotifying: [token]) {
                    names.append(dog.name)
                    dog.name = "block"
                }
            } catch { Issue.record(error) }
        }
        await waitForDeliveries(of: realm)
        let binding = realm.instance.binding(of: Dog.self)
        let age = try #require(binding.info.stored.first { $0.name == "age" })
        let other = try realm.instance.store.beginWrite()
        other.set(binding.table, column: binding.column(age), key: 0, to: .int(9))
        _ = try other.commitWithoutWaiting()
        try realm.write(withoutNotifying: try [#require(token)]) { dog.name = "own" }
        #expect(names == ["Rex", "own"] && dog.name == "block" && dog.age == 9)
        await waitForDeliveries(of: realm)
        #expect(names.count == 2)
        token?.invalidate()
    }

    /// Deletion is reported exactly once (SEMANTICS 47). A token that skipped the transaction is not notified of it,
    /// now or later (SEMANTICS 56).
    @Test func aSkippedDeletionIsNotDeliveredLater() async throws {
        let realm = try memoryRealm(types, name)
        let dogs = [Dog(1, "Rex"), Dog(2, "Max")]
        try realm.write { realm.add(dogs) }
        var received: [String] = []
        func observe(_ dog: Dog, _ name: String) -> NotificationToken {
            dog.observe { (change: ObjectChange<Dog>) in
                if case .deleted = change { received.append(name) }
            }
        }
        let (skipping, notified) = (observe(dogs[0], "skipping"), observe(dogs[0], "notified"))
        await waitForDeliveries(of: realm)
        try realm.write(withoutNotifying: [skipping]) { realm.delete(dogs[0]) }
        await waitForDeliveries(of: realm)
        try realm.write { dogs[1].age = 3 }
        await waitForDeliveries(of: realm)
        #expect(received == ["notified"])
        withExtendedLifetime((skipping, notified)) {}
    }

    /// `refresh()` does nothing while notifications are being sent (SEMANTICS 5). Here the commit itself calls the
    /// block.
    @Test func refreshDoesNothingInABlockThatACommitCalls() async throws {
        let realm = try memoryRealm(types, name)
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var refreshed: [Bool] = []
        let token = dog.observe { (_: ObjectChange<Dog>) in
            guard refreshed.isEmpty else { return }
            do {
                try onAnotherThread(name, types: types) { other in
                    try other.write { other.objects(Dog.self)[0].age = 5 }
                }
            } catch { Issue.record(error) }
            refreshed.append(realm.refresh())
        }
        await waitForDeliveries(of: realm)
        let binding = realm.instance.binding(of: Dog.self)
        let age = try #require(binding.info.stored.first { $0.name == "age" })
        let other = try realm.instance.store.beginWrite()
        other.set(binding.table, column: binding.column(age), key: 0, to: .int(9))
        _ = try other.commitWithoutWaiting()
        try realm.write(withoutNotifying: [token]) {}
        #expect(refreshed == [false] && dog.age == 9)
        token.invalidate()
    }

    /// What another writer writes beside a transaction: nothing, a version that the transaction begins from, or one
    /// that is published with its own.
    enum Other: CaseIterable { case none, before, together }

    /// A realm observer learns that something has changed, not what.
    @Test(arguments: Other.allCases) func aSkippedRealmObserverIsNotifiedOfAnotherWritersVersion(_ other: Other) throws
    {
        let realm = try memoryRealm(types, name)
        try realm.write { realm.add(Dog(1, "Rex")) }
        let dog = realm.objects(Dog.self)[0]
        var calls = 0
        let token = realm.observe { notification, _ in if notification == .didChange { calls += 1 } }
        let binding = realm.instance.binding(of: Dog.self)
        let age = binding.column(try #require(binding.info.stored.first { $0.name == "age" }))
        let table = binding.table
        let store = realm.instance.store
        var listener: Store.Listener?
        switch other {
        case .none: break
        case .before:
            let transaction = try store.beginWrite()
            transaction.set(table, column: age, key: 0, to: .int(8))
            _ = try transaction.commitWithoutWaiting()
        case .together:
            listener = publishedTogether(store) { $0.set(table, column: age, key: 0, to: .int(8)) }
        }
        try realm.write(withoutNotifying: [token]) { dog.name = "Max" }
        #expect(dog.age == (other == .none ? 1 : 8) && dog.name == "Max")
        #expect(calls == (other == .none ? 0 : 1))
        try realm.write(withoutNotifying: [token]) { dog.name = "Ben" }
        #expect(calls == (other == .none ? 0 : 1))
        withExtendedLifetime((listener, token)) {}
    }

    /// Commits another writer's version on the thread that commits next, before that commit returns.
    private func publishedTogether(
        _ store: Store, _ body: @escaping @Sendable (WriteTransaction) -> Void
    ) -> Store.Listener {
        let isDone = Mutex(false)
        return store.onPublish { _ in
            let isFirst = isDone.withLock { isDone in
                defer { isDone = true }
                return !isDone
            }
            guard isFirst else { return }
            do {
                let transaction = try store.beginWrite()
                body(transaction)
                try transaction.commit()
            } catch { Issue.record(error) }
        }
    }

    private func text(_ change: ObjectChange<Dog>) -> String {
        guard case .change(_, let properties) = change else { return "-" }
        return properties.map {
            "\($0.name): \($0.oldValue.map { "\($0)" } ?? "-") > \($0.newValue.map { "\($0)" } ?? "-")"
        }.joined(separator: ", ")
    }
}
