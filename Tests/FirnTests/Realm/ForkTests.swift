import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// A forked child has its parent's memory and none of its threads and locks. Using anything of a realm stops it with
/// a message. Nothing that it releases, and no exec, harms it or its parent.
@Suite(.timeLimit(.minutes(20))) struct ForkTests {
    /// What the forked child does.
    enum Use: String, CaseIterable, Codable {
        case property, frozenProperty, frozenList, results, frozenResults, realm, write, observe, frozenOfAnotherQueue
    }

    @Test(arguments: Use.allCases)
    func usingARealmInAForkedChildStopsItWithAMessage(_ use: Use) async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [use] in
            let folder = TemporaryFolder()
            let realm = try Realm(
                configuration: .init(
                    fileURL: URL(fileURLWithPath: folder.path + "/store"), objectTypes: [Dog.self, Person.self]))
            try realm.write { realm.add(Person(value: ["name": "Ann", "dogs": [[1, "Rex"]]])) }
            let person = realm.objects(Person.self)[0]
            let dogs = realm.objects(Dog.self)
            let frozen = person.freeze()
            let (frozenDogs, frozenList) = (dogs.freeze(), person.dogs.freeze())
            guard person.name == "Ann", frozen.name == "Ann", dogs.count == 1, frozenDogs.count == 1,
                frozenList.count == 1
            else { exit(1) }
            let child = forked {
                var sum = 0
                switch use {
                case .property: sum = person.name.count
                case .frozenProperty: sum = frozen.name.count
                case .frozenList: sum = frozenList.count
                case .results: sum = dogs.count
                case .frozenResults: sum = frozenDogs.where { $0.age > 0 }.count
                case .realm: sum = realm.isEmpty ? 0 : 1
                case .write: realm.beginWrite()
                case .observe: _ = realm.observe { _, _ in }
                case .frozenOfAnotherQueue: sum = realm.freeze().objects(Dog.self).count
                }
                return sum == 0 ? 3 : 4
            }
            #expect(end(of: child) == .killed)
            // The parent continues.
            try realm.write { person.name = "Bob" }
            #expect(frozen.name == "Ann" && person.name == "Bob")
        }
        expectMessage(result, "was used in a process that was forked off the one that opened it")
    }

    @Test func aForkedChildMayReleaseEverythingAndEnd() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            var configuration = Realm.Configuration(
                fileURL: URL(fileURLWithPath: folder.path + "/store"), objectTypes: [Dog.self, Person.self])
            configuration.activeVersionPolicy = .spill
            nonisolated(unsafe) var realm: Realm? = try Realm(configuration: configuration)
            try realm!.write { for id in 0..<2000 { realm!.add(Dog(id, "dog \(id)")) } }
            nonisolated(unsafe) var dogs: [Dog] = Array(realm!.objects(Dog.self))
            nonisolated(unsafe) var frozen: Realm? = realm!.freeze()
            let memory = MemoryHolder(try memoryRealm([Dog.self, Person.self], "held"))
            memory.realm!.beginWrite()
            memory.realm!.add(Dog(1, "uncommitted"))
            for _ in 0..<3 {
                let child = forked {
                    dogs = []
                    frozen = nil
                    realm = nil
                    memory.realm = nil
                    return 7
                }
                #expect(end(of: child) == .exited(7))
            }
            #expect(dogs.count == 2000 && dogs[1999].name == "dog 1999" && frozen!.objects(Dog.self).count == 2000)
            try realm!.write { realm!.add(Dog(5000, "after")) }
            memory.realm!.cancelWrite()
            #expect(memory.realm!.isEmpty)
        }
    }

    private final class MemoryHolder: @unchecked Sendable {
        var realm: Realm?
        init(_ realm: Realm) { self.realm = realm }
    }

    @Test func aChildThatRunsAnotherProgramAtOnceIsUnharmed() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let realm = try Realm(
                configuration: .init(
                    fileURL: URL(fileURLWithPath: folder.path + "/store"), objectTypes: [Dog.self, Person.self]))
            try realm.write { realm.add(Dog(1, "Rex")) }
            let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("/bin/sh"), strdup("-c"), strdup("exit 9"), nil]
            let child = forked {
                execv("/bin/sh", arguments)
                return 1
            }
            #expect(end(of: child) == .exited(9))
            #expect(realm.objects(Dog.self)[0].name == "Rex")
        }
    }

    @Test func aForkedChildMakesDifferentObjectIds() async {
        await #expect(processExitsWith: .success) {
            /// The random bytes of the process.
            func process(_ id: ObjectId) -> Substring { id.stringValue.dropFirst(8).prefix(10) }
            let before = ObjectId.generate()
            let child = forked {
                let own = ObjectId.generate()
                guard process(own) != process(before) else { return 1 }
                let grandchild = forked {
                    let next = ObjectId.generate()
                    return process(next) == process(own) || process(next) == process(before) ? 2 : 0
                }
                return end(of: grandchild) == .exited(0) && process(ObjectId.generate()) == process(own) ? 5 : 3
            }
            #expect(end(of: child) == .exited(5))
            #expect(process(ObjectId.generate()) == process(before))
        }
    }

    /// The realm's instance, for a C function, which can capture nothing.
    private nonisolated(unsafe) static var inherited: _RealmInstance?

    @Test func aThreadThatEndsInAForkedChildLeavesItsRealmsAlone() async {
        await #expect(processExitsWith: .success) {
            try systemThread {
                guard let realm = try? memoryRealm([Dog.self, Person.self], "ends") else { exit(1) }
                realm.beginWrite()
                realm.add(Dog(1, "uncommitted"))
                ForkTests.inherited = realm.instance
                let child = forked {
                    atexit { _exit(ForkTests.inherited!.hasEnded.load(ordering: .sequentiallyConsistent) ? 6 : 7) }
                    // Ends the child's only thread, and with it the child.
                    pthread_exit(nil)
                }
                guard end(of: child) == .exited(7) else { exit(2) }
                // In the parent the transaction continues.
                guard (try? realm.commitWrite()) != nil, realm.objects(Dog.self).count == 1 else { exit(3) }
            }
        }
    }

    /// The child has opened nothing yet: it is a process like any other.
    @Test func aForkedChildMayOpenTheStoreAgain() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let configuration = Realm.Configuration(
                fileURL: URL(fileURLWithPath: folder.path + "/store"), objectTypes: [Dog.self, Person.self])
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.add(Dog(1, "Rex")) }
            let child = forked {
                guard let own = try? Realm(configuration: configuration), own.objects(Dog.self).count == 1,
                    (try? own.write { own.add(Dog(2, "Max")) }) != nil
                else { return 1 }
                return own.objects(Dog.self).count == 2 ? 5 : 2
            }
            #expect(end(of: child) == .exited(5))
            realm.refresh()
            #expect(realm.objects(Dog.self).count == 2)
        }
    }
}
