import FirnStorage
import FirnTestSupport
import Foundation
import Observation
import Synchronization
import Testing

@testable import Firn

class Lamp: Object, Observable {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted var level: Int?
    @Persisted var any: AnyRealmValue
    @Persisted var room: Lamp?
    @Persisted var shade: LampShade?
    @Persisted var tags: List<String>
    @Persisted var marks: Map<String, Int>
    @Persisted var others: MutableSet<Lamp>
    @Persisted(originProperty: "room") var lamps: LinkingObjects<Lamp>

    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class LampShade: EmbeddedObject, Observable {
    @Persisted var colour = ""
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// A class whose reads are not tracked.
class Bulb: Object {
    @Persisted var name = ""
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private let classes: [ObjectBase.Type] = [Lamp.self, LampShade.self, Bulb.self]

/// Counts the calls of one `onChange`, which may come on any thread.
private final class Calls: Sendable {
    private let made = Atomic(0)
    var count: Int { made.load(ordering: .sequentiallyConsistent) }
    func add() { made.add(1, ordering: .sequentiallyConsistent) }
}

/// What `withObservationTracking` learns of managed objects of `Observable` classes.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct ObservationFrameworkTests {
    private let name = UUID().uuidString
    private let realm: Realm

    init() throws {
        realm = try Realm(configuration: .init(inMemoryIdentifier: name, objectTypes: classes))
        try realm.write {
            for id in 0..<5 {
                realm.create(Lamp.self, value: ["id": id, "name": "lamp \(id)", "tags": ["a"]] as [String: Any])
            }
            try lamp(0).room = try lamp(1)
            try lamp(0).shade = LampShade()
            try lamp(0).marks["x"] = 1
            realm.add(Bulb())
        }
    }

    private func lamp(_ id: Int) throws -> Lamp { try #require(realm.object(ofType: Lamp.self, forPrimaryKey: id)) }

    private func track(_ read: () throws -> Void) rethrows -> Calls {
        let calls = Calls()
        var failure: (any Error)?
        withObservationTracking(
            { do { try read() } catch { failure = error } }, onChange: { calls.add() })
        #expect(failure == nil)
        return calls
    }

    /// How often a write fires what was tracked while `read` ran.
    private func calls(_ read: () throws -> Void, _ write: () throws -> Void) async throws -> Int {
        let calls = try track(read)
        try realm.write(write)
        await mainQueueIsThrough()
        return calls.count
    }

    @Test func aChangeOfWhatWasReadIsToldOnce() async throws {
        let lamp = try lamp(0)
        let calls = track { _ = lamp.name }
        try realm.write {
            lamp.level = 3
            try self.lamp(1).name = "other"
        }
        await mainQueueIsThrough()
        #expect(calls.count == 0)
        try realm.write { lamp.name = "new" }
        await wait { calls.count == 1 }
        try realm.write { lamp.name = "newer" }
        await mainQueueIsThrough()
        #expect(calls.count == 1)
        #expect(try await self.calls({ _ = lamp.name }, { lamp.name = "newest" }) == 1)
    }

    @Test func everyKindOfPropertyIsTracked() async throws {
        let lamp = try lamp(0)
        let other = try self.lamp(3)
        #expect(try await calls({ _ = lamp.level }, { lamp.level = 1 }) == 1)
        #expect(try await calls({ _ = lamp.any }, { lamp.any = .int(1) }) == 1)
        #expect(try await calls({ _ = lamp["name"] }, { lamp.name = "x" }) == 1)
        #expect(try await calls({ _ = lamp.value(forKey: "level") }, { lamp.level = 2 }) == 1)
        #expect(try await calls({ _ = lamp.tags.count }, { lamp.tags.append("b") }) == 1)
        #expect(try await calls({ _ = lamp.tags.first }, { lamp.tags[0] = "c" }) == 1)
        #expect(try await calls({ for tag in lamp.tags { _ = tag } }, { lamp.tags.removeAll() }) == 1)
        #expect(try await calls({ _ = lamp.marks["x"] }, { lamp.marks["x"] = 2 }) == 1)
        #expect(try await calls({ _ = lamp.others.contains(other) }, { lamp.others.insert(other) }) == 1)
        #expect(try await calls({ _ = lamp.tags.count }, { lamp.marks["y"] = 2 }) == 0)
        // Queries of collections.
        #expect(try await calls({ _ = lamp.others.where { $0.id > 2 }.count }, { lamp.others.remove(other) }) == 1)
        #expect(try await calls({ _ = lamp.tags.sorted().count }, { lamp.tags.append("z") }) == 1)
        // Through links, embedded objects and backlinks.
        let room = try self.lamp(1)
        #expect(try await calls({ _ = lamp.room?.name }, { room.name = "room" }) == 1)
        #expect(try await calls({ _ = lamp.room?.name }, { lamp.room = nil }) == 1)
        #expect(try await calls({ _ = room.lamps.count }, { lamp.room = room }) == 1)
        #expect(try await calls({ _ = room.lamps.count }, { lamp.room = nil }) == 1)
        #expect(try await calls({ _ = room.lamps.count }, { lamp.name = "y" }) == 0)
        #expect(try await calls({ _ = lamp.shade?.colour }, { lamp.shade?.colour = "red" }) == 1)
        #expect(try await calls({ _ = lamp.shade?.colour }, { lamp.shade = nil }) == 1)
    }

    @Test func deletionsAndOtherRealmsAreTold() async throws {
        let (first, second) = (try lamp(3), try lamp(4))
        #expect(try await calls({ _ = first.name }, { realm.delete(first) }) == 1)
        let calls = track { _ = (second.name, second.tags.count) }
        try onAnotherThread(name, types: classes) { other in
            try other.write { other.object(ofType: Lamp.self, forPrimaryKey: 4)?.name = "far" }
        }
        await wait { calls.count == 1 }
        #expect(second.name == "far")
    }

    @Test func loopsAndNewObjectsAreTracked() async throws {
        let last = try lamp(4)
        #expect(try await calls({ for lamp in realm.objects(Lamp.self) { _ = lamp.name } }, { last.name = "x" }) == 1)
        // One that was used before it was added.
        let new = Lamp(value: ["id": 9])
        new.tags.append("old")
        let tags = new.tags
        try realm.write { realm.add(new) }
        #expect(try await calls({ _ = new.name }, { new.name = "x" }) == 1)
        #expect(try await calls({ _ = new.tags.count }, { tags.append("new") }) == 1)
        #expect(new.tags.count == 2)
    }

    @Test func onlyCommitsAreTold() async throws {
        let lamp = try lamp(0)
        let calls = track { _ = lamp.name }
        realm.beginWrite()
        lamp.name = "cancelled"
        realm.cancelWrite()
        await mainQueueIsThrough()
        #expect(calls.count == 0)
        realm.beginWrite()
        // What is tracked already is told, too, if it is read again while it changes.
        let inside = track { _ = lamp.name }
        lamp.name = "committed"
        #expect(calls.count == 0)
        try realm.commitWrite()
        await wait { calls.count == 1 && inside.count == 1 }
    }

    /// What was read in a write that is cancelled is shown no more.
    @Test func aCancelledWriteIsToldToWhoReadInIt() async throws {
        let lamp = try lamp(0)
        let before = track { _ = lamp.name }
        realm.beginWrite()
        lamp.name = "cancelled"
        let inside = track { _ = lamp.name }
        let other = try track { _ = try self.lamp(1).name }
        #expect(inside.count == 0)
        realm.cancelWrite()
        // All that was read inside: nobody looks whether it has changed.
        #expect(before.count == 1 && inside.count == 1 && other.count == 1)
        #expect(try await calls({ _ = lamp.name }, { lamp.name = "committed" }) == 1)
        #expect(inside.count == 1)
        realm.beginWrite()
        lamp.name = "invalidated"
        let last = track { _ = lamp.name }
        realm.invalidate()
        #expect(last.count == 1)
    }

    /// What was read of a commit that the disk refuses is shown no more.
    @Test func aRefusedCommitIsToldToWhoReadIt() async throws {
        let storage = SimulatedStorage(seed: 1)
        let configuration = Realm.Configuration(
            fileURL: URL(filePath: "/lamps-\(UUID().uuidString).firn"), objectTypes: classes)
        let realm = try SharedStore.$storage.withValue(storage) { try Realm(configuration: configuration, queue: nil) }
        let lamp = Lamp(value: ["id": 1])
        try realm.write { realm.add(lamp) }
        realm.beginWrite()
        lamp.name = "refused"
        storage.inject(SimulatedFault(.io, residue: .nothing) { $0.operation == .sync })
        _ = try realm.instance.commitWithoutWaiting()
        let ahead = track { #expect(lamp.name == "refused") }
        #expect(ahead.count == 0)
        _ = realm.freeze()
        #expect(ahead.count == 1 && lamp.name != "refused")
    }

    /// What a realm shows before it is durable is tracked, too.
    @Test func asynchronousWritesAreTold() async throws {
        let folder = TemporaryFolder()
        let realm = try Realm(
            configuration: .init(fileURL: URL(filePath: folder.path + "/lamps.firn"), objectTypes: classes),
            queue: nil)
        try realm.write { for id in 0..<2 { realm.add(Lamp(value: ["id": id])) } }
        let (first, room) = (realm.objects(Lamp.self)[0], realm.objects(Lamp.self)[1])
        _ = track { _ = first.name }
        realm.beginWrite()
        let new = realm.create(Lamp.self, value: ["id": 9, "name": "a"])
        first.room = room
        _ = try realm.instance.commitWithoutWaiting()
        let (name, lamps) = (track { _ = new.name }, track { _ = room.lamps.count })
        let gone = track { _ = new.tags.count }
        realm.beginWrite()
        new.name = "b"
        first.room = nil
        _ = try realm.instance.commitWithoutWaiting()
        realm.beginWrite()
        realm.delete(new)
        _ = try realm.instance.commitWithoutWaiting()
        _ = await realm.asyncFreeze()
        await wait { name.count == 1 && lamps.count == 1 && gone.count == 1 }
    }

    @Test func otherReadsAreNotTracked() async throws {
        let lamp = try lamp(0)
        let (frozen, bulb) = (lamp.freeze(), realm.objects(Bulb.self)[0])
        #expect(try await calls({ _ = (frozen.name, frozen.tags.count) }, { lamp.name = "x" }) == 0)
        #expect(try await calls({ _ = bulb.name }, { bulb.name = "x" }) == 0)
        _ = (lamp.name, lamp.tags.count)
        #expect(try await calls({}, { lamp.name = "y" }) == 0)
        #expect(frozen.name == "lamp 0")
    }

    /// A view that is drawn again in `onChange` tracks anew.
    @Test func whatIsReadAgainIsTrackedAgain() async throws {
        let lamp = try lamp(0)
        let view = LampView(lamp)
        for name in ["a", "b", "c"] {
            try realm.write { lamp.name = name }
            await wait { view.names.last == name }
        }
        #expect(view.names == ["lamp 0", "a", "b", "c"])
    }

    @Test func actorsTrack() async throws {
        let house = try await LampHouse(name)
        let calls = Calls()
        try await house.track(calls)
        try realm.write { try lamp(2).name = "far away" }
        await wait { calls.count == 1 }
    }

    @Test func theTrackedKeepNoStoreOpen() async throws {
        let folder = TemporaryFolder()
        let configuration = Realm.Configuration(
            fileURL: URL(filePath: folder.path + "/lamps.firn"), objectTypes: classes)
        var calls: Calls?
        try {
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.add(Lamp(value: ["id": 1])) }
            let lamp = realm.objects(Lamp.self)[0]
            calls = track { _ = lamp.name }
        }()
        await mainQueueIsThrough()
        #expect(try Realm.deleteFiles(for: configuration) && calls?.count == 0)
    }

    @Test func invalidatedRealmsTrackOn() async throws {
        let before = try track { _ = try self.lamp(0).name }
        realm.invalidate()
        let lamp = try self.lamp(0)
        #expect(try await calls({ _ = lamp.name }, { lamp.name = "x" }) == 1)
        #expect(before.count == 1)
    }
}

@MainActor private final class LampView {
    private let lamp: Lamp
    private(set) var names: [String] = []

    init(_ lamp: Lamp) {
        self.lamp = lamp
        draw()
    }

    private func draw() {
        withObservationTracking {
            names.append(lamp.name)
        } onChange: { [weak self] in
            Task { @MainActor [weak self] in self?.draw() }
        }
    }
}

private actor LampHouse {
    private var realm: Realm?

    init(_ name: String) async throws {
        realm = try await Realm(configuration: .init(inMemoryIdentifier: name, objectTypes: classes), actor: self)
    }

    func track(_ calls: Calls) throws {
        let lamp = realm?.object(ofType: Lamp.self, forPrimaryKey: 2)
        withObservationTracking({ _ = lamp?.name }, onChange: { calls.add() })
    }
}
