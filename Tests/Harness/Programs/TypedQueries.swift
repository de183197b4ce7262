import RealmSwift
import Foundation

enum P02Genre: String, PersistableEnum, CaseIterable {
    case rock, jazz, folk, techno
}
enum P02Stars: Int, PersistableEnum {
    case none = 0, one, two, three, four, five
}

struct P02Money: CustomPersistable, Equatable, Hashable {
    typealias PersistedType = Int
    var cents: Int
    init(cents: Int) { self.cents = cents }
    init(persistedValue: Int) { cents = persistedValue }
    var persistableValue: Int { cents }
}
struct P02Link: FailableCustomPersistable, Equatable {
    typealias PersistedType = String
    let url: URL
    init?(persistedValue: String) {
        guard let url = URL(string: persistedValue) else { return nil }
        self.url = url
    }
    var persistableValue: String { url.absoluteString }
}
class P02PointObject: EmbeddedObject {
    @Persisted var x: Double
    @Persisted var y: Double
}
struct P02Point: CustomPersistable {
    typealias PersistedType = P02PointObject
    var x: Double, y: Double
    init(x: Double, y: Double) { self.x = x; self.y = y }
    init(persistedValue: P02PointObject) { self.init(x: persistedValue.x, y: persistedValue.y) }
    var persistableValue: P02PointObject { P02PointObject(value: ["x": x, "y": y]) }
}

class P02Track: Object, Identifiable {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var title: String
    @Persisted var subtitle: String?
    @Persisted var seconds: Double
    @Persisted var rating: Int?
    @Persisted var genre: P02Genre
    @Persisted var stars: P02Stars?
    @Persisted var price: P02Money
    @Persisted var link: P02Link?
    @Persisted var place: P02Point
    @Persisted var released: Date
    @Persisted var extra: AnyRealmValue
    @Persisted var cover: Data
    @Persisted var live: Bool
    @Persisted(originProperty: "tracks") var albums: LinkingObjects<P02Album>
    var initial: String { String(title.prefix(1)) }
}
class P02Album: Object {
    @Persisted(primaryKey: true) var name: String
    @Persisted var tracks: List<P02Track>
    @Persisted var tags: MutableSet<String>
    @Persisted var scores: List<Int>
    @Persisted var meta: Map<String, String>
    @Persisted var byName: Map<String, P02Track?>
    @Persisted var prices: List<P02Money>
    @Persisted var best: P02Track?
}

nonisolated(unsafe) private var failures = 0
private func expect(_ ok: Bool, _ what: String, line: UInt = #line) {
    if !ok { failures += 1; print("02:\(line): FAILED: \(what)") }
}
private func same(_ got: Results<P02Track>, _ ids: [Int], line: UInt = #line) {
    let a = got.map(\.id).sorted()
    expect(a == ids, "got \(a), wanted \(ids)", line: line)
}
private func same(_ got: Results<P02Album>, _ names: [String], line: UInt = #line) {
    let a = got.map { $0.name }.sorted()
    expect(a == names, "got \(a), wanted \(names)", line: line)
}

private let epoch = Date(timeIntervalSince1970: 1_000_000)

private func fill(_ realm: Realm) throws {
    let titles = ["Alpha", "beta", "Gamma ray", "Délta", "Alphabet"]
    try realm.write {
        for (i, t) in titles.enumerated() {
            let k = P02Track()
            k.id = i; k.title = t; k.subtitle = i % 2 == 0 ? "sub\(i)" : nil
            k.seconds = Double(100 + 50 * i); k.rating = i == 3 ? nil : i
            k.genre = P02Genre.allCases[i % 4]; k.stars = i == 0 ? nil : P02Stars(rawValue: i)
            k.price = P02Money(cents: 99 + i); k.link = P02Link(persistedValue: "https://x.org/\(i)")
            k.place = P02Point(x: Double(i), y: 0); k.released = epoch.addingTimeInterval(Double(i) * 3600)
            k.extra = [.none, .int(5), .string("five"), .bool(true), .double(5)][i]
            k.cover = Data([UInt8(i)]); k.live = i == 4
            realm.add(k)
        }
        let all = realm.objects(P02Track.self).sorted(by: \.id)
        let one = realm.create(
            P02Album.self,
            value: ["name": "One", "scores": [1, 2, 3], "tags": ["new", "cheap"], "prices": [100, 200]])
        one.tracks.append(objectsIn: all[0..<3]); one.meta["label"] = "Blue"; one.byName["b"] = all[1];
        one.best = all[2]
        let two = realm.create(P02Album.self, value: ["name": "Two", "scores": [10], "tags": ["old"]] as [String: Any])
        two.tracks.append(objectsIn: Array(all)[3...4]); two.meta["label"] = "Red"; two.meta["year"] = "1999"
        realm.create(P02Album.self, value: ["name": "Empty"])
    }
}

