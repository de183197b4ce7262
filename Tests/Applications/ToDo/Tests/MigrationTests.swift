#if os(Linux)
    import FirnTestSupport
    import Foundation
    import RealmSwift
    import Testing
    import ToDo
    import ToDoTestSupport

    /// A store that an earlier version of the application has written, in a process of that time, keeps every value.
    @Suite(.timeLimit(.minutes(20))) struct MigrationTests {
        private let folder = TemporaryFolder()
        private var url: URL { URL(fileURLWithPath: folder.path + "/todo.firn") }
        private static let itemCount = 4000

        private func make(version: Int) throws {
            let child = try ChildProcess(
                program: "firn-todo", ["make", "\(version)", url.path, "\(Self.itemCount)"])
            #expect(child.wait() == .exited(0))
            #expect(try schemaVersionAtURL(url) == UInt64(version))
        }

        @Test(arguments: [1, 2]) func everyValueIsKept(_ version: Int) throws {
            try make(version: version)
            try expectSample()
            // It is migrated once, and the other process reads what this one has migrated.
            let child = try ChildProcess(program: "firn-todo", ["show", url.path])
            var lines: [String] = []
            while let line = try child.readLine() { lines.append(line) }
            #expect(child.wait() == .exited(0))
            let store = try Store(at: url)
            #expect(Array(lines.dropFirst()) == store.open.map(Row.text))
        }

        private func expectSample() throws {
            let store = try Store(at: url)
            let sample = Sample(Self.itemCount)
            #expect(store.items.count == Self.itemCount)
            // Each is found by its new key.
            let changed = sample.drafts.filter { store.item($0.id).map(Draft.init) != $0 }
            #expect(changed.isEmpty)
            #expect(store.lists.map(\.key) == sample.lists.map(\.key))
            for expected in sample.lists {
                let list = try #require(store.list(expected.key))
                #expect(list.name == expected.name && list.editCount == 0)
                #expect(list.tasks.map(\._id) == expected.numbers.map { Store.id(ofNumber: $0) })
            }
            expectConsistency(store)
            // The indexes were made for the new properties, and for those that were renamed.
            let found = store.items.where { $0.title == sample.drafts[77].title }
            #expect(found.explain().contains("index"))
            #expect(found.count == sample.drafts.count { $0.title == sample.drafts[77].title })
            #expect(store.items.where { $0.isDone }.count == sample.drafts.count(where: \.isDone))
            #expect(store.realm.schema["Badge"] == nil)
        }

        /// What was migrated is a store like any other.
        @Test func aMigratedStoreIsEdited() throws {
            try make(version: 1)
            let store = try Store(at: url)
            var edits = RandomEdits(seed: 1)
            for _ in 0..<30 { try store.edit { edits.apply($0, to: store, limit: 20) } }
            let door = try store.edit { $0.add(Draft("Paint the door"), to: try #require(store.list("home"))) }
            #expect(store.search("paint the door").contains(door))
            expectConsistency(store)
        }
    }
#endif
