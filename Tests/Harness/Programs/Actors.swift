import Foundation
import RealmSwift

class P08Todo: Object {
    @Persisted(primaryKey: true) var _id: ObjectId
    @Persisted var name: String
    @Persisted var owner: String
    @Persisted var done: Bool
    @Persisted var tags: List<String>
}

nonisolated(unsafe) private var failures = 0
private func expect(_ ok: Bool, _ what: String, line: UInt = #line) {
    if !ok { failures += 1; print("08:\(line): FAILED: \(what)") }
}
private let config = Realm.Configuration(inMemoryIdentifier: "P08", objectTypes: [P08Todo.self])

// As in the documentation
actor P08RealmActor {
    var realm: Realm!
    init() async throws {
        realm = try await Realm(configuration: config, actor: self)
    }
    var count: Int { realm.objects(P08Todo.self).count }
    func createTodo(name: String, owner: String) async throws {
        try await realm.asyncWrite {
            realm.create(
                P08Todo.self, value: ["_id": ObjectId.generate(), "name": name, "owner": owner] as [String: Any])
        }
    }
    func getTodoOwner(forTodoNamed name: String) -> String {
        let todo = realm.objects(P08Todo.self).where { $0.name == name }.first!
        return todo.owner
    }
    struct TodoStruct { var id: ObjectId; var name, owner: String }
    func getTodoAsStruct(forTodoNamed name: String) -> TodoStruct {
        let todo = realm.objects(P08Todo.self).where { $0.name == name }.first!
        return TodoStruct(id: todo._id, name: todo.name, owner: todo.owner)
    }
    func updateTodo(_id: ObjectId, name: String) async throws {
        try await realm.asyncWrite {
            realm.create(P08Todo.self, value: ["_id": _id, "name": name] as [String: Any], update: .modified)
        }
    }
    func deleteTodo(id: ObjectId) async throws {
        try await realm.asyncWrite {
            let todoToDelete = realm.object(ofType: P08Todo.self, forPrimaryKey: id)
            realm.delete(todoToDelete!)
        }
    }
    func rename(_ ref: ThreadSafeReference<P08Todo>, to name: String) async throws -> Bool {
        guard let todo = realm.resolve(ref) else { return false }
        let old: String = try await realm.asyncWrite {
            let old = todo.name
            todo.name = name
            return old
        }
        return old != name
    }
    func failing() async throws {
        try await realm.asyncWrite {
            realm.create(P08Todo.self, value: ["name": "never"])
            throw P08Error.stop
        }
    }
    func rewind() async {
        await realm.asyncRefresh()
    }
    func close() { realm = nil }
}
enum P08Error: Error { case stop }

actor P08Watcher {
    var initial = 0, inserted = 0, modified = 0, objectNames: [String] = [], onOwnActor = true
    var token: NotificationToken?, objectToken: NotificationToken?
    func took(_ change: RealmCollectionChange<Results<P08Todo>>) {
        switch change {
        case .initial(let r): initial = r.count
        case .update(_, _, let insertions, let modifications):
            inserted += insertions.count; modified += modifications.count
        case .error: break
        }
    }
    func start() async throws {
        let realm = try await Realm.open(configuration: config)
        let results = realm.objects(P08Todo.self)
        token = await results.observe(on: self) { actor, change in actor.took(change) }
        if let first = results.first {
            objectToken = await first.observe(keyPaths: ["name"], on: self) { actor, change in
                if case .change(let o, let p) = change {
                    actor.objectNames.append((o as! P08Todo).name + String(p.count))
                }
            }
        }
    }
    func stop() { token?.invalidate(); objectToken?.invalidate() }
}

@globalActor actor P08Background: GlobalActor {
    static let shared = P08Background()
}
@P08Background
private func backgroundWork() async throws -> Int {
    let realm = try await Realm(configuration: config, actor: P08Background.shared)
    try await realm.asyncWrite { realm.create(P08Todo.self, value: ["name": "bg", "owner": "bg"]) }
    return realm.objects(P08Todo.self).where { $0.owner == "bg" }.count
}

@MainActor
final class P08ViewModel {
    var todos: [P08Todo] = []
    var token: NotificationToken?
    let realm: Realm
    init() async throws {
        realm = try await Realm(configuration: config, actor: MainActor.shared)
        token = realm.objects(P08Todo.self).sorted(by: \.name).observe { [weak self] change in
            switch change {
            case .initial(let r), .update(let r, _, _, _): self?.todos = Array(r.freeze())
            case .error(let e): fatalError("\(e)")
            }
        }
    }
    func add(_ name: String) throws {
        try realm.write { realm.create(P08Todo.self, value: ["name": name, "owner": "me"]) }
    }
    deinit { token?.invalidate() }
}

