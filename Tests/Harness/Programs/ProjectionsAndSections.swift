import Foundation
import RealmSwift

class P10Address: EmbeddedObject {
    @Persisted var street: String = ""
    @Persisted var city: String = ""
    @Persisted var country: P10Country?
}
class P10Country: EmbeddedObject {
    @Persisted var code = "??"
}
class P10Person: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var firstName = ""
    @Persisted var lastName = ""
    @Persisted var birthday = Date(timeIntervalSince1970: 0)
    @Persisted var age: Int?
    @Persisted var address: P10Address?
    @Persisted var friends: List<P10Person>
    @Persisted var tags: MutableSet<String>
    @Persisted var scores: List<Int>
    @Persisted var ratings: Map<String, Int>
    @Persisted var boss: P10Person?
    @Persisted(originProperty: "friends") var friendOf: LinkingObjects<P10Person>
    var fullName: String { firstName + " " + lastName }
}

final class P10PersonProjection: Projection<P10Person> {
    @Projected(\P10Person.firstName) var firstName
    @Projected(\P10Person.lastName.localizedUppercase) var lastNameCaps
    @Projected(\P10Person.birthday.timeIntervalSince1970) var birthdayAsEpochtime
    @Projected(\P10Person.address?.city) var homeCity
    @Projected(\P10Person.address?.country?.code) var country
    @Projected(\P10Person.friends.projectTo.firstName) var firstFriendsName: ProjectedCollection<String>
}
class P10Mini: Projection<P10Person>, Identifiable {
    @Projected(\P10Person.id) var id
    @Projected(\P10Person.firstName) var name
    @Projected(\P10Person.age) var age
    @Projected(\P10Person.boss?.firstName) var bossName
    @Projected(\P10Person.tags) var tags
    @Projected(\P10Person.scores) var scores
    @Projected(\P10Person.ratings) var ratings
    @Projected(\P10Person.fullName) var fullName
    @Projected(\P10Person.friendOf.projectTo.fullName) var fans: ProjectedCollection<String>
    @Projected(\P10Person.friends.projectTo.address) var friendAddresses: ProjectedCollection<P10Address?>
    var label: String { "\(id):\(name)" }
}
class P10AddressProjection: Projection<P10Address> {
    @Projected(\P10Address.city) var city
}

nonisolated(unsafe) private var failures = 0
private func expect(_ ok: Bool, _ what: String, line: UInt = #line) {
    if !ok { failures += 1; print("10:\(line): FAILED: \(what)") }
}
private func spin(_ until: () -> Bool) {
    let end = Date().addingTimeInterval(2)
    while !until() && Date() < end { _ = RunLoop.current.run(mode: .default, before: Date().addingTimeInterval(0.01)) }
}

private func fill(_ realm: Realm) throws {
    try realm.write {
        let a = realm.create(
            P10Person.self,
            value: [
                "id": 1, "firstName": "Jon", "lastName": "Snow", "age": 16,
                "address": ["city": "Winterfell", "street": "Wall", "country": ["code": "NO"]],
            ] as [String: Any])
        let d = realm.create(
            P10Person.self,
            value: [
                "id": 2, "firstName": "Daenerys", "lastName": "Targaryen", "birthday": Date(timeIntervalSince1970: 9),
                "scores": [1, 2], "tags": ["dragon"], "ratings": ["imdb": 9],
            ] as [String: Any])
        let t = realm.create(
            P10Person.self,
            value: ["id": 3, "firstName": "Tyrion", "lastName": "Lannister", "age": 30, "address": ["city": "Rock"]]
                as [String: Any])
        a.friends.append(objectsIn: [d, t]); d.boss = a; t.friends.append(d)
    }
}

