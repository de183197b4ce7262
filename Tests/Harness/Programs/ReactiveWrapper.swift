import Foundation
import RealmSwift

// MARK: A tiny Rx
protocol P05Disposable { func dispose() }
final class P05Token: P05Disposable {
    private var action: (() -> Void)?
    init(_ action: @escaping () -> Void) { self.action = action }
    func dispose() { action?(); action = nil }
}
final class P05Bag {
    private var all: [P05Disposable] = []
    func insert(_ d: P05Disposable) { all.append(d) }
    deinit { all.forEach { $0.dispose() } }
}
extension P05Disposable { func disposed(by bag: P05Bag) { bag.insert(self) } }
enum P05Event<E> { case next(E), error(Error), completed }
struct P05Observer<E> {
    let on: (P05Event<E>) -> Void
    func onNext(_ e: E) { on(.next(e)) }
    func onError(_ e: Error) { on(.error(e)) }
    func onCompleted() { on(.completed) }
}
class P05Observable<E> {
    private let make: (P05Observer<E>) -> P05Disposable
    init(_ make: @escaping (P05Observer<E>) -> P05Disposable) { self.make = make }
    static func create(_ make: @escaping (P05Observer<E>) -> P05Disposable) -> P05Observable<E> { P05Observable(make) }
    func subscribe(onNext: @escaping (E) -> Void, onError: ((Error) -> Void)? = nil, onCompleted: (() -> Void)? = nil)
        -> P05Disposable
    {
        make(
            P05Observer {
                switch $0 {
                case .next(let e): onNext(e);
                case .error(let e): onError?(e);
                case .completed: onCompleted?()
                }
            })
    }
    func map<R>(_ f: @escaping (E) -> R) -> P05Observable<R> {
        P05Observable<R> { o in
            self.subscribe(onNext: { o.onNext(f($0)) }, onError: o.onError, onCompleted: o.onCompleted)
        }
    }
}

