#if os(Linux)
    import FirnTestSupport
    import Foundation
    import RealmSwift
    import Testing
    import ToDo
    import ToDoTestSupport

    /// The only process that has the store open is killed: the next one recovers the store, checks every byte of it,
    /// and finds everything that was acknowledged.
    @MainActor
    @Suite(.timeLimit(.minutes(20))) struct RecoveryTests {
        private let folder = TemporaryFolder()
        private var url: URL { URL(fileURLWithPath: folder.path + "/todo.firn") }

        @Test func nothingAcknowledgedIsLostByAKill() async throws {
            try Self.fill(url)
            var random = SeededRandom(seed: 5)
            for _ in 0..<8 {
                let worker = Worker(url, seed: 3)
                try await worker.makes(1 + random.below(150))
                usleep(UInt32(random.below(2000)))
                let acknowledged = try await worker.killed()
                let rows = try Self.recover(url)
                try Self.expect(url, worker: worker, acknowledged: acknowledged, rows: rows)
            }
        }

        /// Nothing of the store stays open in this process.
        private static func fill(_ url: URL) throws {
            let store = try Store(at: url)
            var edits = RandomEdits(seed: 200)
            try edits.fill(store, itemCount: 20)
        }

        /// Opens the store in a new process, and returns the rows that it shows.
        private static func recover(_ url: URL) throws -> [String] {
            let child = try ChildProcess(program: "firn-todo", ["show", url.path])
            let found = try #require(try child.readLine())
            #expect(found.hasPrefix("clean: ") || found.hasPrefix("tornTail: "), "\(found)")
            var rows: [String] = []
            while let row = try child.readLine() { rows.append(row) }
            #expect(child.wait() == .exited(0))
            return rows
        }

        private static func expect(_ url: URL, worker: Worker, acknowledged: Int, rows: [String]) throws {
            let store = try Store(at: url)
            #expect(store.open.map(Row.text) == rows)
            expectConsistency(store)
            try expectOwnList(store, worker.seed, acknowledged: acknowledged)
        }
    }
#endif
