import Firn
import FirnTestSupport
import Foundation
import Testing

/// The limits on held versions, as a program meets them.
@Suite(.timeLimit(.minutes(20))) struct ActiveVersionLimitTests {
    private func open(_ change: (inout Realm.Configuration) -> Void) throws -> Realm {
        var configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [Dog.self, Person.self])
        change(&configuration)
        return try Realm(configuration: configuration)
    }

    @Test func writeAndTryBeginWriteThrowTheHoldersUntilTheyRelease() throws {
        let realm = try open { $0.maximumNumberOfActiveVersions = 2 }
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var held: [Dog] = []
        let line = #line + 2
        for age in 2...3 {
            held.append(dog.freeze())
            try realm.write { dog.age = age }
        }
        for begin in [{ try realm.tryBeginWrite() }, { try realm.write { dog.age = 9 } }] {
            let error = #expect(throws: Realm.Error.self, performing: begin)
            #expect(error == Realm.Error.tooManyActiveVersions)
            let text = error?.description ?? ""
            #expect(text.contains("3 versions are active, more than maximumNumberOfActiveVersions (2)"))
            #expect(text.contains("held at FirnTests/ActiveVersionLimitTests.swift:\(line)\n"))
            #expect(!realm.isInWriteTransaction && dog.age == 3)
        }
        #expect(held.map(\.age) == [1, 2])
        held.removeLast()
        try realm.write { dog.age = 4 }
        held = []
        try realm.tryBeginWrite()
        try realm.commitWrite()
        #expect(realm.activeVersions.count == 1)
    }

    @Test func beginWriteStopsWithTheSameText() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var configuration = Realm.Configuration(
                inMemoryIdentifier: "limited", objectTypes: [Dog.self, Person.self])
            configuration.maximumNumberOfActiveVersions = 1
            let realm = try Realm(configuration: configuration)
            let frozen = realm.freeze()
            try realm.write { realm.add(Dog(1, "Rex")) }
            realm.beginWrite()
            withExtendedLifetime(frozen) {}
        }
        expectMessage(
            result, "2 versions are active, more than maximumNumberOfActiveVersions (1)",
            "held at FirnTests/ActiveVersionLimitTests.swift:",
            ": Fatal error: Firn: beginWrite() failed: ",
            "Use tryBeginWrite()")
    }

    @Test func aSingleRealmWritesUnderALimitOfOne() throws {
        let realm = try open { $0.maximumNumberOfActiveVersions = 1 }
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        for age in 0..<20 {
            for other in realm.objects(Dog.self).where({ $0.age >= 0 }) { #expect(other.name == "Rex") }
            try realm.write { dog.age = age }
            realm.beginWrite()
            dog.age += 1
            realm.cancelWrite()
        }
        #expect(dog.age == 19)
    }

    /// Each thread's realm shows an old version after another thread has written, and releases it for its own write.
    /// No limit may make a write fail because of its own realm.
    @Test func writersOnManyThreadsDoNotBlockEachOtherIfTheyWait() throws {
        var made = Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [Dog.self, Person.self])
        made.maximumNumberOfActiveVersions = 5
        made.activeVersionPolicy = .wait(60)
        let configuration = made
        let realm = try Realm(configuration: configuration)
        let group = DispatchGroup()
        for thread in 0..<4 {
            group.enter()
            Thread {
                defer { group.leave() }
                do {
                    let own = try Realm(configuration: configuration)
                    for number in 0..<100 { try own.write { own.add(Dog(thread * 1000 + number, "t")) } }
                } catch { Issue.record(error) }
            }.start()
        }
        try #require(group.wait(timeout: .testTimeout) == .success, "a thread hangs")
        realm.refresh()
        #expect(realm.objects(Dog.self).count == 400)
    }

    /// Only the realm remembers the frozen version, which becomes an old one while the write waits for its turn.
    @Test func aFrozenRealmThatNobodyHoldsDoesNotBlockAWrite() throws {
        let realm = try open {
            $0.maximumNumberOfActiveVersions = 1
            // A realm that has just committed holds its base for a moment longer.
            $0.activeVersionPolicy = .wait(30)
        }
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        let configuration = realm.configuration
        let (isWriting, hasWritten) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread {
            do {
                let own = try Realm(configuration: configuration)
                own.beginWrite()
                own.objects(Dog.self)[0].age = 2
                isWriting.signal()
                // Waits until the other thread waits.
                usleep(100_000)
                try own.commitWrite()
            } catch { Issue.record(error) }
            hasWritten.signal()
        }.start()
        try #require(isWriting.wait(timeout: .testTimeout) == .success)
        #expect(dog.freeze().age == 1)
        try realm.write { dog.age += 1 }
        #expect(dog.age == 3)
        hasWritten.wait()
    }

    @Test func retainedBytesAreLimited() throws {
        let realm = try open { $0.maximumRetainedBytes = 10_000 }
        try realm.write { for id in 0..<1000 { realm.add(Dog(id, "Rex")) } }
        var frozen: Realm? = realm.freeze()
        try realm.write { for dog in realm.objects(Dog.self) { dog.age = 7 } }
        let error = #expect(throws: Realm.Error.self) { try realm.write {} }
        #expect(error == Realm.Error.tooManyActiveVersions)
        #expect(error?.description.contains("more than maximumRetainedBytes (10000)") == true)
        #expect(frozen?.objects(Dog.self)[0].age == 1)
        frozen = nil
        try realm.write {}
    }

    @Test func aWaitingWriteContinuesWhenAnotherThreadReleasesAVersion() throws {
        let realm = try open {
            $0.maximumNumberOfActiveVersions = 1
            $0.activeVersionPolicy = .wait(60)
        }
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        nonisolated(unsafe) var frozen: Dog? = dog.freeze()
        try realm.write { dog.age = 2 }
        #expect(frozen?.age == 1)
        Thread {
            usleep(20_000)
            frozen = nil
        }.start()
        try realm.write { dog.age = 3 }
        #expect(dog.age == 3 && realm.activeVersions.count == 1)
    }

    @Test func writesContinueIfOldVersionsAreSpilled() throws {
        let folder = TemporaryFolder()
        let realm = try open {
            $0.fileURL = URL(fileURLWithPath: folder.path + "/store")
            $0.maximumNumberOfActiveVersions = 2
            $0.activeVersionPolicy = .spill
        }
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var held: [Dog] = []
        for age in 0..<20 {
            try realm.write { dog.age = age }
            held.append(dog.freeze())
        }
        try realm.write { dog.age = 20 }
        #expect(realm.activeVersions.count == 21 && realm.activeVersions.count(where: \.isSpilled) == 18)
        #expect(realm.activeVersions.first?.isSpilled == true && realm.activeVersions.last?.isSpilled == false)
        #expect(held.map(\.age) == Array(0..<20))
        held = []
        #expect(realm.activeVersions.map(\.isSpilled) == [false])
    }

    @Test func aRealmInMemoryCannotSpillVersions() throws {
        let error = #expect(throws: Realm.Error.self) { _ = try open { $0.activeVersionPolicy = .spill } }
        #expect(error == Realm.Error.invalidInput)
        #expect(error?.description.contains("in memory") == true)
    }

    @Test func aLimitOfZeroIsRefusedAtOpening() throws {
        let error = #expect(throws: Realm.Error.self) { _ = try open { $0.maximumNumberOfActiveVersions = 0 } }
        #expect(error == Realm.Error.invalidInput)
        _ = try open { $0.maximumNumberOfActiveVersions = .max }
    }

    @Test func configurationsDifferByTheirLimits() {
        let plain = Realm.Configuration(inMemoryIdentifier: "a")
        var other = plain
        other.maximumNumberOfActiveVersions = 3
        #expect(other != plain && other.description.contains("maximumNumberOfActiveVersions: 3"))
        other = plain
        other.maximumRetainedBytes = 3
        #expect(other != plain && other.description.contains("maximumRetainedBytes: 3"))
        other = plain
        other.activeVersionPolicy = .wait(1)
        #expect(other != plain)
        other.activeVersionPolicy = .spill
        #expect(other != plain)
    }
}
