#if os(Linux)
    import FirnTestSupport
    import Foundation
    import RealmSwift
    import Testing
    import ToDo
    import ToDoTestSupport

    /// Tables that only apply what their notifications say show what their queries find, while two processes write and
    /// one of them is killed again and again.
    @MainActor
    @Suite(.timeLimit(.minutes(20))) struct TableTests {
        private let folder = TemporaryFolder()
        private var url: URL { URL(fileURLWithPath: folder.path + "/todo.firn") }

        /// A table, and the query that it shows.
        private struct Screen {
            let name: String
            let query: () -> Results<Item>
            let table: Table

            init(_ name: String, _ query: @escaping () -> Results<Item>) {
                self.name = name
                self.query = query
                table = Table(query())
            }

            /// What a new reading shows.
            var freshRows: [String] { query().map(Row.text) }
        }

        private func screens(_ store: Store) -> [Screen] {
            [
                Screen("open") { store.open },
                Screen("overdue") { store.overdue(at: .middle) },
                Screen("reminded") { store.reminded(before: .middle) },
                Screen("search") { store.search("the") },
                Screen("in a list") { store.inLists(named: "Home") },
            ]
        }

        @Test func tablesShowWhatTheirQueriesFindBesideAProcessThatIsKilled() async throws {
            let store = try Store(at: url)
            var edits = RandomEdits(seed: 100)
            try edits.fill(store, itemCount: 25)
            let screens = screens(store)
            #expect(screens.allSatisfy { $0.table.rows.isEmpty && $0.table.updateCount == 0 })
            try await delivers(screens)

            for life in 0..<5 {
                // The same process again, which continues its list, and at last another one.
                let worker = Worker(url, seed: life < 4 ? 1 : 2)
                try await worker.makes(1)
                for round in 0..<40 {
                    try store.edit { edits.apply($0, to: store, limit: 6) }
                    if round % 2 == 0 {
                        // Whatever the other process has done meanwhile is shown, too.
                        store.realm.refresh()
                        try expectRows(screens, "life \(life), round \(round)")
                    } else {
                        // Notifications come by the run loop.
                        try await delivers(screens)
                    }
                    if round % 10 == 9 { expectConsistency(store) }
                    if round % 20 == 19 { try await worker.makes(20) }
                }
                let acknowledged = try await worker.killed()
                store.realm.refresh()
                try expectRows(screens, "life \(life), after the kill")
                expectConsistency(store)
                try expectOwnList(store, worker.seed, acknowledged: acknowledged)
            }
            #expect(screens.allSatisfy { $0.table.updateCount > 100 && $0.table.changedRowCount > 300 })
        }

        /// Returns when all tables show what their queries find. They can do so only if a notification brings them
        /// there, because nothing is refreshed here.
        private func delivers(_ screens: [Screen]) async throws {
            let isThrough = await TestTimeout.suspends {
                screens.allSatisfy { $0.table.updateCount > 0 && $0.table.rows == $0.freshRows }
            }
            if !isThrough {
                try expectRows(screens, "no notification")
                Issue.record("a table was never told of its items")
            }
        }

        /// Ends the test at the first difference, because all tables are wrong from there on.
        private func expectRows(_ screens: [Screen], _ context: String) throws {
            for screen in screens {
                let difference = screen.freshRows.difference(from: screen.table.rows)
                try #require(difference.isEmpty, "\(context): the table \"\(screen.name)\" differs")
            }
        }
    }
#endif
