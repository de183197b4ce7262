import FirnCore
import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// No lock is held while opening waits or asks the application. If one were, these tests would wait forever; so they
/// run in processes of their own, which an alarm ends.
@Suite(.timeLimit(.minutes(20))) struct OpeningTests {
    @Test func storesOpenWhileAnotherAsksWhetherToCompact() async {
        await #expect(processExitsWith: .success) { try openWhileOneAsks() }
    }

    /// The other thread waits for the write lock, to add its classes.
    @Test func storesOpenWhileAnotherWaitsToWrite() async {
        await #expect(processExitsWith: .success) { try openWhileOneWaits() }
    }

    @Test func openingWithNewClassesWithinAWriteThrows() throws {
        let name = UUID().uuidString
        let realm = try memoryRealm([Person.self, Dog.self], name)
        try realm.write {
            let error = #expect(throws: Realm.Error.self) { _ = try memoryRealm([Everything.self], name) }
            #expect(error?.message.contains("write transaction") == true)
            let again = try memoryRealm([Person.self, Dog.self], name)
            #expect(again == realm)
        }
        #expect(try memoryRealm([Everything.self], name).isEmpty)
    }

    @Test func threadsThatOpenAStoreConcurrentlyShareIt() throws {
        let folder = TemporaryFolder()
        let configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: folder.path + "/store"), objectTypes: [Dog.self, Person.self])
        let lock = NSLock()
        nonisolated(unsafe) var stores: [SharedStore] = []
        DispatchQueue.concurrentPerform(iterations: 8) { number in
            do {
                let realm = try Realm(configuration: configuration)
                try realm.write { realm.add(Dog(number, "n")) }
                lock.withLock { stores.append(realm.instance.shared) }
            } catch { Issue.record(error) }
        }
        #expect(stores.count == 8 && stores.allSatisfy { $0 === stores[0] })
        #expect(try Realm(configuration: configuration).objects(Dog.self).count == 8)
    }

    /// A thread has one realm per store (SEMANTICS 2). Two realms of one thread would wait for each other's writes.
    @Test func aThreadThatOpensAStoreWhileOthersDoGetsOneRealm() throws {
        let types: [ObjectBase.Type] = [Dog.self, Person.self, Everything.self]
        for _ in 0..<50 {
            let name = UUID().uuidString
            let (start, opened) = (DispatchSemaphore(value: 0), DispatchGroup())
            let ended = DispatchGroup()
            for _ in 0..<4 {
                opened.enter()
                ended.enter()
                Thread {
                    defer { ended.leave() }
                    start.wait()
                    do {
                        let realm = try memoryRealm(types, name)
                        opened.leave()
                        opened.wait()
                        #expect(try memoryRealm(types, name) == realm)
                    } catch { Issue.record(error) }
                }.start()
            }
            for _ in 0..<4 { start.signal() }
            #expect(ended.wait(timeout: .testTimeout) == .success)
        }
    }

    // MARK: Times

    @Test(arguments: [.infinity, 1e300, 1e10, 1e18, 0, -1, -.infinity, 0.0001] as [Double])
    func timesOutsideOfTheRangeAreClamped(_ seconds: Double) throws {
        for durability in [.full, .relaxed(interval: seconds)] as [Realm.Configuration.Durability] {
            let folder = TemporaryFolder()
            var configuration = Realm.Configuration(
                fileURL: URL(fileURLWithPath: folder.path + "/store"), objectTypes: [Dog.self, Person.self])
            configuration.lockTimeout = seconds
            configuration.durability = durability
            configuration.activeVersionPolicy = .wait(seconds)
            configuration.maximumNumberOfActiveVersions = 10
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.add(Dog(1, "Rex")) }
            #expect(realm.objects(Dog.self).count == 1)
        }
    }

    @Test func aDescriptionNamesAllSettingsThatDiffer() {
        let plain = Realm.Configuration(inMemoryIdentifier: "one", objectTypes: nil)
        #expect(plain.description == "Realm.Configuration(inMemoryIdentifier: one, schemaVersion: 0)")
        let changes: [(String, (inout Realm.Configuration) -> Void)] = [
            ("encryptionKey", { $0.encryptionKey = Data(repeating: 7, count: 64) }),
            ("readOnly", { $0.readOnly = true }),
            ("schemaVersion: 3", { $0.schemaVersion = 3 }), ("migrationBlock", { $0.migrationBlock = { _, _ in } }),
            ("deleteRealmIfMigrationNeeded", { $0.deleteRealmIfMigrationNeeded = true }),
            ("seedFilePath: /seed", { $0.seedFilePath = URL(filePath: "/seed") }),
            ("maximumNumberOfActiveVersions: 9", { $0.maximumNumberOfActiveVersions = 9 }),
            ("decryptedMemoryLimit: nil", { $0.decryptedMemoryLimit = nil }),
            ("maximumRetainedBytes: 8", { $0.maximumRetainedBytes = 8 }),
            ("activeVersionPolicy: spill", { $0.activeVersionPolicy = .spill }),
            ("durability: none", { $0.durability = .none }), ("verifyOnOpen: ", { $0.verifyOnOpen = .everything }),
            ("lockTimeout: 2.5", { $0.lockTimeout = 2.5 }), ("readsByMapping: false", { $0.readsByMapping = false }),
            ("shouldCompactOnLaunch", { $0.shouldCompactOnLaunch = { _, _ in false } }),
            ("onDamage", { $0.onDamage = { _ in } }), ("fileMode: 0o644", { $0.fileMode = 0o644 }),
            ("historyRetention: ", { $0.historyRetention = .age(60) }),
            ("objectTypes: [\"Dog\"]", { $0.objectTypes = [Dog.self] }),
        ]
        for (text, change) in changes {
            var changed = plain
            change(&changed)
            #expect(changed.description.contains(text) && !plain.description.contains(text), "\(changed)")
            #expect(!changed.description.contains("0707"))
        }
    }

    @Test func aNumberThatMakesNoSenseIsRefused() {
        let folder = TemporaryFolder()
        let configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: folder.path + "/store"), objectTypes: [Dog.self, Person.self])
        let changes: [(inout Realm.Configuration) -> Void] = [
            { $0.lockTimeout = .nan }, { $0.durability = .relaxed(interval: .nan) },
            { $0.activeVersionPolicy = .wait(.nan) }, { $0.historyRetention = .age(.nan) },
            { $0.decryptedMemoryLimit = -1 },
        ]
        for change in changes {
            var changed = configuration
            change(&changed)
            let error = #expect(throws: Realm.Error.self) { _ = try Realm(configuration: changed) }
            #expect(error?.code == .invalidInput)
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/store"))
    }
}

