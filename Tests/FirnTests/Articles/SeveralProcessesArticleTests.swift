#if os(Linux)
    import Firn
    import FirnTestSupport
    import Foundation
    import Testing

    /// The code of the article "Several processes" (`Tools/check articles`): it compiles, and it does what the article
    /// says.
    @MainActor
    @Suite(.timeLimit(.minutes(20))) struct SeveralProcessesArticleTests {
        /// The class whose objects `firn-crash-child` counts.
        private class Tally: Object {
            @Persisted(primaryKey: true) var id: Int
            @Persisted var value = 0
            override class func _realmObjectName() -> String? { "Counter" }
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }

        private let temporary = TemporaryFolder()
        private var path: String { temporary.path + "/tallies.firn" }
        private var configuration: Realm.Configuration {
            .init(fileURL: URL(filePath: path), objectTypes: [Tally.self])
        }

        /// Makes a store with one object, and closes it.
        private func makeStore() throws {
            do {
                let realm = try Realm(configuration: configuration)
                try realm.write { realm.create(Tally.self, value: ["id": 1]) }
            }
            try #require(waitUntilClosed(URL(filePath: path)))
        }

        @Test func anotherProcessIsObserved() async throws {
            try makeStore()
            let configuration = configuration
            // article: SeveralProcesses
            let realm = try await Realm.open(configuration: configuration)
            let token = realm.objects(Tally.self).observe { change in
                if case .update(let tallies, _, _, let modifications) = change {
                    for index in modifications { print(tallies[index].value) }  // whichever process has set it
                }
            }
            // end
            let tally = try #require(realm.object(ofType: Tally.self, forPrimaryKey: 1))
            let frozen = tally.freeze()
            let child = try ChildProcess(path, "count", "3")
            // The realm advances by itself.
            await wait { tally.value == 3 }
            #expect(child.wait() == .exited(0))
            #expect(tally.value == 3 && frozen.value == 0)
            token.invalidate()
        }

        @Test func openingHasATimeout() throws {
            var configuration = configuration
            // article: SeveralProcesses
            configuration.lockTimeout = 30
            // end
            #expect(try Realm(configuration: configuration).isEmpty)
        }

        /// Versions that another process holds count until it releases them, or is killed.
        @Test(arguments: [false, true]) func versionsOfAnotherProcessCount(isKilled: Bool) throws {
            try makeStore()
            var configuration = configuration
            configuration.maximumNumberOfActiveVersions = 2
            let realm = try Realm(configuration: configuration)
            let child = try ChildProcess(path, "hold", "3")
            #expect(try child.readLine()?.hasPrefix("held ") == true)
            // article: SeveralProcesses
            do {
                try realm.write { realm.create(Tally.self, value: ["id": 2]) }
            } catch let error as Realm.Error where error.code == .tooManyActiveVersions {
                print(error.message)  // … process 4711 holds 3 versions besides its newest, the oldest 2 …
            }
            // end
            let error = try #require(throws: Realm.Error.self) { try realm.write {} }
            #expect(error.code == .tooManyActiveVersions)
            #expect(error.message.contains("process \(child.identifier) holds 3 versions besides its newest"))
            #expect(realm.activeVersions.count == 1)
            if isKilled {
                #expect(child.kill() == .killed)
            } else {
                try Data().write(to: URL(filePath: path + ".release"))
                #expect(try child.readLine() == "released")
            }
            try realm.write { realm.create(Tally.self, value: ["id": 2]) }
            #expect(realm.objects(Tally.self).map(\.value) == [3, 0])
            if !isKilled { #expect(child.kill() == .killed) }
        }

        @Test func aSchemaThatDoesNotFitIsThrown() throws {
            try makeStore()
            let realm = try Realm(configuration: configuration)
            #expect(realm.objects(Tally.self).count == 1)
            let other = try ForeignStore(path)
            // What only adds is followed, and new objects can still be made.
            try other.addColumn("extra", to: "Counter")
            #expect(try realm.tryRefresh())
            try realm.write { realm.create(Tally.self, value: ["id": 2]) }
            #expect(realm.objects(Tally.self).count == 2)
            try other.removeColumn("value", of: "Counter")
            // article: SeveralProcesses
            do {
                try realm.tryRefresh()
            } catch Realm.Error.schemaMismatch {
                print("release everything of the store, and open it again with classes that fit")
            }
            // end
            #expect(throws: Realm.Error.schemaMismatch) { try realm.tryRefresh() }
            #expect(throws: Realm.Error.schemaMismatch) { try realm.write {} }
            #expect(realm.objects(Tally.self).count == 2)
            try other.close()
        }

        @Test func anOpenStoreIsNotDeleted() throws {
            try makeStore()
            let configuration = configuration
            let realm = try Realm(configuration: configuration)
            let copy = URL(filePath: temporary.path + "/copy.firn")
            // article: SeveralProcesses
            try realm.writeCopy(toFile: copy)
            do {
                _ = try Realm.deleteFiles(for: configuration)
            } catch Realm.Error.alreadyOpen {
                print("in use")
            }
            // end
            #expect(Realm.fileExists(for: configuration))
            let copied = try Realm(configuration: .init(fileURL: copy, objectTypes: [Tally.self]))
            #expect(copied.objects(Tally.self).count == 1)
        }

        /// Another process keeps the store from being deleted, and from a migration that removes something.
        @Test func anotherProcessKeepsTheStore() throws {
            try makeStore()
            let child = try ChildProcess(path, "hold", "1")
            #expect(try child.readLine()?.hasPrefix("held ") == true)
            #expect(throws: Realm.Error.alreadyOpen) { _ = try Realm.deleteFiles(for: configuration) }
            var newer = configuration
            newer.schemaVersion = 1
            newer.objectTypes = [TallyWithoutValue.self]
            let error = try #require(throws: Realm.Error.self) { _ = try Realm(configuration: newer) }
            #expect(error.code == .alreadyOpen && error.message.contains("\(child.identifier)"))
            #expect(child.kill() == .killed)
            #expect(try Realm(configuration: newer).objects(TallyWithoutValue.self).count == 1)
        }

        private class TallyWithoutValue: Object {
            @Persisted(primaryKey: true) var id: Int
            override class func _realmObjectName() -> String? { "Counter" }
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }

        private class TallyWithNote: Object {
            @Persisted(primaryKey: true) var id: Int
            @Persisted var value = 0
            @Persisted var note = "none"
            override class func _realmObjectName() -> String? { "Counter" }
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }

        /// A property is added while another process has the store open. After that, the old classes can't open it.
        @Test func aPropertyIsAddedBesideAnotherProcess() throws {
            try makeStore()
            let child = try ChildProcess(path, "hold", "1")
            #expect(try child.readLine()?.hasPrefix("held ") == true)
            var newer = configuration
            newer.schemaVersion = 1
            newer.objectTypes = [TallyWithNote.self]
            do {
                let realm = try Realm(configuration: newer)
                #expect(realm.objects(TallyWithNote.self).map(\.note) == [""])
            }
            #expect(throws: Realm.Error.schemaMismatch) { _ = try Realm(configuration: configuration) }
            #expect(child.kill() == .killed)
        }

        /// One that has passed the writer lock on hinders no writer, either.
        @Test func aStoppedProcessWithoutTheLockHindersNobody() throws {
            try makeStore()
            let child = try ChildProcess(path, "hold", "1")
            #expect(try child.readLine()?.hasPrefix("held ") == true)
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.create(Tally.self, value: ["id": 2]) }
            #expect(kill(child.identifier, SIGSTOP) == 0)
            try realm.write { realm.create(Tally.self, value: ["id": 3]) }
            #expect(realm.objects(Tally.self).count == 3)
            #expect(child.kill() == .killed)
        }

        @Test func aStoppedProcessHindersNoReader() throws {
            try makeStore()
            let child = try ChildProcess(path, "count", "1000000")
            let realm = try Realm(configuration: configuration)
            #expect(try child.readLine() != nil)
            #expect(kill(child.identifier, SIGSTOP) == 0)
            realm.refresh()
            #expect(realm.objects(Tally.self).count == 1)
            #expect(kill(child.identifier, SIGCONT) == 0)
            // What was acknowledged is there when the process is killed.
            var last = 1
            while last < 50, let line = try child.readLine() {
                last = line.split(separator: " ").first.flatMap { Int($0) } ?? 0
            }
            #expect(child.kill() == .killed)
            try realm.write { #expect(realm.objects(Tally.self)[0].value >= last) }
        }

        /// It shows the state at its opening until everything has been released.
        @Test func aReaderDoesNotFollow() throws {
            try makeStore()
            var configuration = configuration
            configuration.readOnly = true
            do {
                let realm = try Realm(configuration: configuration)
                let child = try ChildProcess(path, "count", "3")
                #expect(child.wait() == .exited(0))
                #expect(realm.objects(Tally.self)[0].value == 0)
                #expect(try Realm(configuration: configuration).objects(Tally.self)[0].value == 0)
            }
            #expect(waitUntilClosed(URL(filePath: path)))
            #expect(try Realm(configuration: configuration).objects(Tally.self)[0].value == 3)
        }
    }
#endif