@MainActor
private func eventually(_ what: String, line: UInt = #line, _ check: () async -> Bool) async {
    for _ in 0..<200 {
        if await check() { return }
        try? await Task.sleep(nanoseconds: 10_000_000)
    }
    expect(false, "never happened: " + what, line: line)
}

@MainActor
func run08() async throws {
    let mainRealm = try await Realm(configuration: config)
    let actor = try await P08RealmActor()
    try await actor.createTodo(name: "Write", owner: "Ann")
    expect(await actor.count == 1, "created")
    expect(await actor.getTodoOwner(forTodoNamed: "Write") == "Ann", "owner")
    let s = await actor.getTodoAsStruct(forTodoNamed: "Write")
    try await actor.updateTodo(_id: s.id, name: "Rewrite")
    mainRealm.refresh()
    let todo = mainRealm.object(ofType: P08Todo.self, forPrimaryKey: s.id)!
    expect(todo.name == "Rewrite" && todo.owner == "Ann", "updated by another actor")
    do { try await actor.failing(); expect(false, "should throw") } catch P08Error.stop {}
    expect(await actor.count == 1, "asyncWrite rolled back")

    let ref = ThreadSafeReference(to: todo)
    expect(try await actor.rename(ref, to: "Third"), "resolved reference")
    await mainRealm.asyncRefresh()
    expect(todo.name == "Third", "asyncRefresh")

    let watcher = P08Watcher()
    try await watcher.start()
    await eventually("initial") { await watcher.initial == 1 }
    try await mainRealm.asyncWrite { todo.name = "Fourth" }
    await eventually("modified") { await watcher.modified == 1 }
    await eventually("object change") { await watcher.objectNames == ["Fourth1"] }
    try await actor.createTodo(name: "Second", owner: "Bob")
    await eventually("inserted") { await watcher.inserted == 1 }
    await watcher.stop()

    expect(try await backgroundWork() == 1, "global actor")
    let model = try await P08ViewModel()
    await eventually("model initial") { model.todos.count == 3 }
    try model.add("zed")
    await eventually("model update") { model.todos.last?.name == "zed" }
    expect(model.todos.allSatisfy { $0.isFrozen }, "frozen")

    // frozen objects to tasks
    nonisolated(unsafe) let frozen = todo.freeze()
    let name = await Task.detached { frozen.name }.value
    expect(name == "Fourth" && frozen.thaw()?.name == "Fourth", "frozen crosses threads")

    // writeAsync
    let completed: (Bool, String) = await withCheckedContinuation { c in
        mainRealm.writeAsync({ todo.done = true }, onComplete: { error in c.resume(returning: (error == nil, "done")) })
    }
    expect(completed.0 && todo.done, "writeAsync")
    mainRealm.beginAsyncWrite {
        todo.tags.append("async")
        mainRealm.commitAsyncWrite { _ in }
    }
    await eventually("beginAsyncWrite") { todo.tags.count == 1 && !mainRealm.isPerformingAsynchronousWriteOperations }

    // a realm in a task on a background queue
    await withCheckedContinuation { (c: CheckedContinuation<Void, Never>) in
        let id = todo._id
        DispatchQueue(label: "p08").async {
            autoreleasepool {
                let realm = try! Realm(configuration: config)
                try! realm.write { realm.object(ofType: P08Todo.self, forPrimaryKey: id)?.owner = "queue" }
            }
            c.resume()
        }
    }
    mainRealm.refresh()
    expect(todo.owner == "queue", "written on a queue")
    let queue = DispatchQueue(label: "p08.confined")
    let n: Int = await withCheckedContinuation { c in
        queue.async {
            let realm = try! Realm(configuration: config, queue: queue)
            c.resume(returning: realm.objects(P08Todo.self).count)
        }
    }
    expect(n == 4, "queue-confined realm")

    // @ThreadSafe
    try await P08Detail(todo: todo).finish()
    mainRealm.refresh()
    expect(todo.name == "Finished", "@ThreadSafe")
    let token = todo.observe { _ in }
    token.invalidate()
    try await actor.deleteTodo(id: s.id)
    await mainRealm.asyncRefresh()
    expect(todo.isInvalidated, "deleted elsewhere")
    await actor.close()
    print(failures == 0 ? "08 passed" : "08: \(failures) failures")
}

final class P08Detail: @unchecked Sendable {
    @ThreadSafe var todo: P08Todo?
    init(todo: P08Todo) { self.todo = todo }
    func finish() async throws {
        try await Task.detached { [self] in
            try autoreleasepool {
                guard let todo = self.todo, let realm = todo.realm else { return }
                try realm.write { todo.name = "Finished" }
            }
        }.value
    }
}