private func scalars(_ realm: Realm) {
    let t = realm.objects(P02Track.self)
    same(t.where { $0.id == 1 }, [1])
    same(t.where { $0.id != 1 }, [0, 2, 3, 4])
    same(t.where { $0.id > 1 && $0.id <= 3 }, [2, 3])
    same(t.where { $0.id < 1 || $0.id >= 4 }, [0, 4])
    same(t.where { !($0.id < 3) }, [3, 4])
    same(t.where { ($0.id == 0 || $0.id == 1) && !$0.live }, [0, 1])
    same(t.where { $0.live }, [4])
    same(t.where { $0.live == false && $0.rating != nil }, [0, 1, 2])
    same(t.where { $0.rating == nil }, [3])
    same(t.where { $0.seconds.contains(100...200) }, [0, 1, 2])
    same(t.where { $0.seconds.contains(100..<200) }, [0, 1])
    same(t.where { $0.rating.contains(1...2) }, [1, 2])
    same(t.where { $0.released.contains(epoch...epoch.addingTimeInterval(3600)) }, [0, 1])
    same(t.where { $0.id.in([0, 4, 9]) }, [0, 4])
    same(t.where { $0.genre.in([.rock, .folk]) }, [0, 2, 4])
    same(t.where { $0.title.in(["beta", "none"]) }, [1])
    same(t.where { $0.genre == .jazz }, [1])
    same(t.where { $0.stars >= .three }, [3, 4])
    same(t.where { $0.stars == nil }, [0])
    same(t.where { $0.stars.rawValue == 2 }, [2])
    same(t.where { $0.price == P02Money(cents: 100) }, [1])
    same(t.where { $0.price.persistableValue > 101 }, [3, 4])
    same(t.where { $0.link == P02Link(persistedValue: "https://x.org/2") }, [2])
    same(t.where { $0.link.persistableValue.ends(with: "/4") }, [4])
    same(t.where { $0.place.persistableValue.x > 2 }, [3, 4])
    same(t.where { $0.cover == Data([3]) }, [3])
    same(t.where { $0.extra == .int(5) }, [1, 4])
    same(t.where { $0.extra == .string("five") || $0.extra == .bool(true) }, [2, 3])
    same(t.where { $0.extra == .none }, [0])
    same(t.where { $0.extra > .int(4) }, [1, 4])
}

private func strings(_ realm: Realm) {
    let t = realm.objects(P02Track.self)
    same(t.where { $0.title.starts(with: "Alpha") }, [0, 4])
    same(t.where { $0.title.ends(with: "ray") }, [2])
    same(t.where { $0.title.contains("PHA", options: .caseInsensitive) }, [0, 4])
    same(t.where { $0.title.contains("pha") }, [0, 4])
    same(t.where { $0.title.like("?lpha*") }, [0, 4])
    same(t.where { $0.title.like("BET?", caseInsensitive: true) }, [1])
    same(t.where { $0.title.equals("BETA", options: [.caseInsensitive]) }, [1])
    same(t.where { $0.title.equals("delta", options: [.caseInsensitive, .diacriticInsensitive]) }, [3])
    same(t.where { $0.title.notEquals("ALPHA", options: .caseInsensitive) }, [1, 2, 3, 4])
    same(t.where { $0.subtitle.starts(with: "sub") && $0.subtitle != "sub0" }, [2, 4])
    same(t.where { $0.subtitle == nil }, [1, 3])
    same(t.where { $0.title == $0.title && $0.title != "beta" }, [0, 2, 3, 4])
}

