#if os(Linux)
    import Firn
    import FirnTestSupport
    import Foundation
    import Testing

    class Counter: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var value = 0
    }

    /// A realm shows what another process has committed, and notifies its observers.
    @MainActor
    @Suite(.timeLimit(.minutes(20))) struct SeveralProcessesTests {
        private let folder = TemporaryFolder()

        private func open() throws -> Realm {
            try Realm(
                configuration: .init(
                    fileURL: URL(fileURLWithPath: folder.path + "/store"), objectTypes: [Counter.self]))
        }

        private func makeCounter() throws -> (Realm, Counter) {
            let realm = try open()
            let counter = Counter(value: ["id": 1])
            try realm.write { realm.add(counter) }
            return (realm, counter)
        }

        @Test func observersGetCommitsOfAnotherProcessWithOldAndNewValues() async throws {
            let (realm, counter) = try makeCounter()
            var received: [(Int, Int)] = []
            var isContinuous = true
            let token = counter.observe { (change: ObjectChange<Counter>) in
                guard case .change(_, let properties) = change, let property = properties.first,
                    let old = property.oldValue as? Int, let new = property.newValue as? Int
                else {
                    isContinuous = false
                    return
                }
                // Versions may be delivered together, but none is left out.
                isContinuous = isContinuous && old == received.last?.1 ?? 0 && new > old && property.name == "value"
                received.append((old, new))
            }
            var results = -1
            let other = realm.objects(Counter.self).observe { (changes: RealmCollectionChange<Results<Counter>>) in
                switch changes {
                case .initial: results = 0
                case .update(_, _, _, let modifications): results += modifications == [0] ? 1 : 100
                case .error: results = 1000
                }
            }
            await wait { results == 0 }
            let child = try ChildProcess(folder.path + "/store", "count", "20")
            await wait { received.last?.1 == 20 && results > 0 }
            #expect(isContinuous && received.last?.1 == 20 && (1...20).contains(results))
            #expect(counter.value == 20)
            #expect(child.wait() == .exited(0))
            token.invalidate()
            other.invalidate()
        }

        @Test func twoProcessesWriteInTurns() async throws {
            let (realm, counter) = try makeCounter()
            let child = try ChildProcess(folder.path + "/store", "count", "40")
            for _ in 0..<40 { try realm.write { counter.value += 1 } }
            #expect(child.wait() == .exited(0))
            // The commits of another process are visible once it has ended, without a turn of the run loop.
            realm.refresh()
            #expect(counter.value == 80)
        }

        @Test func aSchemaFromWhichAnotherProcessHasRemovedSomethingIsThrown() throws {
            let (realm, counter) = try makeCounter()
            try realm.write { counter.value = 3 }
            // Like a process with other classes.
            let other = try ForeignStore(folder.path + "/store")
            try other.removeColumn("value", of: "Counter")
            for _ in 0..<2 {
                let error = #expect(throws: Realm.Error.self) { try realm.tryRefresh() }
                #expect(error?.code == .schemaMismatch)
            }
            #expect(!realm.refresh() && counter.value == 3)
            #expect(throws: Realm.Error.self) { try realm.write {} }
            #expect(throws: Realm.Error.self) { _ = try open() }
        }

        @Test func aMigrationThatRemovesSomethingNeedsToBeTheOnlyProcess() throws {
            do { _ = try makeCounter() }
            let other = try ForeignStore(folder.path + "/store")
            try other.addColumn("extra", to: "Counter")
            var configuration = Realm.Configuration(
                fileURL: URL(fileURLWithPath: folder.path + "/store"), objectTypes: [Counter.self])
            configuration.schemaVersion = 1
            let error = try #require(throws: Realm.Error.self) { _ = try Realm(configuration: configuration) }
            #expect(error.code == .alreadyOpen && "\(error)".contains("extra"))
            try other.close()
            #expect(try Realm(configuration: configuration).objects(Counter.self).count == 1)
        }

        @Test func classesOfTwoProcessesAreCombinedInOneStore() throws {
            let (realm, counter) = try makeCounter()
            let other = try ForeignStore(folder.path + "/store")
            try other.addTable("Other")
            #expect(try realm.tryRefresh())
            try realm.write { counter.value = 9 }
            #expect(try other.tables() == ["Counter", "Other"])
        }
    }
#endif
