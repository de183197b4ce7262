import FirnStorage
import Testing

@testable import FirnCore

/// A store that contradicts itself makes a commit throw, or the contradiction is ignored; it never stops the program.
@Suite(.timeLimit(.minutes(20))) struct ForgedOwnerTests {
    private static let (owner, owned) = (TableID(0), TableID(1))

    /// A store with an owner whose list refers to its embedded objects by `links`.
    private static func store(_ links: [Int64]) throws -> Store {
        let store = try Store(StoreOptions(log: nil), storage: MemoryStorage())
        let transaction = try store.beginWrite()
        try transaction.changeSchema(
            to: StoreSchema(tables: [
                TableSchema(
                    name: "Owner", columns: [ColumnSchema(name: "parts", type: .link, collection: .list, target: owned)]
                ),
                TableSchema(
                    name: "Part", isEmbedded: true,
                    columns: [ColumnSchema(name: "part", type: .link, isNullable: true, target: owned)]),
            ]))
        for _ in 0..<3 { try transaction.endRow(transaction.beginRow(owned)) }
        try transaction.endRow(transaction.beginRow(owner))
        transaction.edit(owner, column: 0, key: 0) { list in for link in links { list.append(.link(link)) } }
        // A chain: the first part owns the last.
        transaction.set(owned, column: 0, key: 0, to: .link(2))
        try transaction.commit()
        return store
    }

    @Test(arguments: [[0, 0], [0, 1, 0, 2], [2, 0], [7, 0]] as [[Int64]])
    func anEmbeddedObjectThatIsLinkedTwiceIsDeletedOnce(links: [Int64]) throws {
        let store = try Self.store(links)
        let transaction = try store.beginWrite()
        transaction.delete(Self.owner, 0)
        #expect(transaction.metDamage == nil)
        try transaction.commit()
        let snapshot = store.pin().snapshot
        #expect(snapshot.table(Self.owner).count == 0)
        for link in links { #expect(snapshot.table(Self.owned).find(link) == nil) }
        #expect(snapshot.table(Self.owned).count == (links.contains(1) ? 0 : 1))
    }

    /// A forged store may have an index that refers to such an object.
    @Test func anOwnedObjectThatDoesNotExistFailsTheCommit() throws {
        let store = try Self.store([0])
        let before = store.publishedVersion
        for body in [
            { $0.set(Self.owned, column: 0, key: 9, to: .link(1)) }, { $0.delete(Self.owned, 9) },
            { $0.edit(Self.owner, column: 0, key: 9) { $0.append(.link(1)) } },
        ] as [(WriteTransaction) -> Void] {
            let transaction = try store.beginWrite()
            body(transaction)
            let error = #expect(throws: StoreError.self) { try transaction.commit() }
            #expect(error?.code == .damage && error?.description.contains("no object with key 9") == true)
        }
        #expect(store.publishedVersion == before)
    }
}
