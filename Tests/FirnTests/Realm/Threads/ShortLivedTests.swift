#if os(Linux)
    import Firn
    import FirnStorage
    import FirnTestSupport
    import Foundation
    import Glibc
    import Testing

    /// What a process holds of the system.
    private struct Census: CustomStringConvertible {
        let descriptors: Int
        let threads: Int
        let mappings: Int
        /// The resident memory, without what is free.
        let bytes: Int

        static func now() -> Census {
            func count(_ folder: String) -> Int {
                (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? -1
            }
            let mappings = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8))?.split(separator: "\n")
            typealias Trim = @convention(c) (Int) -> Int32
            if let trim = dlsym(nil, "malloc_trim") { _ = unsafeBitCast(trim, to: Trim.self)(0) }
            let pages = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")[1]
            return Census(
                descriptors: count("/proc/self/fd"), threads: count("/proc/self/task"), mappings: mappings?.count ?? -1,
                bytes: (pages.flatMap { Int($0) } ?? -1) * Int(getpagesize()))
        }

        var description: String {
            "\(descriptors) descriptors, \(threads) threads, \(mappings) mappings, \(bytes) bytes"
        }

        /// Whether what was used since `before` is here again. Dispatch keeps a few threads for some seconds, and a run
        /// loop of three descriptors for each; Foundation keeps some bytes of each thread and timer. A sanitizer keeps
        /// much more.
        func isBack(to before: Census, uses: Int) -> Bool {
            descriptors - before.descriptors <= 24 && threads - before.threads <= 24
                && (TestEnvironment.hasSanitizer
                    || mappings - before.mappings <= 48 && bytes - before.bytes <= 4_000_000 + uses * 1000)
        }
    }

    /// A kind of use of the shared store by something that ends at once.
    private enum Use: String, CaseIterable {
        case reading, writing, observing, thawing, leaving, leftWriting, asyncWriting, onQueue, onWorker, onActor,
            inTask

        func run() async throws {
            switch self {
            case .reading: try thread { _ = try Self.open().objects(Dog.self).count }
            case .writing: try thread { try Self.open().write { _ = try Self.open().objects(Dog.self)[0].age += 1 } }
            case .observing: try thread { try Self.observe() }
            case .thawing:
                nonisolated(unsafe) let frozen = Self.keeper.objects(Person.self)[0].dogs.freeze()
                try thread { guard frozen.thaw()?.count == 1 else { fatalError("the list is not there") } }
            case .leaving:
                // They are released when the next kind of use begins.
                try thread { Self.left += Array(try Self.open().objects(Dog.self)) }
            case .leftWriting:
                Self.left = []
                try thread {
                    let realm = try Self.open()
                    realm.beginWrite()
                    realm.objects(Dog.self)[0].age = 0
                    Self.left = [realm.objects(Dog.self)[0]]
                } whileOpen: {
                }
                Self.left = []
            case .asyncWriting: try thread { try Self.writeAsync() }
            case .onQueue: try await Self.onQueue()
            case .onWorker:
                try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
                    DispatchQueue.global().async {
                        done.resume(with: Result { _ = try Self.open().objects(Dog.self).count })
                    }
                }
                try Self.commitElsewhere()
            case .onActor: try await Keeper().use()
            case .inTask:
                try await Task.detached {
                    guard try Self.open().freeze().objects(Dog.self).count == 1 else { fatalError("no dog") }
                }.value
                try Self.commitElsewhere()
            }
        }

        // MARK: Shared by all

        static let name = UUID().uuidString
        static var configuration: Realm.Configuration {
            .init(inMemoryIdentifier: name, objectTypes: [Dog.self, Person.self, Everything.self])
        }
        static func open() throws -> Realm { try Realm(configuration: configuration) }
        /// Keeps the store open, and is the writer while others read.
        nonisolated(unsafe) static let keeper = try! open().freeze()
        nonisolated(unsafe) static var left: [Dog] = []
        private static let writer = DispatchQueue(label: "writer")

        /// Another thread commits, which wakes all realms that are open.
        static func commitElsewhere() throws {
            try writer.sync {
                let realm = try Realm(configuration: configuration, queue: writer)
                try realm.write { realm.objects(Dog.self)[0].age += 1 }
            }
        }

        /// Runs `body` on a thread of its own, whose realm is open while another thread commits. Returns when the
        /// thread has ended.
        private func thread(
            _ body: @escaping () throws -> Void, whileOpen commit: @escaping () throws -> Void = commitElsewhere
        ) throws {
            nonisolated(unsafe) let (body, commit) = (body, commit)
            nonisolated(unsafe) var failure: (any Error)?
            let thread = try StorageThread.start(name: "short") {
                do {
                    let realm = try Self.open()
                    _ = realm.objects(Dog.self).count
                    try body()
                    try commit()
                    withExtendedLifetime(realm) {}
                } catch { failure = error }
            }
            thread.join()
            if let failure { throw failure }
        }

        /// Runs the calling thread's run loop until `isDone`. The first block is called within.
        private static func runLoop(_ first: @escaping @Sendable () -> Void, until isDone: () -> Bool) {
            RunLoop.current.perform(first)
            RunLoop.current.perform {
                RunLoop.current.add(Timer(timeInterval: 0, repeats: false) { _ in }, forMode: .default)
            }
            let deadline = TestTimeout.deadline()
            while !isDone() {
                _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01))
                if SystemClock.shared.monotonic() > deadline { fatalError("the run loop does nothing") }
            }
        }

        private static func observe() throws {
            nonisolated(unsafe) let realm = try open()
            nonisolated(unsafe) var (tokens, changes, isWritten): ([NotificationToken], Int, Bool) = ([], 0, false)
            runLoop {
                nonisolated(unsafe) let dogs = realm.objects(Dog.self)
                tokens = [dogs.observe { _ in changes += 1 }, realm.observe { _, _ in }, dogs[0].observe { _ in }]
            } until: {
                if changes == 1, !isWritten {
                    isWritten = true
                    try! commitElsewhere()
                }
                return changes == 2
            }
            if realm.objects(Dog.self)[0].age < 0 { tokens[0].invalidate() }
        }

        private static func writeAsync() throws {
            nonisolated(unsafe) let realm = try open()
            nonisolated(unsafe) var isDone = false
            runLoop {
                realm.writeAsync {
                    realm.objects(Dog.self)[0].age += 1
                } onComplete: { _ in
                    isDone = true
                }
            } until: {
                isDone
            }
        }

        private static func onQueue() async throws {
            let queue = DispatchQueue(label: "short")
            nonisolated(unsafe) var tokens: [NotificationToken] = []
            try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
                queue.async {
                    do {
                        let realm = try Realm(configuration: configuration, queue: queue)
                        tokens.append(realm.objects(Dog.self).observe { _ in })
                        try realm.write { realm.objects(Dog.self)[0].age += 1 }
                        done.resume()
                    } catch { done.resume(throwing: error) }
                }
            }
            try commitElsewhere()
            queue.sync { tokens = [] }
        }

        private actor Keeper {
            func use() async throws {
                let realm = try await Realm(configuration: configuration, actor: self)
                let token = await realm.objects(Dog.self).observe(on: self) { _, _ in }
                try await realm.asyncWrite { realm.objects(Dog.self)[0].age += 1 }
                try commitElsewhere()
                token.invalidate()
            }
        }
    }

    /// What ends takes everything with it that served it.
    @Suite(.timeLimit(.minutes(TestEnvironment.minutes))) struct ShortLivedTests {
        /// How often each use happens: FIRN_SHORT_THREADS, for longer runs.
        @Test func threadsQueuesActorsAndTasksLeaveNothingBehind() async {
            // A process of its own, in which no other test opens anything.
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let uses = TestEnvironment.value("FIRN_SHORT_THREADS").flatMap { Int($0) } ?? 50
                let realm = try Use.open()
                try realm.write { realm.add(Person(value: ["name": "Ann", "dogs": [[1, "Rex"]]])) }
                var report = ""
                for use in Use.allCases {
                    // Once all that is made once, and the threads that are kept.
                    for _ in 0..<10 { try await use.run() }
                    let before = Census.now()
                    for _ in 0..<uses { try await use.run() }
                    // What ends on other threads takes a moment.
                    let isBack = TestTimeout.awaits(within: 10) { Census.now().isBack(to: before, uses: uses) }
                    report += "\(isBack ? "  " : "! ")\(use.rawValue): \(before); after \(uses) uses \(Census.now())\n"
                }
                FileHandle.standardError.write(Data(report.utf8))
                withExtendedLifetime(realm) {}
            }
            let report = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(report.split(separator: "\n").count { $0.hasPrefix("  ") } == Use.allCases.count, "\(report)")
            if TestEnvironment.value("FIRN_SHORT_THREADS") != nil { print(report) }
        }
    }
#endif
