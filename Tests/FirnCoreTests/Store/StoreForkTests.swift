#if os(Linux)
    import FirnLog
    import FirnStorage
    import FirnTestSupport
    import Testing

    @testable import FirnCore

    /// A forked child can read nothing of its parent's stores, and gets a message that says so.
    @Suite(.timeLimit(.minutes(20))) struct StoreForkTests {
        enum Use: String, CaseIterable, Codable { case snapshot, again, pin, mappedNodes, scratchNodes }

        @Test(arguments: Use.allCases.filter { !TestEnvironment.hasKey || $0 != .scratchNodes })
        func usingItsParentsStoreStopsAForkedChild(_ use: Use) async {
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [use] in
                let folder = TemporaryFolder()
                let store = try CountedThings.open(
                    policy: use == .scratchNodes ? .spill : .fail, on: PosixStorage.shared,
                    folder: folder.path + "/store")
                if use == .mappedNodes { try store.compact() }
                let pin = store.pin()
                let snapshot = pin.snapshot
                let child = forked {
                    switch use {
                    case .snapshot: _ = pin.snapshot
                    case .again: _ = pin.again()
                    case .pin: _ = store.pin()
                    // A child that bypasses the check finds no memory.
                    case .mappedNodes, .scratchNodes:
                        return Store.isRewritten(snapshot, 7) ? 3 : 4
                    }
                    return 5
                }
                #expect(end(of: child) == .killed)
                #expect(Store.isRewritten(pin.snapshot, 7))
                try store.rewriting(9).commit()
                #expect(Store.isRewritten(store.pin().snapshot, 9) && Store.isRewritten(pin.snapshot, 7))
                try store.close()
            }
            let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            if use != .mappedNodes && use != .scratchNodes {
                #expect(text.contains("was used in a process that was forked off the one that opened it"), "\(text)")
            }
        }

        /// The transaction belongs to the parent, and so do its parts that are already in the log.
        @Test(arguments: [true, false])
        func aForkedChildThatReleasesATransactionLeavesItsPartsInTheParentsLog(usesThreads: Bool) async {
            await #expect(processExitsWith: .success) { [usesThreads] in
                let folder = TemporaryFolder()
                var log = LogOptions(folder: folder.path + "/store", verify: .everything)
                log.usesThreads = usesThreads
                log.reserveByteCount = 0
                var options = StoreOptions(log: log)
                options.streamedByteCount = 16 << 10
                options.compaction.isAutomatic = false
                let script = StoreScript([])
                var store = try Store(options, storage: PosixStorage.shared)
                try script.commit(StoreScript.schema, to: store)
                nonisolated(unsafe) var open: WriteTransaction? = try store.beginWrite()
                let count = 3 * Limits.rowsPerLeaf
                try StoreScript.create(0, count, longData: 12_000)(script, open!)
                #expect(open?.streamed != nil)
                let path = folder.path + "/store/log/0000000001.segment"
                let byteCount = try PosixStorage.shared.status(path)?.byteCount ?? 0
                let child = forked {
                    open = nil
                    return 0
                }
                #expect(end(of: child, within: 20) == .exited(0))
                #expect(try PosixStorage.shared.status(path)?.byteCount ?? 0 >= byteCount)
                try open?.commit()
                open = nil
                try store.close()
                store = try Store(options, storage: PosixStorage.shared)
                #expect(store.publishedVersion == 2)
                #expect(store.pin().snapshot.table(TableID(0)).count == count)
                try store.close()
            }
        }

        @Test func aForkedChildGetsAnErrorForAStoreInMemoryAndMayReleaseIt() async {
            await #expect(processExitsWith: .success) {
                nonisolated(unsafe) var store: Store? = try CountedThings.open()
                nonisolated(unsafe) var pin: Pin? = store?.pin()
                nonisolated(unsafe) var open: WriteTransaction? = try store?.changing()
                let child = forked {
                    do {
                        _ = try store?.beginWrite()
                        return 1
                    } catch {
                        guard (error as? StoreError)?.code == .closed else { return 2 }
                    }
                    open = nil
                    pin = nil
                    guard (try? store?.close()) != nil else { return 3 }
                    store = nil
                    return 0
                }
                #expect(end(of: child) == .exited(0))
                try open?.commit()
                #expect(store?.publishedVersion == 2 && pin?.version == 1)
            }
        }
    }
#endif
