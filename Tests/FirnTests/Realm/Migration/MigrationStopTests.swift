import Firn
import FirnTestSupport
import Foundation
import Testing

/// What a migration block must not do (R80, R81).
@Suite(.timeLimit(.minutes(20))) struct MigrationStopTests {
    private enum Mistake: String, CaseIterable, Codable {
        case commits, cancels, invalidates, freezes, thaws, writesAsynchronously, createsUnknown, deletesOld, setsOld
        case usesMigrationLater, usesObjectLater, usesObjectAfterRenaming, usesOtherThread, opensPast, appendsDeleted

        var message: String {
            switch self {
            case .commits: "can't commit a write: it belongs to a migration"
            case .cancels: "can't cancel a write: it belongs to a migration"
            case .invalidates: "can't invalidate a realm: it belongs to a migration"
            case .freezes: "can't be frozen within a write transaction"
            case .thaws: "can't thaw an old object: it belongs to a migration"
            case .writesAsynchronously: "can't write asynchronously: it belongs to a migration"
            case .createsUnknown: "has no class Nobody"
            case .deletesOld: "belongs to another realm, or is frozen"
            case .setsOld: "it is frozen"
            case .usesMigrationLater: "a migration was used after its block had returned"
            case .usesObjectLater, .usesObjectAfterRenaming: "a new object of a migration was used after"
            case .usesOtherThread: "a migration was used on another thread"
            case .opensPast: "can't open a past version: it belongs to a migration"
            case .appendsDeleted: "the migration has deleted the object that is added"
            }
        }

        func make(_ migration: Migration, old: MigrationObject, new: MigrationObject) throws {
            switch self {
            case .commits: try new.realm?.commitWrite()
            case .cancels: new.realm?.cancelWrite()
            case .invalidates: new.realm?.invalidate()
            case .freezes: _ = new.freeze()
            case .thaws: _ = old.thaw()
            case .writesAsynchronously: new.realm?.writeAsync {}
            case .createsUnknown: migration.create("Nobody")
            case .deletesOld: migration.delete(old)
            case .setsOld: old["title"] = "x"
            case .opensPast: _ = try old.realm?.asOf(version: old.realm!.versions.last!.number)
            case .appendsDeleted:
                migration.delete(new)
                migration.create("Owner", value: ["key": 1]).dynamicList("pack").append(old)
            case .usesMigrationLater, .usesObjectLater: break
            case .usesObjectAfterRenaming: break
            case .usesOtherThread:
                nonisolated(unsafe) let migration = migration
                let done = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    migration.create("Dog")
                    done.signal()
                }
                done.wait()
            }
        }
    }

    @Test(arguments: Mistake.allCases)
    private func stops(_ mistake: Mistake) async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [mistake] in
            let store = MigratingStore()
            try store.fill()
            nonisolated(unsafe) var kept: (Migration, MigrationObject)?
            _ = try store.open(MigratingStore.second, version: 2) { migration, _ in
                nonisolated(unsafe) var seen: [(MigrationObject, MigrationObject)] = []
                migration.enumerateObjects(ofType: "Dog") { old, new in seen.append((old!, new!)) }
                kept = (migration, seen[0].1)
                try! mistake.make(migration, old: seen[0].0, new: seen[0].1)
                if mistake == .usesObjectAfterRenaming {
                    migration.renameProperty(onType: "Dog", from: "title", to: "name")
                    seen[0].1["name"] = "x"
                }
            }
            if mistake == .usesMigrationLater { kept!.0.create("Dog") }
            if mistake == .usesObjectLater { print(kept!.1["name"] ?? "") }
        }
        expectMessage(result, mistake.message)
    }

    @Test func aBlockThatStopsTheProgramChangesNothing() async throws {
        let store = MigratingStore()
        try store.fill()
        let path: String = store.url.path
        await #expect(processExitsWith: .failure) { [path = path as String] in
            let configuration = Realm.Configuration(
                fileURL: URL(filePath: path), schemaVersion: 2,
                migrationBlock: { migration, _ in
                    migration.deleteData(forType: "Dog")
                    fatalError("in the block")
                }, objectTypes: MigratingStore.second)
            _ = try Realm(configuration: configuration)
        }
        let realm = try store.open(MigratingStore.first, version: 1)
        #expect(realm.objects(DogV1.self).count == 3)
    }
}
