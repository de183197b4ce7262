import Foundation
import RealmSwift

class P06Company: Object {
    @Persisted var name = ""
    @Persisted var employees: List<P06Person>
    @Persisted var founded = Date()
}
class P06Person: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    @Persisted var nick: String?
    @Persisted var age = 0
    @Persisted var salary = 0.0
    @Persisted var bonus: Double?
    @Persisted var born = Date()
    @Persisted var active = false
    @Persisted var boss: P06Person?
    @Persisted var tags: MutableSet<String>
    @Persisted var scores: List<Int>
    @Persisted var attrs: Map<String, Int>
    @Persisted var uid = UUID()
    @Persisted var oid = ObjectId.generate()
    @Persisted var blob = Data()
    @Persisted var anything: AnyRealmValue
    @Persisted var price: Decimal128
    @Persisted(originProperty: "employees") var companies: LinkingObjects<P06Company>
    @Persisted(originProperty: "boss") var reports: LinkingObjects<P06Person>
}

nonisolated(unsafe) private var failures = 0
private func expect(_ ok: Bool, _ what: String, line: UInt = #line) {
    if !ok { failures += 1; print("06:\(line): FAILED: \(what)") }
}
nonisolated(unsafe) private var people: Results<P06Person>!
private func q(_ p: NSPredicate, _ ids: [Int], line: UInt = #line) {
    let got = people.filter(p).map(\.id).sorted()
    expect(got == ids, "\(p): got \(got), wanted \(ids)", line: line)
}
private func f(_ ids: [Int], _ format: String, _ args: Any..., line: UInt = #line) {
    let got = people.filter(NSPredicate(format: format, argumentArray: args)).map(\.id).sorted()
    expect(got == ids, "\(format): got \(got), wanted \(ids)", line: line)
}
private let day: TimeInterval = 86400
private let base = Date(timeIntervalSinceReferenceDate: 0)

private func fill(_ realm: Realm) throws {
    try realm.write {
        let names = ["Ann", "bob", "Cécile", "Dan Brown", "Eve"]
        for i in 0..<5 {
            let p = P06Person()
            p.id = i; p.name = names[i]; p.nick = i == 1 ? nil : "n\(i)"; p.age = 20 + 10 * i
            p.salary = 1000.5 * Double(i); p.bonus = i > 2 ? Double(i) : nil
            p.born = base.addingTimeInterval(Double(i) * day); p.active = i % 2 == 0
            p.tags.insert(objectsIn: i < 2 ? ["x", "y"] : ["z"]); p.scores.append(objectsIn: Array(0..<i))
            p.attrs["k"] = i; p.blob = Data([UInt8(i)]); p.anything = i == 0 ? .int(7) : .string("s\(i)");
            p.price = Decimal128(value: i)
            realm.add(p)
            if i > 0 { p.boss = realm.object(ofType: P06Person.self, forPrimaryKey: i / 2) }
        }
        let c = realm.create(P06Company.self, value: ["name": "Acme"]),
            d = realm.create(P06Company.self, value: ["name": "Dull"])
        c.employees.append(objectsIn: realm.objects(P06Person.self).filter("id < 3"))
        d.employees.append(objectsIn: realm.objects(P06Person.self).filter("id == 4"))
        realm.create(P06Company.self, value: ["name": "Empty"])
    }
}

