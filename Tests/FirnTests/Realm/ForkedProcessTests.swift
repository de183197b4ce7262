#if os(Linux)
    import FirnCore
    import FirnStorage
    import FirnTestSupport
    import Foundation
    import Synchronization
    import Testing

    @testable import Firn

    /// What a fork means for locks and descriptors, whatever other threads do at that moment.
    @Suite(.timeLimit(.minutes(20))) struct ForkedProcessTests {
        private static func configuration(_ folder: TemporaryFolder, _ name: String = "store") -> Realm.Configuration {
            Realm.Configuration(
                fileURL: URL(fileURLWithPath: folder.path + "/" + name), objectTypes: [Dog.self, Person.self])
        }

        /// Adds an object of the given key, and returns how many there are.
        private static func add(_ id: Int, _ configuration: Realm.Configuration) throws -> Int {
            let realm = try Realm(configuration: configuration)
            try realm.write { _ = realm.create(Dog.self, value: ["id": id], update: .modified) }
            return realm.objects(Dog.self).count
        }

        /// Other threads open, write, observe, freeze, compact and close: they hold any lock of Firn's at the fork.
        @Test func aChildOpensStoresWhateverOtherThreadsDoAtTheFork() async {
            await #expect(processExitsWith: .success) {
                let folder = TemporaryFolder()
                let configuration = Self.configuration(folder)
                let count = TestEnvironment.value("FIRN_FORKS").flatMap { Int($0) } ?? 12
                let ends = Atomic(false)
                let begun = Atomic(0)
                /// What each thread does again and again. Once before the first fork: what Swift's runtime makes at a
                /// first use must be there.
                let works: [@Sendable (Realm, Int) throws -> Void] = [
                    { realm, round in try realm.write { realm.add(Dog(round % 50, "a"), update: .modified) } },
                    { realm, _ in _ = realm.freeze().objects(Dog.self).sorted(by: \.name).first?.name },
                    { _, round in _ = try Self.add(round % 50, Self.configuration(folder, "other")) },
                    { realm, _ in try realm.compact() },
                ]
                _ = try Self.add(0, configuration)
                let queue = DispatchQueue(label: "observer")
                let token = try queue.sync {
                    try Realm(configuration: configuration, queue: queue).objects(Dog.self).observe { _ in }
                }
                let threads = try works.map { work in
                    try StorageThread.start(name: "busy") {
                        var round = 0
                        while !ends.load(ordering: .relaxed) {
                            guard let realm = try? Realm(configuration: Self.configuration(folder)),
                                (try? work(realm, round)) != nil
                            else { exit(1) }
                            round += 1
                            if round == 2 { begun.add(1, ordering: .relaxed) }
                        }
                    }
                }
                while begun.load(ordering: .relaxed) < works.count { usleep(1000) }
                for round in 0..<count {
                    let (end, text) = outcome {
                        guard try Self.add(1000 + round, configuration) > 0,
                            try Self.add(1, Self.configuration(folder, "own")) == 1
                        else { _exit(5) }
                        if round % 2 == 0 { exit(0) }
                    }
                    #expect(end == .exited(0), "round \(round): \(end), \(text)")
                }
                ends.store(true, ordering: .relaxed)
                for thread in threads { thread.join() }
                token.invalidate()
                let realm = try Realm(configuration: configuration)
                realm.refresh()
                #expect(realm.objects(Dog.self).where { $0.id >= 1000 }.count == count)
                try realm.instance.store.verify()
            }
        }

        /// The locks of a process are not its child's: whoever comes next gets them.
        @Test(arguments: [true, false])
        func aStoreIsFreeOnceItsProcessHasLetGoAlthoughAForkedChildLives(isKilled: Bool) async {
            await #expect(processExitsWith: .success) { [isKilled] in
                let folder = TemporaryFolder()
                let configuration = Self.configuration(folder)
                // The children write their numbers here when they are ready.
                func number(_ name: String) -> Int32 {
                    let path = folder.path + "/" + name
                    while true {
                        if let text = try? String(contentsOfFile: path, encoding: .utf8), text.hasSuffix("\n"),
                            let number = Int32(text.dropLast())
                        {
                            return number
                        }
                        usleep(1000)
                    }
                }
                func note(_ name: String) {
                    try? "\(getpid())\n".write(toFile: folder.path + "/" + name, atomically: true, encoding: .utf8)
                }
                let opener = forked {
                    do {
                        var realm: Realm? = try Realm(configuration: configuration)
                        try realm!.write { realm!.add(Dog(1, "Rex")) }
                        let frozen = realm!.freeze()
                        if isKilled { realm!.beginWrite() }
                        _ = forked {
                            note("child")
                            while true { pause() }
                        }
                        _ = number("child")
                        if !isKilled {
                            withExtendedLifetime(frozen) {}
                            realm = nil
                        }
                    } catch { return 1 }
                    note("parent")
                    while true { pause() }
                }
                let child = number("child")
                #expect(number("parent") == opener)
                if isKilled {
                    kill(opener, SIGKILL)
                    #expect(end(of: opener) == .killed)
                }
                let count = try Self.add(2, configuration)
                #expect(count == 2)
                #expect(try Realm.deleteFiles(for: configuration), "the child holds the parent's slot")
                #expect(kill(child, 0) == 0, "the child has ended before")
                kill(child, SIGKILL)
                if !isKilled {
                    kill(opener, SIGKILL)
                    #expect(end(of: opener) == .killed)
                }
            }
        }

        /// The descriptors of the process that lead into a folder, or to what was removed from it.
        private static func descriptors(in folder: TemporaryFolder) throws -> [Int32] {
            try PosixStorage.shared.list("/proc/self/fd").compactMap { Int32($0) }.filter {
                var target = [CChar](repeating: 0, count: 4096)
                guard readlink("/proc/self/fd/\($0)", &target, 4095) > 0 else { return false }
                return String(decoding: target.map { UInt8(bitPattern: $0) }.prefix { $0 != 0 }, as: UTF8.self)
                    .hasPrefix(folder.path)
            }
        }

        @Test func anotherProgramInheritsNoDescriptor() async {
            await #expect(processExitsWith: .success) {
                let folder = TemporaryFolder()
                var configuration = Self.configuration(folder)
                configuration.activeVersionPolicy = .spill
                configuration.maximumNumberOfActiveVersions = 3
                let realm = try Realm(configuration: configuration)
                var frozen: [Realm] = []
                for id in 0..<8 {
                    try realm.write { realm.add(Dog(id, String(repeating: "x", count: 5000))) }
                    frozen.append(realm.freeze())
                    if id == 4 { try realm.compact() }
                }
                let open = try Self.descriptors(in: folder)
                #expect(open.count >= 4, "\(open)")
                for descriptor in open {
                    #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0, "descriptor \(descriptor)")
                }
                withExtendedLifetime(frozen) {}
            }
        }

        /// A program that another thread is just starting (vfork, posix_spawn) has all descriptors until its exec, and
        /// no handler of a fork closes them.
        @Test func aStoreThatIsClosedIsFreeAlthoughCopiesOfItsDescriptorsAreOpen() async {
            await #expect(processExitsWith: .success) {
                let folder = TemporaryFolder()
                let configuration = Self.configuration(folder)
                var copies: [Int32] = []
                do {
                    let realm = try Realm(configuration: configuration)
                    try realm.write { realm.add(Dog(1, "Rex")) }
                    copies = try Self.descriptors(in: folder).map { fcntl($0, F_DUPFD_CLOEXEC, 3) }
                }
                #expect(copies.count >= 3 && copies.allSatisfy { $0 > 2 })
                #expect(try Self.add(2, configuration) == 2)
                #expect(try Realm.deleteFiles(for: configuration))
                for copy in copies { close(copy) }
            }
        }
    }
#endif