private func reading(_ realm: Realm) throws {
    let people = realm.objects(P10PersonProjection.self)
    expect(people.count == 3, "objects(Projection)")
    let jon = people.first!
    expect(jon.firstName == "Jon" && jon.lastNameCaps == "SNOW" && jon.birthdayAsEpochtime == 0, "key paths")
    expect(
        jon.homeCity == "Winterfell" && jon.country == "NO" && people[1].homeCity == nil && people[2].country == nil,
        "optional chains")
    expect(
        jon.firstFriendsName.count == 2 && jon.firstFriendsName.first == "Daenerys"
            && Array(jon.firstFriendsName) == ["Daenerys", "Tyrion"] && jon.firstFriendsName[1] == "Tyrion", "projectTo"
    )
    let object = realm.object(ofType: P10Person.self, forPrimaryKey: 2)!
    let mini = P10Mini(projecting: object)
    expect(
        mini.label == "2:Daenerys" && mini.bossName == "Jon" && mini.age == nil
            && mini.fullName == "Daenerys Targaryen", "init(projecting:)")
    expect(
        mini.tags.contains("dragon") && Array(mini.scores) == [1, 2] && mini.ratings["imdb"] == 9,
        "projected collections")
    expect(Set(mini.fans) == ["Jon Snow", "Tyrion Lannister"] && mini.friendAddresses.isEmpty, "linking projectTo")
    let addresses = P10Mini(projecting: realm.object(ofType: P10Person.self, forPrimaryKey: 1)!).friendAddresses
    expect(
        addresses.count == 2 && addresses[1]?.city == "Rock" && addresses[0] == nil, "objects in a projected collection"
    )
    expect(P10AddressProjection(projecting: addresses[1]!).city == "Rock", "embedded projection")
    expect(
        mini == P10Mini(projecting: object) && mini != P10Mini(projecting: realm.objects(P10Person.self)[0]), "equality"
    )
    expect(mini.realm == realm && !mini.isInvalidated && !mini.isFrozen, "ThreadConfined")
    // writing
    try realm.write {
        jon.firstName = "Aegon"
        realm.object(ofType: P10Person.self, forPrimaryKey: 1)!.address!.city = "Castle Black"
        mini.scores.append(3)
        mini.age = 20
        mini.tags.insert("queen")
        jon.firstFriendsName[0] = "Dany"
    }
    expect(
        realm.object(ofType: P10Person.self, forPrimaryKey: 1)?.firstName == "Aegon" && jon.homeCity == "Castle Black",
        "write through")
    expect(
        object.scores.count == 3 && object.age == 20 && object.tags.count == 2 && object.firstName == "Dany",
        "write through collections")
    let free = P10Mini(projecting: P10Person(value: ["id": 8, "firstName": "Free", "scores": [5]] as [String: Any]))
    free.name = "Freed"
    expect(
        free.realm == nil && free.name == "Freed" && free.scores.first == 5 && free.fullName == "Freed ", "unmanaged")
}

private func querying(_ realm: Realm) throws {
    let minis = realm.objects(P10Mini.self)
    expect(minis.filter("lastName == 'Snow'").first?.id == 1, "filter on the object's properties")
    expect(minis.where { $0.name == "Tyrion" }.first?.id == 3, "where on projected properties")
    expect(minis.sorted(by: \.name).map(\.name) == ["Aegon", "Dany", "Tyrion"], "sorted(by:)")
    expect(minis.sorted(byKeyPath: "age", ascending: false).map(\.id) == [3, 2, 1], "sorted(byKeyPath:)")
    expect(
        minis.sorted(by: [RealmSwift.SortDescriptor(keyPath: "lastName", ascending: false)]).map(\.id) == [2, 1, 3],
        "descriptors")
    expect(
        realm.objects(P10Person.self).sorted(byKeyPath: "id", ascending: false).map(P10Mini.init(projecting:)).map(
            \.label) == ["3:Tyrion", "2:Dany", "1:Aegon"], "map")
    expect(minis.index(of: minis[1]) == 1 && minis.last?.id == 3 && minis.contains { $0.age == 20 }, "collection")
    expect(minis.distinct(by: ["lastName"]).count == 3, "distinct")
    let sections = minis.sectioned(by: { $0.age == nil ? "none" : "some" }, sortDescriptors: [.init(keyPath: "age")])
    expect(sections.count == 2 || sections.count == 1, "sections")
    expect(minis.sectioned(by: \.name).allKeys == ["Aegon", "Dany", "Tyrion"], "sectioned by a key path")
    // freeze and thaw
    let frozen = minis.freeze()
    try realm.write { minis[0].name = "Jon" }
    expect(
        frozen.isFrozen && frozen[0].name == "Aegon" && frozen[0].isFrozen && frozen[0].thaw()?.name == "Jon"
            && frozen.thaw()?.first?.name == "Jon", "frozen")
    let one = minis[2].freeze()
    expect(one.isFrozen && one.realm?.isFrozen == true && one.name == "Tyrion", "frozen projection")
    let reference = ThreadSafeReference(to: minis[1])
    let done = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var got = ""
    let configuration = realm.configuration
    DispatchQueue.global().async {
        autoreleasepool {
            let other = try! Realm(configuration: configuration)
            got = other.resolve(reference)?.label ?? "nil"
        }
        done.signal()
    }
    done.wait()
    expect(got == "2:Dany", "ThreadSafeReference: \(got)")
}

