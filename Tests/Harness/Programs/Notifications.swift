import Foundation
import RealmSwift

class P11Task: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var title = ""
    @Persisted var priority = 0
    @Persisted var assignee: P11User?
    @Persisted var subtasks: List<P11Task>
    @Persisted var tags: MutableSet<String>
    @Persisted var counts: Map<String, Int>
    @Persisted var note: P11Note?
    var firstLetter: String { String(title.prefix(1)) }
}
class P11User: Object {
    @Persisted var name = ""
    @Persisted var age = 0
}
class P11Note: EmbeddedObject {
    @Persisted var text = ""
}

nonisolated(unsafe) private var failures = 0
private func expect(_ ok: Bool, _ what: String, line: UInt = #line) {
    if !ok { failures += 1; print("11:\(line): FAILED: \(what)") }
}
private func spin(_ seconds: TimeInterval = 2, _ until: () -> Bool) {
    let end = Date().addingTimeInterval(seconds)
    while !until() && Date() < end { _ = RunLoop.main.run(mode: .default, before: Date().addingTimeInterval(0.01)) }
}
private func settle() { spin(0.15) { false } }

final class P11Log<C: RealmCollection> {
    var lines: [String] = []
    func callAsFunction(_ change: RealmCollectionChange<C>) {
        switch change {
        case .initial(let c): lines.append("initial \(c.count)")
        case .update(_, let deletions, let insertions, let modifications):
            lines.append("d\(deletions) i\(insertions) m\(modifications)")
        case .error(let e): lines.append("\(e)")
        }
    }
}

private func make(_ realm: Realm) throws {
    try realm.write {
        realm.deleteAll()
        for (i, t) in ["apple", "avocado", "banana", "cherry"].enumerated() {
            realm.create(P11Task.self, value: ["id": i, "title": t, "priority": i % 2] as [String: Any])
        }
    }
}

private func collections(_ realm: Realm) throws {
    try make(realm)
    let all = P11Log<Results<P11Task>>(), keyed = P11Log<Results<P11Task>>(), typed = P11Log<Results<P11Task>>(),
        nested = P11Log<Results<P11Task>>()
    let results = realm.objects(P11Task.self).sorted(byKeyPath: "id")
    var tokens = [
        results.observe { all($0) },
        results.observe(keyPaths: ["title"]) { keyed($0) },
        results.observe(keyPaths: [\P11Task.priority]) { typed($0) },
        results.observe(keyPaths: ["assignee.name"]) { nested($0) },
    ]
    expect(all.lines.isEmpty, "the initial call is not synchronous")
    spin { nested.lines.count == 1 }; settle()
    expect([all.lines, keyed.lines, typed.lines] == [["initial 4"], ["initial 4"], ["initial 4"]], "initial")
    try realm.write { results[0].title = "apricot" }
    settle()
    expect(
        all.lines.last == "d[] i[] m[0]" && keyed.lines.last == "d[] i[] m[0]" && typed.lines.count == 1
            && nested.lines.count == 1, "title change")
    try realm.write {
        results[1].priority = 9; results[1].assignee = P11User(value: ["name": "Ann"])
    }
    settle()
    expect(
        all.lines.count == 3 && keyed.lines.count == 2 && typed.lines.last == "d[] i[] m[1]"
            && nested.lines.last == "d[] i[] m[1]", "priority change")
    try realm.write { results[1].assignee!.age = 3 }
    settle()
    expect(
        nested.lines.count == 2 && all.lines.count == 4,
        "a linked object's change is reported without key paths: \(all.lines)")
    try realm.write { results[1].assignee!.name = "Eve" }
    settle()
    expect(nested.lines.count == 3, "nested change")
    try realm.write {
        realm.delete(results[0]); realm.create(P11Task.self, value: ["id": 10, "title": "x"]);
        results[1].title = "moved"
    }
    settle()
    expect(all.lines.last == "d[0] i[3] m[2]", "mixed: \(all.lines.last ?? "")")
    // a write which is not reported to one token
    let before = all.lines.count, beforeKeyed = keyed.lines.count
    try realm.write(withoutNotifying: [tokens[0]]) { results[0].title = "silent" }
    settle()
    expect(all.lines.count == before && keyed.lines.count == beforeKeyed + 1, "withoutNotifying")
    try realm.write { results[1].title = "loud" }
    settle()
    expect(all.lines.count == before + 1 && all.lines.last == "d[] i[] m[1]", "afterwards")
    // another thread
    let done = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
        let realm = try! Realm(configuration: .init(inMemoryIdentifier: "P11"))
        try! realm.write { realm.create(P11Task.self, value: ["id": 20, "title": "bg"]) }
        done.signal()
    }
    done.wait()
    spin { all.lines.last == "d[] i[4] m[]" }
    expect(all.lines.last == "d[] i[4] m[]" && results.count == 5, "background write: \(all.lines.last ?? "")")
    tokens.removeAll()
    let n = all.lines.count
    try realm.write { results[0].title = "unseen" }
    settle()
    expect(all.lines.count == n, "a released token stops")
}

