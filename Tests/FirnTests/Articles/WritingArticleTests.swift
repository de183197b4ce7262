import Firn
import FirnTestSupport
import Foundation
import Testing

/// The code of the article "Writing" (`Tools/check articles`): it compiles, and it does what the article says.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct WritingArticleTests {
    private class Account: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var owner = ""
        @Persisted var balance = 0
        @Persisted var partner: Account?
        @Persisted var helpers: List<Account>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private enum Refusal: Error { case notEnough }

    private let temporary = TemporaryFolder()
    private var url: URL { URL(filePath: temporary.path + "/accounts.firn") }

    private func newRealm() throws -> Realm {
        try Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Account.self]))
    }

    @Test func theCodeOfTheArticle() async throws {
        let realm = try Realm(configuration: .init(fileURL: url, objectTypes: [Account.self]), queue: nil)
        // article: Writing
        let bob = Account(value: [2, "Bob", 0] as [Any])
        let ann = try realm.write {
            let ann = realm.create(Account.self, value: ["id": 1, "owner": "Ann"] as [String: Any])
            ann.balance = 100
            realm.add(bob)
            return ann
        }
        // end
        #expect(realm.objects(Account.self).map(\.id) == [1, 2])
        #expect(ann.balance == 100 && bob.owner == "Bob")

        // article: Writing
        @MainActor func pay(_ amount: Int, from payer: Account, to payee: Account) throws -> Int {
            try realm.write {
                payer.balance -= amount
                payee.balance += amount
                if payer.balance < 0 { throw Refusal.notEnough }
                return payer.balance
            }
        }
        // end
        #expect(try pay(30, from: ann, to: bob) == 70)
        #expect(throws: Refusal.notEnough) { _ = try pay(100, from: ann, to: bob) }
        #expect(ann.balance == 70 && bob.balance == 30)

        // article: Writing
        try realm.tryBeginWrite()
        ann.balance += 5
        if ann.balance > 1000 { realm.cancelWrite() } else { try realm.commitWrite() }
        // end
        #expect(ann.balance == 75 && !realm.isInWriteTransaction)

        let row: [String: Any] = ["id": 3, "owner": "Cid", "balance": 7]
        // article: Writing
        try realm.write {
            realm.create(Account.self, value: ["id": 1, "owner": "Anna"] as [String: Any], update: .modified)
            try realm.create(Account.self, validating: row, update: .modified)  // `row` may be wrong
        }
        // end
        #expect(ann.owner == "Anna" && ann.balance == 75 && realm.objects(Account.self).count == 3)

        try realm.write {
            ann.partner = bob
            ann.helpers.append(bob)
            realm.create(Account.self, value: ["id": 4])
        }
        // article: Writing
        try realm.write {
            realm.delete(bob)
            realm.delete(realm.objects(Account.self).where { $0.balance == 0 })
        }
        // end
        #expect(bob.isInvalidated && ann.partner == nil && ann.helpers.isEmpty)
        #expect(realm.objects(Account.self).map(\.id) == [1, 3])

        let url = URL(filePath: temporary.path + "/relaxed.firn")
        // article: Writing
        var configuration = Realm.Configuration(fileURL: url, objectTypes: [Account.self])
        configuration.durability = .relaxed(interval: 0.2)
        // end
        let relaxed = try Realm(configuration: configuration, queue: nil)
        try relaxed.write { relaxed.create(Account.self, value: ["id": 1]) }
        #expect(relaxed.objects(Account.self).count == 1)

        var calls: [[Int]] = []
        let token = realm.objects(Account.self).observe { change in
            switch change {
            case .initial: calls.append([])
            case .update(_, let deletions, let insertions, let modifications):
                calls.append(deletions + insertions + modifications)
            case .error: break
            }
        }
        await wait { calls.count == 1 }
        // article: Writing
        try realm.write(withoutNotifying: [token]) { ann.balance = 0 }
        // end
        try realm.write { realm.create(Account.self, value: ["id": 5]) }
        await wait { calls.count == 2 }
        // The observer learns of the new object, at index 2, and not of the balance.
        #expect(calls == [[], [2]])
        token.invalidate()

        let rows: [[String: Any]] = (100..<125).map { ["id": $0, "owner": "row \($0)"] }
        // article: Writing
        for start in stride(from: 0, to: rows.count, by: 10_000) {
            try realm.write {
                for row in rows[start..<min(start + 10_000, rows.count)] { realm.create(Account.self, value: row) }
            }
        }
        // end
        #expect(realm.objects(Account.self).count == 28)
    }

    @Test func whatATransactionShowsAndUndoes() throws {
        let realm = try newRealm()
        let added = Account(value: ["id": 1])
        #expect(throws: Refusal.notEnough) {
            try realm.write {
                realm.add(added)
                #expect(realm.objects(Account.self).count == 1)
                throw Refusal.notEnough
            }
        }
        #expect(realm.isEmpty && added.isInvalidated)
        // An empty transaction is a commit.
        try realm.write { realm.create(Account.self, value: ["id": 1]) }
        let before = realm.activeVersions.last?.number ?? 0
        try realm.write {}
        #expect(realm.activeVersions.last?.number == before + 1)
    }

    @Test func policies() async throws {
        let realm = try newRealm()
        let account = try realm.write {
            realm.create(Account.self, value: ["id": 1, "owner": "Ann", "balance": 5] as [String: Any])
        }
        var names: [[String]] = []
        let token = account.observe { (change: ObjectChange<Account>) in
            if case .change(_, let properties) = change { names.append(properties.map(\.name).sorted()) }
        }
        let values: [String: Any] = ["id": 1, "owner": "Ann", "balance": 6]
        try realm.write { realm.create(Account.self, value: values, update: .modified) }
        await wait { names.count == 1 }
        try realm.write { realm.create(Account.self, value: values, update: .all) }
        await wait { names.count == 2 }
        #expect(names.first == ["balance"])
        #expect(names.last?.contains("balance") == true && names.last?.contains("owner") == true)
        token.invalidate()
        try realm.write {
            let error = #expect(throws: Realm.Error.self) { try realm.create(Account.self, validating: values) }
            #expect(error?.code == .invalidInput)
        }
        #expect(realm.objects(Account.self).count == 1)
    }

    @Test func aWriteWithinAWriteStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { @MainActor in
            let realm = try memoryRealm()
            try realm.write { try realm.write {} }
        }
        expectMessage(result, "is in a write transaction already")
    }

    @Test func tooManyHeldVersionsAreThrown() throws {
        var configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [Account.self])
        configuration.maximumNumberOfActiveVersions = 1
        let realm = try Realm(configuration: configuration)
        do {
            let frozen = realm.freeze()
            try realm.write { realm.create(Account.self, value: ["id": 1]) }
            #expect(throws: Realm.Error.tooManyActiveVersions) {
                try realm.write { realm.create(Account.self, value: ["id": 2]) }
            }
            #expect(frozen.isEmpty && realm.objects(Account.self).count == 1)
        }
        // Nothing must be reopened.
        try realm.write { realm.create(Account.self, value: ["id": 2]) }
        #expect(realm.objects(Account.self).count == 2)
    }
}