private func formats() {
    q(NSPredicate(format: "age > 30 AND name != %@", "Eve"), [2, 3])
    q(NSPredicate(format: "age >= %d && age < %i", 30, 50), [1, 2])
    q(NSPredicate(format: "%K == %@", "name", "bob"), [1])
    q(NSPredicate(format: "%K.%K == %d", "boss", "id", 1), [2, 3])
    q(NSPredicate(format: "salary > %f", 2000.9), [2, 3, 4])
    q(NSPredicate(format: "id = %ld OR id == %@", 3, NSNumber(value: 4)), [3, 4])
    q(NSPredicate(format: "active == YES"), [0, 2, 4])
    q(NSPredicate(format: "active == false AND NOT id == 1"), [3])
    q(NSPredicate(format: "active = %@", NSNumber(value: true)), [0, 2, 4])
    q(NSPredicate(format: "active == %@", true as NSNumber), [0, 2, 4])
    q(NSPredicate(format: "nick == nil"), [1])
    q(NSPredicate(format: "nick != NULL AND nick != 'n0'"), [2, 3, 4])
    q(NSPredicate(format: "bonus == %@", NSNull()), [0, 1, 2])
    q(NSPredicate(format: "born < %@", base.addingTimeInterval(day) as CVarArg), [0])
    q(
        NSPredicate(
            format: "born >= %@ AND born < %@", base.addingTimeInterval(day) as NSDate,
            base.addingTimeInterval(3 * day) as NSDate), [1, 2])
    q(NSPredicate(format: "born BETWEEN %@", [base, base.addingTimeInterval(day)]), [0, 1])
    q(NSPredicate(format: "age BETWEEN {30, 40}"), [1, 2])
    q(NSPredicate(format: "age BETWEEN %@", [30, 40]), [1, 2])
    q(NSPredicate(format: "id IN %@", [1, 3, 9]), [1, 3])
    q(NSPredicate(format: "name IN {'Ann', 'Eve'}"), [0, 4])
    q(NSPredicate(format: "NOT (name IN %@)", ["Ann", "Eve"]), [1, 2, 3])
    q(NSPredicate(format: "name IN[c] %@", ["BOB"]), [1])
    q(NSPredicate(format: "name BEGINSWITH[c] 'B'"), [1])
    q(NSPredicate(format: "name BEGINSWITH 'B'"), [])
    q(NSPredicate(format: "name CONTAINS[cd] %@", "ECI"), [2])
    q(NSPredicate(format: "name endswith[c] %@", "WN"), [3])
    q(NSPredicate(format: "name LIKE '*n'"), [0, 3])
    q(NSPredicate(format: "name LIKE[c] %@", "?OB"), [1])
    q(NSPredicate(format: "name ==[c] %@", "ANN"), [0])
    q(NSPredicate(format: "name ==[cd] %@", "cecile"), [2])
    q(NSPredicate(format: "name =[c] \"eve\" || !(id > 0)"), [0, 4])
    q(NSPredicate(format: "TRUEPREDICATE"), [0, 1, 2, 3, 4])
    q(NSPredicate(format: "FALSEPREDICATE"), [])
    q(NSPredicate(format: "blob == %@", Data([3]) as NSData), [3])
    q(NSPredicate(format: "blob == %@", Data([3])), [3])
    q(NSPredicate(format: "uid == %@", people[2].uid as NSUUID), [2])
    q(NSPredicate(format: "uid == %@", people[2].uid), [2])
    q(NSPredicate(format: "oid == %@", people[1].oid), [1])
    q(NSPredicate(format: "price > %@", Decimal128(value: 2)), [3, 4])
    q(NSPredicate(format: "anything == 7 OR anything == %@", "s2"), [0, 2])
    q(NSPredicate(format: "age > id"), [0, 1, 2, 3, 4])
    q(NSPredicate(format: "30 < age"), [2, 3, 4])
    q(NSPredicate(format: "boss == %@", people[1]), [2, 3])
    q(NSPredicate(format: "boss IN %@", people.filter("id == 1 OR id == 2")), [2, 3, 4])
    q(NSPredicate(format: "boss.name == 'Ann' AND boss.boss == nil"), [1])
}
private func collections() {
    q(NSPredicate(format: "ANY tags == 'x'"), [0, 1])
    q(NSPredicate(format: "ANY scores > 1"), [3, 4])
    q(NSPredicate(format: "SOME scores == %d", 0), [1, 2, 3, 4])
    q(NSPredicate(format: "NONE scores == 1"), [0, 1])
    q(NSPredicate(format: "ALL scores < 2"), [0, 1, 2])
    q(NSPredicate(format: "'z' IN tags"), [2, 3, 4])
    q(NSPredicate(format: "%@ IN tags", "z"), [2, 3, 4])
    q(NSPredicate(format: "scores.@count == 0"), [0])
    q(NSPredicate(format: "scores.@count > %d", 2), [3, 4])
    q(NSPredicate(format: "scores.@sum >= 3"), [3, 4])
    q(NSPredicate(format: "scores.@max == 1 OR scores.@min = nil"), [0, 2])
    q(NSPredicate(format: "scores.@avg == 1"), [3])
    q(NSPredicate(format: "attrs['k'] == 2"), [2])
    q(NSPredicate(format: "attrs[%@] > 2", "k"), [3, 4])
    q(NSPredicate(format: "ANY attrs.@allKeys == 'k' AND ANY attrs.@allValues == 4"), [4])
    q(NSPredicate(format: "companies.@count == 1"), [0, 1, 2, 4])
    q(NSPredicate(format: "ANY companies.name == 'Acme'"), [0, 1, 2])
    q(NSPredicate(format: "ANY reports.age > 40"), [1, 2])
    q(NSPredicate(format: "reports.@count == 2"), [1])
    q(NSPredicate(format: "SUBQUERY(reports, $r, $r.age > 20 AND $r.name BEGINSWITH 'b').@count > 0"), [0])
    q(NSPredicate(format: "SUBQUERY(reports, $r, $r.age > %d).@count == %d", 35, 2), [1])
    let companies = people.realm!.objects(P06Company.self)
    expect(companies.filter("ANY employees.age > 50").map(\.name) == ["Dull"], "ANY over list")
    expect(companies.filter("employees.@sum.age == 90").first?.name == "Acme", "@sum.age")
    expect(
        companies.filter("employees.@avg.salary > %@ && employees.@max.age < 41", 100).map(\.name) == ["Acme"],
        "@avg with number")
    expect(companies.filter("employees.@count = 0").first?.name == "Empty", "@count 0")
    expect(companies.filter("%@ IN employees", people[4]).first?.name == "Dull", "object IN list")
    expect(companies.filter("NONE employees.name == %@ AND employees.@count > 0", "Ann").first?.name == "Dull", "NONE")
}
private func compounds() {
    let young = NSPredicate(format: "age < 40"), active = NSPredicate(format: "active == true")
    q(NSCompoundPredicate(andPredicateWithSubpredicates: [young, active]), [0])
    q(NSCompoundPredicate(orPredicateWithSubpredicates: [young, active]), [0, 1, 2, 4])
    q(NSCompoundPredicate(notPredicateWithSubpredicate: young), [2, 3, 4])
    q(
        NSCompoundPredicate(
            type: .and,
            subpredicates: [
                NSCompoundPredicate(type: .or, subpredicates: [young, active]),
                NSCompoundPredicate(type: .not, subpredicates: [NSPredicate(format: "id == 0")]),
            ]), [1, 2, 4])
    q(NSCompoundPredicate(andPredicateWithSubpredicates: []), [0, 1, 2, 3, 4])
    q(NSPredicate(value: true), [0, 1, 2, 3, 4])
    q(NSPredicate(value: false), [])
    var parts: [NSPredicate] = []
    for word in "an ro".split(separator: " ") { parts.append(NSPredicate(format: "name CONTAINS[c] %@", String(word))) }
    q(NSCompoundPredicate(andPredicateWithSubpredicates: parts), [3])
    f([1, 2], "age >= %@ AND age <= %@", 30, 40)
    f([3], "%K == %@ AND %K > %@", "name", "Dan Brown", "born", base)
    f([0, 1], "id IN %@", [0, 1])
    // On Linux Foundation has neither substitution variables nor expressions.
}
private func evaluating() {
    expect(people.index(matching: "name == %@", "Eve") == 4, "index(matching: format)")
    expect(people.index(matching: NSPredicate(format: "age > 25")) == 1, "index(matching: predicate)")
    expect(people.index(matching: NSPredicate(format: "age > 125")) == nil, "no index")
    expect(people.filter("age > %@", 25).filter("active == %@", true).map(\.id) == [2, 4], "chained, Swift values")
    expect(people.filter("name CONTAINS[c] %@ OR id == %d", "an", 4).count == 3, "mixed args")
    let list = people.realm!.objects(P06Company.self)[0].employees
    expect(
        list.filter("age > 20").sorted(byKeyPath: "age", ascending: false).first?.id == 2
            && list.index(matching: "id == 2") == 2, "list")
    let p = NSPredicate(format: "age > 30 AND name BEGINSWITH[c] %@", "e")
    expect(people.toP06Array().filter { p.evaluate(with: $0) }.map(\.id) == [4], "evaluate(with:)")
    let free = P06Person(
        value: ["id": 9, "name": "Emil", "age": 31, "boss": ["id": 10, "name": "Zoe"]] as [String: Any])
    expect(
        p.evaluate(with: free) && NSPredicate(format: "boss.name == 'Zoe'").evaluate(with: free), "unmanaged evaluate")
    expect(NSPredicate(format: "SELF > 3").evaluate(with: 5), "SELF")
    expect(NSPredicate(format: "SELF IN %@", ["a", "b"]).evaluate(with: "a"), "SELF IN")
    expect(NSPredicate { o, _ in (o as? P06Person)?.age == 31 }.evaluate(with: free), "block predicate")
    let arr = NSArray(array: [1, 2, 3, 4]).filtered(using: NSPredicate(format: "SELF >= 3"))
    expect(arr.count == 2, "NSArray filtered(using:)")
}
extension Results { func toP06Array() -> [Element] { Array(self) } }

func run06() throws {
    let realm = try Realm(configuration: .init(inMemoryIdentifier: "P06"))
    try fill(realm)
    people = realm.objects(P06Person.self).sorted(byKeyPath: "id")
    formats()
    collections()
    compounds()
    evaluating()
    people = nil
    print(failures == 0 ? "06 passed" : "06: \(failures) failures")
}