private func objects(_ realm: Realm) throws {
    try make(realm)
    let task = realm.object(ofType: P11Task.self, forPrimaryKey: 1)!
    var names: [[String]] = [], news: [String: String] = [:], filtered = 0, deleted = 0, deep: [String] = []
    let t1 = task.observe { (change: ObjectChange<P11Task>) in
        switch change {
        case .change(let object, let properties):
            expect(object == task, "object")
            names.append(properties.map { $0.name }.sorted())
            for p in properties {
                news[p.name] = "\(p.oldValue.map { "\($0)" } ?? "nil")->\(p.newValue.map { "\($0)" } ?? "nil")"
            }
        case .deleted: deleted += 1
        case .error(let e): expect(false, "\(e)")
        }
    }
    let t2 = task.observe(keyPaths: [\P11Task.priority]) { _ in filtered += 1 }
    let t3 = task.observe(keyPaths: ["note.text", "subtasks.title"]) { change in
        if case .change(_, let p) = change { deep.append(contentsOf: p.map(\.name)) }
    }
    settle()
    expect(names.isEmpty, "no initial call")
    try realm.write {
        task.title = "new"; task.tags.insert("t")
    }
    spin { names.count == 1 }; settle()
    expect(names == [["tags", "title"]] && news["title"] == "nil->new" && filtered == 0, "changes: \(names) \(news)")
    let id = 1
    let done = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
        let realm = try! Realm(configuration: .init(inMemoryIdentifier: "P11"))
        try! realm.write { realm.object(ofType: P11Task.self, forPrimaryKey: id)!.priority = 77 }
        done.signal()
    }
    done.wait()
    spin { names.count == 2 }
    expect(
        names.last == ["priority"] && news["priority"] == "1->77" && filtered == 1,
        "oldValue from another thread: \(news)")
    try realm.write {
        task.note = P11Note(value: ["text": "n"]);
        task.subtasks.append(realm.object(ofType: P11Task.self, forPrimaryKey: 2)!)
    }
    settle()
    try realm.write { task.note?.text = "m" }
    settle()
    try realm.write { task.subtasks[0].title = "sub" }
    settle()
    expect(
        deep == ["note", "subtasks", "note", "subtasks"] || deep == ["subtasks", "note", "note", "subtasks"],
        "deep: \(deep)")
    try realm.write { realm.delete(task) }
    spin { deleted == 1 }
    expect(deleted == 1 && filtered == 2, "deleted (\(filtered))")
    [t1, t2, t3].forEach { $0.invalidate() }
}

