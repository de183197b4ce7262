#if os(Linux)
    import FirnLog
    import FirnStorage
    import FirnTestSupport
    import Glibc
    import Testing

    @testable import FirnCore

    /// The guarantees between stores also hold between processes: several processes count up one value, and may be
    /// killed.
    @Suite(.timeLimit(.minutes(TestEnvironment.minutes))) struct SeveralProcessesTests {
        private func open(
            _ folder: TemporaryFolder, versions: Int? = nil, policy: ActiveVersionPolicy = .fail
        ) throws -> Store {
            var options = LogOptions(folder: folder.path + "/store", verify: .everything)
            options.segmentByteCount = 256 << 10
            options.reserveByteCount = 0
            var storeOptions = StoreOptions(log: options)
            storeOptions.maximumNumberOfActiveVersions = versions
            storeOptions.activeVersionPolicy = policy
            return try Store(storeOptions, storage: PosixStorage.shared)
        }

        private func makeCounter(_ store: Store) throws {
            let transaction = try store.beginWrite()
            try transaction.changeSchema(
                to: StoreSchema(tables: [
                    TableSchema(
                        name: "Counter", primaryKey: 0,
                        columns: [ColumnSchema(name: "id", type: .int), ColumnSchema(name: "value", type: .int)])
                ]))
            var row = transaction.beginRow(TableID(0))
            transaction.fill(&row, column: 0, value: .int(1))
            try transaction.endRow(row)
            try transaction.commit()
        }

        private func value(_ snapshot: Snapshot) -> Int {
            guard case .int(let value)? = snapshot.table(TableID(0)).value(1, of: 0) else { return -1 }
            return Int(value)
        }

        private func waitForVersion(_ store: Store, _ version: UInt64) {
            let deadline = SystemClock.shared.monotonic() + 60_000_000_000
            while store.publishedVersion < version, SystemClock.shared.monotonic() < deadline { yieldThread() }
        }

        @Test func processesThatIncrementOneValueLoseNothing() throws {
            let folder = TemporaryFolder()
            let store = try open(folder)
            try makeCounter(store)
            let path = folder.path + "/store"
            let children = try (0..<2).map { _ in try ChildProcess(path, "count", "60") }
            for _ in 0..<60 {
                let transaction = try store.beginWrite()
                transaction.set(TableID(0), column: 1, key: 0, to: .int(Int64(value(transaction.snapshot) + 1)))
                try transaction.commit()
            }
            var values: [Int] = []
            for child in children {
                var last = 0
                while let line = try child.readLine() {
                    let words = line.split(separator: " ").compactMap { Int($0) }
                    // Each version after the first adds one, whichever process makes it.
                    #expect(words[1] == words[0] + 1 && words[0] > last)
                    last = words[0]
                    values.append(words[0])
                }
                #expect(child.wait() == .exited(0))
            }
            #expect(values.count == 120 && Set(values).count == 120)
            waitForVersion(store, 181)
            #expect(value(store.pin().snapshot) == 180)
            store._checkInvariants()
            try store.close()
            let again = try open(folder)
            #expect(again.recovery?.outcome == .clean && value(again.pin().snapshot) == 180)
        }

        /// The store follows by itself: the test only looks at its version.
        @Test func aProcessSeesTheCommitsOfAnother() throws {
            let folder = TemporaryFolder()
            let store = try open(folder)
            try makeCounter(store)
            let child = try ChildProcess(folder.path + "/store", "count", "30")
            var seen = 0
            while let line = try child.readLine() {
                let words = line.split(separator: " ").compactMap { Int($0) }
                waitForVersion(store, UInt64(words[1]))
                let pin = store.pin()
                #expect(value(pin.snapshot) + 1 == pin.version && pin.version >= words[1])
                seen += 1
            }
            #expect(child.wait() == .exited(0) && seen == 30 && value(store.pin().snapshot) == 30)
        }

        @Test func versionsHeldByAnotherProcessCountUntilItReleasesThem() throws {
            let folder = TemporaryFolder()
            let store = try open(folder, versions: 2)
            try makeCounter(store)
            let child = try ChildProcess(folder.path + "/store", "hold", "3")
            #expect(try child.readLine() == "held 4")
            waitForVersion(store, 4)
            let error = #expect(throws: StoreError.self) { _ = try store.beginWrite() }
            #expect(error?.code == .tooManyActiveVersions)
            #expect(
                error?.description.contains(
                    "- process \(child.identifier) holds 3 versions besides its newest, the oldest 1")
                    == true)
            try PosixStorage.shared.open(folder.path + "/store.release", .create).close()
            #expect(try child.readLine() == "released")
            try store.beginWrite().cancel()
            #expect(child.kill() == .killed)
            try store.close()
        }

        @Test func aWaitingWriteContinuesWhenTheProcessThatHoldsVersionsIsKilled() throws {
            let folder = TemporaryFolder()
            let store = try open(folder, versions: 1, policy: .wait(seconds: 3600))
            try makeCounter(store)
            let child = try ChildProcess(folder.path + "/store", "hold", "2")
            #expect(try child.readLine() == "held 3")
            let identifier = child.identifier
            let killer = try StorageThread.start(name: "killer") {
                store.awaitWaiters(1)
                kill(identifier, SIGKILL)
            }
            let transaction = try store.beginWrite()
            #expect(value(transaction.snapshot) == 2)
            transaction.cancel()
            killer.join()
            #expect(child.wait() == .killed)
            try store.close()
        }

        /// Each is the first process of a PID namespace where the system allows that, so that all have the same number.
        @Test(.disabled(if: TestEnvironment.hasKey), arguments: [2, 3])
        func processesThatSpillWriteAllTheyWantAndKeepWhatTheyHold(count: Int) throws {
            let folder = TemporaryFolder()
            let store = try open(folder)
            try makeCounter(store)
            try store.close()
            let launcher = ChildProcess.canUsePIDNamespaces ? ChildProcess.inPIDNamespace : []
            let children = try (0..<count).map { _ in
                try ChildProcess(program: "firn-crash-child", [folder.path + "/store", "spill", "12"], by: launcher)
            }
            for child in children {
                var lines: [String] = []
                while let line = try child.readLine() { lines.append(line) }
                #expect(lines.count == 13 && lines.last == "kept 12", "\(lines)")
                #expect(child.wait() == .exited(0))
            }
            let again = try open(folder)
            #expect(value(again.pin().snapshot) == 12 * count)
            try again.close()
        }

        @Test func aWaitingProcessWritesWhenTheWriterIsKilled() throws {
            let rounds = Int(TestEnvironment.value("FIRN_KILLS") ?? "") ?? 12
            let folder = TemporaryFolder()
            let store = try open(folder)
            try makeCounter(store)
            var chance = SeededRandom(seed: 3)
            for round in 0..<rounds {
                let before = value(store.pin().snapshot)
                let child = try ChildProcess(folder.path + "/store", "count", "1000000")
                var acknowledged = before
                // The child has committed a few times, and is in the middle of its next transaction when this process
                // begins to wait, or a little later.
                for _ in 0..<(1 + chance.below(8)) {
                    acknowledged = Int(try child.readLine()?.split(separator: " ").first ?? "") ?? -1
                }
                let identifier = child.identifier
                let delay = UInt32(chance.below(3000))
                let killer = try StorageThread.start(name: "killer") {
                    usleep(delay)
                    kill(identifier, SIGKILL)
                }
                var mine = 0
                for _ in 0..<5 {
                    let transaction = try store.beginWrite()
                    transaction.set(TableID(0), column: 1, key: 0, to: .int(Int64(value(transaction.snapshot) + 1)))
                    try transaction.commit()
                    mine += 1
                }
                killer.join()
                #expect(child.wait() == .killed, "round \(round): the child ended by itself")
                while let line = try child.readLine() {
                    acknowledged = max(acknowledged, Int(line.split(separator: " ").first ?? "") ?? -1)
                }
                // One more transaction comes after everything that the child has done.
                let transaction = try store.beginWrite()
                let found = value(transaction.snapshot)
                let version = transaction.base.version
                transaction.cancel()
                #expect(found >= acknowledged && found >= before + mine, "round \(round)")
                #expect(version == UInt64(found) + 1, "round \(round): a commit was lost or made twice")
                store._checkInvariants()
            }
            #expect(store.otherProcesses.isEmpty)
            try store.close()
            let again = try open(folder)
            #expect(value(again.pin().snapshot) + 1 == Int(again.publishedVersion))
        }
    }
#endif
