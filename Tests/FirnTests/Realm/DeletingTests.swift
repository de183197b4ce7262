import Firn
import Foundation
import Testing

private class Crew: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var leader: Sailor?
    @Persisted var list: List<Sailor>
    @Persisted var set: MutableSet<Sailor>
    @Persisted var map: Map<String, Sailor?>
    @Persisted var mixed: AnyRealmValue
    @Persisted var mixedList: List<AnyRealmValue>
    @Persisted var mixedSet: MutableSet<AnyRealmValue>
    @Persisted var mixedMap: Map<String, AnyRealmValue>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Sailor: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var friends: List<Sailor>
    @Persisted var berth: Berth?
    @Persisted(originProperty: "list") var crews: LinkingObjects<Crew>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Berth: EmbeddedObject {
    @Persisted var number: Int
    @Persisted var next: Berth?
    @Persisted var neighbour: Sailor?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Objects that are deleted together (R20, SEMANTICS 33, 37). `deletedTogether` is 4,096, so both sides of it are
/// tried.
@Suite(.timeLimit(.minutes(20))) struct DeletingTests {
    private static let types: [ObjectBase.Type] = [Crew.self, Sailor.self, Berth.self]

    @Test(arguments: [10, 1000, 9000]) func theLinksToAllOfThemAreRemoved(count: Int) throws {
        let realm = try memoryRealm(Self.types)
        let crew = Crew()
        try realm.write {
            realm.add(crew)
            let sailors = (0..<count).map { Sailor(value: [$0]) }
            realm.add(sailors)
            for (id, sailor) in sailors.enumerated() {
                sailor.friends.append(objectsIn: [sailors[count - 1 - id], sailor, sailors[(id + 1) % count]])
                sailor.berth = Berth(value: [id, [id, nil, sailors[id / 2]], sailors[id / 3]] as [Any?])
                crew.list.append(objectsIn: [sailor, sailors[id / 2]])
                crew.set.insert(sailor)
                crew.map["sailor \(id)"] = sailor
                crew.mixedList.append(objectsIn: [.object(sailor), .int(id)])
                crew.mixedSet.insert(.object(sailor))
                crew.mixedMap["\(id)"] = AnyRealmValue.fromArray([.object(sailor), .object(sailors[0])])
            }
            crew.leader = sailors[count / 2]
            crew.mixed = AnyRealmValue.fromDictionary(["a": .object(sailors[1]), "b": .object(sailors[2])])
        }
        let isKept = { (id: Int) in id % 3 != 1 && id != count / 2 }
        let gone = realm.objects(Sailor.self).filter { !isKept($0.id) }
        // In another order than that of the keys, and some twice.
        try realm.write { realm.delete(gone.reversed() + gone.prefix(3)) }
        let kept = (0..<count).filter(isKept)
        #expect(realm.objects(Sailor.self).map(\.id) == kept)
        #expect(realm.dynamicObjects("Berth").count == 2 * kept.count)
        #expect(Array(crew.list.map(\.id)) == (0..<count).flatMap { [$0, $0 / 2] }.filter(isKept))
        #expect(Set(crew.set.map(\.id)) == Set(kept) && crew.leader == nil)
        #expect(crew.map.count == count && crew.mixedMap.count == count && crew.mixedList.count == 2 * count)
        for id in 0..<count {
            #expect(crew.map["sailor \(id)"]??.id == (isKept(id) ? id : nil))
            #expect((crew.mixedList[2 * id] == .none) == !isKept(id) && crew.mixedList[2 * id + 1] == .int(id))
            guard case .list(let pair)? = crew.mixedMap["\(id)"] else { return #expect(Bool(false), "no list") }
            #expect((pair[0] == .none) == !isKept(id) && pair[1] != .none)
        }
        #expect(crew.mixedSet.count == kept.count)
        guard case .dictionary(let pair) = crew.mixed else { return #expect(Bool(false), "no map") }
        #expect(pair["a"] == AnyRealmValue.none && (pair["b"] == AnyRealmValue.none) == !isKept(2))
        for sailor in realm.objects(Sailor.self) {
            let id = sailor.id
            #expect(sailor.friends.map(\.id) == [count - 1 - id, id, (id + 1) % count].filter(isKept))
            #expect(sailor.berth?.neighbour?.id == (isKept(id / 3) ? id / 3 : nil))
            #expect(sailor.berth?.next?.neighbour?.id == (isKept(id / 2) ? id / 2 : nil))
            #expect(sailor.crews.count == 1 + (2 * id < count ? 1 : 0) + (2 * id + 1 < count ? 1 : 0))
        }
        // The backlinks know what is left.
        try realm.write { realm.deleteAll() }
        #expect(realm.isEmpty && realm.dynamicObjects("Berth").isEmpty)
    }

    @Test func parentsAndTheirEmbeddedObjectsAreDeletedTogether() throws {
        let realm = try memoryRealm(Self.types)
        try realm.write {
            for id in 0..<100 { realm.add(Sailor(value: [id, [], [id, [id, [id]]]] as [Any])) }
            #expect(realm.dynamicObjects("Berth").count == 300)
            realm.delete(realm.dynamicObjects("Berth"))
            #expect(realm.dynamicObjects("Berth").isEmpty)
        }
        #expect(realm.objects(Sailor.self).allSatisfy { $0.berth == nil } && realm.objects(Sailor.self).count == 100)
    }
}