private func openWhileOneAsks() throws {
    alarm(60)
    let folder = TemporaryFolder()
    var configuration = Realm.Configuration(
        fileURL: URL(fileURLWithPath: folder.path + "/store"), objectTypes: [Dog.self, Person.self])
    do {
        let realm = try Realm(configuration: configuration)
        try realm.write { realm.add(Dog(1, "Rex")) }
    }
    let plain = configuration
    nonisolated(unsafe) var seen: [String] = []
    configuration.shouldCompactOnLaunch = { _, _ in
        // Opens another store, and the same one, here and on another thread that is waited for.
        @Sendable func open(_ location: String) {
            if (try? memoryRealm())?.isEmpty == true { seen.append("memory \(location)") }
            if (try? Realm(configuration: plain))?.isEmpty == false { seen.append("same \(location)") }
        }
        open("here")
        let done = DispatchSemaphore(value: 0)
        Thread {
            open("there")
            done.signal()
        }.start()
        done.wait()
        return true
    }
    let realm = try Realm(configuration: configuration)
    #expect(seen == ["memory here", "same here", "memory there", "same there"])
    #expect(realm.objects(Dog.self).count == 1)
}

private func openWhileOneWaits() throws {
    alarm(60)
    let name = UUID().uuidString
    let realm = try memoryRealm([Person.self, Dog.self], name)
    realm.beginWrite()
    let done = DispatchSemaphore(value: 0)
    Thread {
        do { _ = try memoryRealm([Everything.self], name) } catch { Issue.record(error) }
        done.signal()
    }.start()
    // The thread waits for the lock by now, or will; either way opening here must not wait for it.
    Thread.sleep(forTimeInterval: 0.2)
    #expect(try memoryRealm().isEmpty)
    #expect(try memoryRealm([Person.self, Dog.self], name) == realm)
    realm.cancelWrite()
    done.wait()
}