private func collections(_ realm: Realm) {
    let a = realm.objects(P02Album.self), t = realm.objects(P02Track.self)
    let beta = t.where { $0.title == "beta" }.first!
    same(a.where { $0.tracks.contains(beta) }, ["One"])
    same(a.where { $0.tracks.title == "Alphabet" }, ["Two"])
    same(a.where { $0.tracks.count > 2 }, ["One"])
    same(a.where { $0.tracks.count == 0 }, ["Empty"])
    same(a.where { $0.scores.contains(2) }, ["One"])
    same(a.where { $0.scores.contains(5...20) }, ["Two"])
    same(a.where { $0.scores.containsAny(in: [3, 10]) }, ["One", "Two"])
    same(a.where { $0.scores.sum > 5 }, ["One", "Two"])
    same(a.where { $0.scores.max == 3 && $0.scores.min == 1 && $0.scores.avg == 2 }, ["One"])
    same(a.where { $0.tags.contains("old") }, ["Two"])
    same(a.where { $0.tags.count == 2 }, ["One"])
    same(a.where { $0.tags.containsAny(in: ["cheap", "x"]) }, ["One"])
    same(a.where { $0.meta["label"] == "Blue" }, ["One"])
    same(a.where { $0.meta.keys == "year" }, ["Two"])
    same(a.where { $0.meta.keys.contains("ea") }, ["Two"])
    same(a.where { $0.meta.values == "Red" }, ["Two"])
    same(a.where { $0.meta.contains("Blue") }, ["One"])
    same(a.where { $0.meta["label"].starts(with: "R") }, ["Two"])
    same(a.where { $0.byName["b"].seconds == 150 }, ["One"])
    same(a.where { $0.best == t[2] }, ["One"])
    same(a.where { $0.best == nil }, ["Empty", "Two"])
    same(a.where { $0.best.genre == .folk }, ["One"])
    same(a.where { $0.tracks.seconds.sum == 450 }, ["One"])
    same(a.where { $0.tracks.seconds.avg >= 275 }, ["Two"])
    same(a.where { $0.tracks.rating.max == 4 }, ["Two"])
    same(a.where { $0.prices.contains(P02Money(cents: 200)) }, ["One"])
    same(a.where { ($0.tracks.seconds > 120 && $0.tracks.genre == .jazz).count == 1 }, ["One"])
    same(a.where { ($0.tracks.seconds > 120).count >= 2 }, ["One", "Two"])
    same(t.where { $0.albums.name == "Two" }, [3, 4])
    same(t.where { $0.albums.count == 0 }, [])
    same(t.where { $0.albums.scores.contains(1) }, [0, 1, 2])
}

private func order(_ realm: Realm) {
    let t = realm.objects(P02Track.self)
    expect(t.sorted(by: \.seconds, ascending: false).map(\.id) == [4, 3, 2, 1, 0], "sorted(by:)")
    expect(t.sorted(by: \.genre).first?.genre == .folk, "sorted by enum")
    expect(t.sorted(by: \.rating).first?.id == 3, "nil sorts first")
    expect(t.sorted(by: \.price, ascending: false).first?.price.cents == 103, "sorted by custom type")
    expect(
        t.sorted(by: [RealmSwift.SortDescriptor(keyPath: \P02Track.live, ascending: false), .init(keyPath: "id")]).map(
            \.id) == [4, 0, 1, 2, 3], "descriptors")
    expect(t.distinct(by: [\.genre]).count == 4 && t.distinct(by: ["live"]).count == 2, "distinct")
    expect(t.sorted(by: \.id).distinct(by: [\.genre]).map(\.id) == [0, 1, 2, 3], "sorted distinct")
    let s = t.sectioned(by: \.genre)
    expect(s.allKeys == [.folk, .jazz, .rock, .techno] && s[2].count == 2, "sectioned by enum")
    let byLetter = t.sectioned(by: \.initial, sortDescriptors: [.init(keyPath: \P02Track.title)])
    expect(byLetter.allKeys == ["A", "D", "G", "b"], "sectioned by computed: \(byLetter.allKeys)")
    expect(byLetter[IndexPath(item: 1, section: 0)].title == "Alphabet", "index path")
    let long = t.sectioned(by: { $0.seconds > 190 }, sortDescriptors: [.init(keyPath: "seconds")])
    expect(long.map(\.key) == [false, true] && long.map { $0.count } == [2, 3], "sectioned by closure")
    expect(t.index(matching: { $0.title == "Gamma ray" }) == 2, "index(matching:)")
    expect(
        t.first(where: { $0.id == 3 })?.title == "Délta" && t.min(of: \.seconds) == 100
            && t.average(of: \.seconds) == 200, "aggregates")
    expect(t.sum(of: \.rating) == 7 && t.max(of: \.rating) == 4, "optional aggregates")
    let album = realm.object(ofType: P02Album.self, forPrimaryKey: "One")!
    expect(
        album.tracks.where { $0.seconds > 100 }.count == 2 && album.tracks.sorted(by: \.title).last?.title == "beta",
        "list where")
}

func run02() throws {
    let realm = try Realm(configuration: .init(inMemoryIdentifier: "P02"))
    try fill(realm)
    scalars(realm)
    strings(realm)
    collections(realm)
    order(realm)
    print(failures == 0 ? "02 passed" : "02: \(failures) failures")
}