private func sections(_ realm: Realm) throws {
    try make(realm)
    var log: [String] = [], one: [String] = []
    let s: SectionedResults<String, P11Task> = realm.objects(P11Task.self).sectioned(
        by: \.firstLetter, sortDescriptors: [.init(keyPath: "title")])
    expect(
        s.count == 3 && s[0].key == "a" && s[0].count == 2 && s[1].first?.title == "banana"
            && s.allKeys == ["a", "b", "c"], "sections")
    let token = s.observe { change in
        switch change {
        case .initial(let c): log.append("initial \(c.count)")
        case .update(let c, let d, let i, let m, let si, let sd):
            func f(_ p: [IndexPath]) -> String { p.map { "\($0.section).\($0.item)" }.joined(separator: ",") }
            log.append("\(c.count) d\(f(d)) i\(f(i)) m\(f(m)) +\(Array(si)) -\(Array(sd))")
        }
    }
    let token2 = s[0].observe(keyPaths: nil) { change in
        switch change {
        case .initial(let c): one.append("initial \(c.count)")
        case .update(let c, let d, let i, let m, _, _): one.append("\(c.count) \(d.count) \(i.count) \(m.count)")
        }
    }
    spin { log.count == 1 && one.count == 1 }
    try realm.write { realm.create(P11Task.self, value: ["id": 5, "title": "date"]) }
    settle()
    expect(log.last == "4 d i3.0 m +[3] -[]", "new section: \(log)")
    try realm.write {
        realm.delete(realm.objects(P11Task.self).where { $0.title == "banana" });
        realm.object(ofType: P11Task.self, forPrimaryKey: 0)!.priority = 5
    }
    settle()
    expect(log.last == "3 d i m0.0 +[] -[1]" || log.last == "3 d1.0 i m0.0 +[] -[1]", "gone section: \(log)")
    expect(one == ["initial 2", "2 0 0 1"], "one section: \(one)")
    var seen = 0
    for section in s { for task in section { seen += task.title.isEmpty ? 0 : 1 } }
    expect(seen == 4 && s.freeze().isFrozen && s.realm == realm, "iteration")
    token.invalidate(); token2.invalidate()
}

private func mapsAndSets(_ realm: Realm) throws {
    try make(realm)
    let task = realm.objects(P11Task.self).first!
    var maps: [String] = [], sets: [String] = [], realmNotes = 0
    let tokens = [
        task.counts.observe { change in
            switch change {
            case .initial(let m): maps.append("initial \(m.count)")
            case .update(_, let deletions, let insertions, let modifications):
                maps.append("d\(deletions.sorted()) i\(insertions.sorted()) m\(modifications.sorted())")
            case .error: break
            }
        },
        task.tags.observe { change in
            switch change {
            case .initial(let s): sets.append("initial \(s.count)")
            case .update(let s, let d, let i, _): sets.append("\(s.count) \(d.count) \(i.count)")
            case .error: break
            }
        },
        realm.observe { notification, realm in if notification == .didChange { realmNotes += 1 } },
    ]
    spin { maps.count == 1 && sets.count == 1 }
    try realm.write {
        task.counts["a"] = 1; task.counts["b"] = 2; task.tags.insert(objectsIn: ["x", "y"])
    }
    settle()
    try realm.write {
        task.counts["a"] = 5; task.counts["c"] = 3; task.counts.removeObject(for: "b"); task.tags.remove("x")
    }
    settle()
    expect(maps == ["initial 0", "d[] i[\"a\", \"b\"] m[]", "d[\"b\"] i[\"c\"] m[\"a\"]"], "map: \(maps)")
    expect(sets == ["initial 0", "2 0 2", "1 1 0"], "set: \(sets)")
    expect(realmNotes == 2, "realm: \(realmNotes)")
    let list = P11Log<List<P11Task>>()
    let t = task.subtasks.observe(on: nil) { list($0) }
    spin { list.lines.count == 1 }
    try realm.write { task.subtasks.append(objectsIn: realm.objects(P11Task.self).filter("id > 0")) }
    settle()
    try realm.write { task.subtasks.move(from: 0, to: 2) }
    settle()
    expect(list.lines == ["initial 0", "d[] i[0, 1, 2] m[]", "d[0] i[2] m[]"], "list: \(list.lines)")
    // on a queue
    let queue = DispatchQueue(label: "p11")
    let called = DispatchSemaphore(value: 0)
    let t2 = realm.objects(P11Task.self).observe(on: queue) { change in
        if case .update(let r, _, let i, _) = change, i.count == 1, r.count == 5 { called.signal() }
        if case .initial = change { called.signal() }
    }
    expect(called.wait(timeout: .now() + 2) == .success, "queue initial")
    try realm.write { realm.create(P11Task.self, value: ["id": 99]) }
    expect(called.wait(timeout: .now() + 2) == .success, "queue update")
    t.invalidate(); t2.invalidate(); tokens.forEach { $0.invalidate() }
}

func run11() throws {
    let realm = try Realm(configuration: Realm.Configuration(inMemoryIdentifier: "P11"))
    try collections(realm)
    try objects(realm)
    try sections(realm)
    try mapsAndSets(realm)
    print(failures == 0 ? "11 passed" : "11: \(failures) failures")
}
