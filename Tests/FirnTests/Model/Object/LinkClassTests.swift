import Firn
import Foundation
import Testing

private class Worker: Object {
    @Persisted var name = "worker"
    @Persisted var boss: Worker?
    @Persisted var team: List<Worker>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Chief: Worker {}

/// A subclass has a table of its own, so a link to its superclass can't lead to an instance of it.
@Suite(.timeLimit(.minutes(20))) struct LinkClassTests {
    @Test(arguments: 0..<11, [false, true])
    func aLinkToAnInstanceOfASubclassStops(use: Int, isManaged: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [use, isManaged] in
            let realm = try memoryRealm([Worker.self, Chief.self])
            let workers = realm.objects(Worker.self)
            let worker = Worker()
            let chief = Chief()
            realm.beginWrite()
            // This worker has the key that the chief has in its own table.
            realm.add(worker)
            worker.team.append(worker)
            // Queries accept managed objects only.
            if isManaged || use > 7 { realm.add(chief) }
            let other = Worker()
            switch use {
            case 0: worker.boss = chief
            case 1: worker.team.append(chief)
            case 2: worker.team[0] = chief
            case 3: worker.team.insert(contentsOf: [worker, chief], at: 0)
            case 4: worker.team = List(arrayLiteral: chief)
            case 5:
                other.boss = chief
                realm.add(other)
            case 6:
                other.team.append(chief)
                realm.add(other)
            case 7:
                other.boss = chief
                worker.boss = other
            case 8: print(workers.where { $0.boss == chief }.count)
            case 9: print(workers.where { $0.boss.in([worker, chief]) }.count)
            default: print(workers.where { $0.team.contains(chief) }.count)
            }
            try realm.commitWrite()
        }
        expectMessage(result, "Firn: ", "Worker", "Chief")
    }

    @Test(arguments: [false, true]) func aGraphWithAnInstanceOfASubclassIsRefusedAsAWhole(isManaged: Bool) throws {
        let realm = try memoryRealm([Worker.self, Chief.self])
        let chief = Chief()
        if isManaged { try realm.write { realm.add(chief) } }
        let linked = Worker(value: ["boss": ["name": "between"]])
        linked.boss?.boss = chief
        let listed = Worker()
        listed.team.append(objectsIn: [Worker(), chief])
        try realm.write {
            for object in [linked, listed] {
                let error = try #require(throws: Realm.Error.self) { try realm.add(validating: object) }
                #expect(error.code == .invalidInput)
                #expect(error.message.contains("Worker") && error.message.contains("Chief"), "\(error)")
            }
        }
        #expect(realm.objects(Worker.self).count == 0)
    }

    /// `create` copies an object of another class by its properties' names (SEMANTICS 24).
    @Test func creatingCopiesAnInstanceOfASubclass() throws {
        let realm = try memoryRealm([Worker.self, Chief.self])
        let chief = Chief(value: ["name": "Ann"])
        let (one, two) = try realm.write {
            realm.add(chief)
            return (
                realm.create(Worker.self, value: chief),
                realm.create(Worker.self, value: ["boss": chief, "team": [chief]])
            )
        }
        #expect(one.name == "Ann" && two.boss?.name == "Ann" && two.team.map(\.name) == ["Ann"])
        #expect(realm.objects(Chief.self).count == 1 && realm.objects(Worker.self).count == 3)
    }
}