// MARK: As in RxRealm
public protocol P05NotificationEmitter {
    associatedtype ElementType: RealmCollectionValue
    func observe(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken
    func toArray() -> [ElementType]
    func toAnyCollection() -> AnyRealmCollection<ElementType>
}
extension List: P05NotificationEmitter {
    public func toAnyCollection() -> AnyRealmCollection<Element> { return AnyRealmCollection<Element>(self) }
    public typealias ElementType = Element
    public func toArray() -> [Element] { return isInvalidated ? [] : Array(self) }
}
extension AnyRealmCollection: P05NotificationEmitter {
    public func toAnyCollection() -> AnyRealmCollection<Element> { return AnyRealmCollection<ElementType>(self) }
    public typealias ElementType = Element
    public func toArray() -> [Element] { return isInvalidated ? [] : Array(self) }
}
extension Results: P05NotificationEmitter {
    public func toAnyCollection() -> AnyRealmCollection<Element> { return AnyRealmCollection<ElementType>(self) }
    public typealias ElementType = Element
    public func toArray() -> [Element] { return isInvalidated ? [] : Array(self) }
}
extension LinkingObjects: P05NotificationEmitter {
    public func toAnyCollection() -> AnyRealmCollection<Element> { return AnyRealmCollection<ElementType>(self) }
    public typealias ElementType = Element
    public func toArray() -> [Element] { return isInvalidated ? [] : Array(self) }
}
public struct P05Changeset { let deleted: [Int], inserted: [Int], updated: [Int] }

extension P05Observable where E: P05NotificationEmitter {
    static func collection(from collection: E, keyPaths: [String]? = nil, on queue: DispatchQueue? = nil)
        -> P05Observable<E>
    {
        return P05Observable<E>.create { observer in
            let token = collection.observe(keyPaths: keyPaths, on: queue) { changeset in
                switch changeset {
                case let .initial(latestValue): observer.onNext(latestValue)
                case let .update(latestValue, _, _, _): observer.onNext(latestValue)
                case let .error(error): observer.onError(error)
                }
            }
            return P05Token { token.invalidate() }
        }
    }
    static func array(from collection: E) -> P05Observable<[E.ElementType]> {
        self.collection(from: collection).map { $0.toArray() }
    }
    static func changeset(from collection: E, keyPaths: [String]? = nil) -> P05Observable<
        (AnyRealmCollection<E.ElementType>, P05Changeset?)
    > {
        return P05Observable<(AnyRealmCollection<E.ElementType>, P05Changeset?)>.create { observer in
            let token = collection.toAnyCollection().observe(keyPaths: keyPaths, on: nil) { changeset in
                switch changeset {
                case .initial(let value): observer.onNext((value, nil))
                case .update(let value, let deletes, let inserts, let updates):
                    observer.onNext((value, P05Changeset(deleted: deletes, inserted: inserts, updated: updates)))
                case .error(let error): observer.onError(error); return
                }
            }
            return P05Token { token.invalidate() }
        }
    }
}
extension P05Observable where E == (Realm, Realm.Notification) {
    static func from(realm: Realm) -> P05Observable<(Realm, Realm.Notification)> {
        .create { o in
            let token = realm.observe { (n: Realm.Notification, realm: Realm) in o.onNext((realm, n)) }
            return P05Token { token.invalidate() }
        }
    }
}
extension P05Observable where E: Object {
    static func from(object: E, emitInitialValue: Bool = true, properties: [String]? = nil) -> P05Observable<E> {
        .create { o in
            if emitInitialValue { o.onNext(object) }
            let token = object.observe { change in
                switch change {
                case .change(_, let changes):
                    if let properties = properties, !changes.contains(where: { properties.contains($0.name) }) {
                        return
                    }
                    o.onNext(object)
                case .deleted: o.onCompleted()
                case .error(let error): o.onError(error)
                }
            }
            return P05Token { token.invalidate() }
        }
    }
    static func propertyChanges(object: E) -> P05Observable<PropertyChange> {
        .create { o in
            let token = object.observe { (change: ObjectChange<ObjectBase>) in
                switch change {
                case .change(_, let changes): changes.forEach(o.onNext)
                case .deleted: o.onCompleted()
                case .error(let error): o.onError(error)
                }
            }
            return P05Token { token.invalidate() }
        }
    }
}
extension Realm {
    static func p05Add<S: Sequence>(_ update: Realm.UpdatePolicy = .error, configuration: Realm.Configuration)
        -> P05Observer<S> where S.Element: Object
    {
        P05Observer { event in
            guard case .next(let e) = event, let realm = try? Realm(configuration: configuration) else { return }
            try? realm.write { realm.add(e, update: update) }
        }
    }
}

class P05Lap: Object {
    @Persisted var time: Double = 0
    @Persisted(originProperty: "laps") var timers: LinkingObjects<P05Timer>
}
class P05Timer: Object {
    @Persisted var name = ""
    @Persisted var laps: List<P05Lap>
    @Persisted var best: P05Lap?
}

nonisolated(unsafe) private var failures = 0
private func expect(_ ok: Bool, _ what: String, line: UInt = #line) {
    if !ok { failures += 1; print("05:\(line): FAILED: \(what)") }
}
private func spin(_ until: () -> Bool) {
    let end = Date().addingTimeInterval(2)
    while !until() && Date() < end { _ = RunLoop.current.run(mode: .default, before: Date().addingTimeInterval(0.01)) }
}

func run05() throws {
    let config = Realm.Configuration(inMemoryIdentifier: "P05")
    let realm = try Realm(configuration: config)
    let timer = P05Timer()
    try realm.write {
        realm.add(timer); timer.name = "T"
    }
    var bag: P05Bag? = P05Bag()
    var counts: [Int] = [], arrays: [[Double]] = [], sets: [P05Changeset?] = [], owners: [Int] = [],
        names: [String] = []
    var changes: [String] = [], done = false, notes = 0
    let laps = realm.objects(P05Lap.self).sorted(byKeyPath: "time")
    P05Observable.collection(from: laps).map { $0.count }.subscribe(onNext: { counts.append($0) }).disposed(by: bag!)
    P05Observable.array(from: timer.laps).map { $0.map(\.time) }.subscribe(onNext: { arrays.append($0) }).disposed(
        by: bag!)
    P05Observable.changeset(from: timer.laps).subscribe(onNext: { sets.append($0.1) }).disposed(by: bag!)
    P05Observable.from(object: timer, properties: ["name"]).subscribe(
        onNext: { names.append($0.name) }, onCompleted: { done = true }
    ).disposed(by: bag!)
    P05Observable<PropertyChange>.create { o in
        P05Observable<P05Timer>.propertyChanges(object: timer).subscribe(onNext: o.onNext)
    }
    .subscribe(onNext: { changes.append("\($0.name):\($0.oldValue ?? "nil")->\($0.newValue ?? "nil")") }).disposed(
        by: bag!)
    P05Observable.from(realm: realm).subscribe(onNext: { if $0.1 == .didChange { notes += 1 } }).disposed(by: bag!)
    spin { counts.count == 1 && arrays.count == 1 && sets.count == 1 }
    expect(counts == [0] && arrays == [[]] && sets.count == 1 && sets[0] == nil, "initials")
    let lap = P05Lap(value: ["time": 2.0])
    try realm.write {
        timer.laps.append(lap); timer.laps.append(P05Lap(value: ["time": 1.0]))
    }
    spin { counts.count == 2 && arrays.count == 2 && sets.count == 2 }
    expect(counts == [0, 2] && arrays.last == [2, 1] && sets.last??.inserted == [0, 1], "inserted")
    P05Observable.collection(from: lap.timers).map(\.count).subscribe(onNext: { owners.append($0) }).disposed(by: bag!)
    P05Observable.collection(from: AnyRealmCollection(laps), keyPaths: ["time"]).map(\.count).subscribe(onNext: {
        owners.append($0 + 100)
    }).disposed(by: bag!)
    spin { owners.count == 2 }
    expect(owners.sorted() == [1, 102], "linking objects and any")
    try realm.write {
        lap.time = 0.5; timer.name = "U"
    }
    spin { names.count == 2 && sets.count == 3 && changes.contains("name:nil->U") && owners.count >= 3 }
    expect(names == ["T", "U"], "object: \(names)")
    expect(sets.last??.updated == [0] && sets.last??.deleted == [], "modified")
    expect(changes.contains("name:nil->U"), "changes: \(changes)")
    expect(notes == 2, "realm notifications: \(notes)")
    Realm.p05Add(configuration: config).onNext([P05Lap(), P05Lap()])
    spin { counts.last == 4 }
    expect(counts.last == 4 && laps.count == 4, "binder")
    try realm.write {
        timer.laps.remove(at: 0); realm.delete(timer)
    }
    spin { done }
    expect(done && timer.isInvalidated, "completed on delete")
    let before = counts.count
    bag = nil
    try realm.write { realm.deleteAll() }
    spin { counts.count != before || Date().timeIntervalSince1970.truncatingRemainder(dividingBy: 1) < 0.05 }
    expect(counts.count == before, "disposed")
    print(failures == 0 ? "05 passed" : "05: \(failures) failures")
}