private func observing(_ realm: Realm) throws {
    let person = realm.objects(P10PersonProjection.self)[0]
    var names: [String] = [], filtered: [String] = [], deleted = false
    var lists: [String] = [], changes: [String] = []
    let t1 = person.observe { change in
        switch change {
        case .change(let p, let properties):
            for c in properties {
                names.append(c.name);
                if c.name == "firstName" { changes.append("\(c.newValue ?? "nil")"); expect(p == person, "same") }
            }
        case .deleted: deleted = true
        case .error: break
        }
    }
    let t2 = person.observe(keyPaths: [\P10PersonProjection.homeCity]) { change in
        if case .change(_, let p) = change { filtered.append(contentsOf: p.map(\.name)) }
    }
    let t3 = realm.objects(P10Mini.self).sorted(by: \.id).observe(keyPaths: ["firstName"]) { change in
        switch change {
        case .initial(let r): lists.append("initial \(r.count)")
        case .update(let r, let d, let i, let m): lists.append("\(r.count) \(d) \(i) \(m)")
        case .error: break
        }
    }
    let t4 = person.firstFriendsName.observe { change in
        if case .update(let c, _, let i, let m) = change { lists.append("friends \(c.count) \(i) \(m)") }
    }
    spin { lists.count >= 1 }
    RunLoop.current.run(until: Date().addingTimeInterval(0.1))
    expect(lists == ["initial 3"], "initial: \(lists)")
    try realm.write {
        person.firstName = "J"; person.lastNameCaps.isEmpty ? () : ();
    }
    spin { lists.count >= 2 && !names.isEmpty }
    expect(names == ["firstName"] && changes == ["J"] && filtered.isEmpty, "object: \(names) \(filtered)")
    expect(lists.last == "3 [] [] [0]", "list: \(lists)")
    try realm.write { realm.object(ofType: P10Person.self, forPrimaryKey: 1)!.address!.city = "K" }
    spin { !filtered.isEmpty }
    expect(filtered == ["homeCity"], "keyPath filtered: \(filtered)")
    try realm.write { realm.object(ofType: P10Person.self, forPrimaryKey: 1)!.friends[1].firstName = "Imp" }
    spin { lists.contains("friends 2 [] [1]") }
    expect(lists.contains("friends 2 [] [1]"), "projected collection: \(lists)")
    t4.invalidate()
    try realm.write { realm.delete(realm.object(ofType: P10Person.self, forPrimaryKey: 1)!) }
    spin { deleted }
    expect(deleted && person.isInvalidated, "deleted")
    [t1, t2, t3, t4].forEach { $0.invalidate() }
}

func run10() throws {
    let realm = try Realm(
        configuration: .init(
            inMemoryIdentifier: "P10", objectTypes: [P10Person.self, P10Address.self, P10Country.self]))
    try fill(realm)
    try reading(realm)
    try querying(realm)
    try observing(realm)
    print(failures == 0 ? "10 passed" : "10: \(failures) failures")
}
