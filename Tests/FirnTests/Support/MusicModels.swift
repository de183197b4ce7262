import Firn
import FirnTestSupport
import Foundation

class Album: Object {
    @Persisted(primaryKey: true) var name: String
    @Persisted var year: Int?
    @Persisted var tracks: List<Track>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class Track: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var title = ""
    @Persisted var rating: Double?
    @Persisted var plays = 0
    @Persisted var album: Album?
    @Persisted var tags: List<String>
    @Persisted(originProperty: "tracks") var albums: LinkingObjects<Album>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// A store on disk with albums and tracks, which random transactions change.
final class Music {
    let folder = TemporaryFolder()
    var configuration: Realm.Configuration
    private(set) var realm: Realm
    private var random: SeededRandom
    private var made = 0

    init(seed: UInt64, retention: Realm.Configuration.HistoryRetention = .everything) throws {
        random = SeededRandom(seed: seed)
        configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: folder.path).appendingPathComponent("music.firn"),
            objectTypes: [Album.self, Track.self])
        configuration.durability = .none
        configuration.historyRetention = retention
        realm = try Realm(configuration: configuration)
    }

    /// The number of the version that the realm shows.
    var version: UInt64 { realm.versions.last!.number }

    func below(_ limit: Int) -> Int { random.below(limit) }

    /// Makes a few changes of any kind. Keys are not used again.
    func transact() throws {
        try realm.write {
            for _ in 0...random.below(8) { change() }
        }
    }

    private func track() -> Track? {
        let tracks = realm.objects(Track.self)
        return tracks.isEmpty ? nil : tracks[random.below(tracks.count)]
    }

    private func album() -> Album? {
        let albums = realm.objects(Album.self)
        return albums.isEmpty ? nil : albums[random.below(albums.count)]
    }

    private func change() {
        made += 1
        switch random.below(14) {
        case 0, 1, 2:
            let new = Track(value: ["id": made, "title": "title \(random.below(20))"])
            realm.add(new)
            new.album = album()
        case 3: realm.add(Album(value: ["name": "album \(made)", "year": 1960 + random.below(60)]))
        case 4: track()?.plays += 1
        // Assigns the value that the property already has.
        case 5: if let track = track() { track.plays = track.plays }
        case 6: track()?.rating = random.below(3) == 0 ? nil : Double(random.below(5))
        case 7: track()?.album = random.below(3) == 0 ? nil : album()
        case 8: track()?.tags.append("tag \(random.below(4))")
        case 9: if let track = track(), !track.tags.isEmpty { track.tags.remove(at: random.below(track.tags.count)) }
        case 10, 11: if let album = album(), let track = track() { album.tracks.append(track) }
        case 12: if let track = track() { realm.delete(track) }
        default: if made % 3 == 0, let album = album() { realm.delete(album) }
        }
    }
}

/// A property's value as text: an object by its primary key, a list by its elements.
func text(_ any: Any?) -> String {
    switch any {
    case nil: "nil"
    case let track as Track: "track \(track.id)"
    case let album as Album: "album \(album.name)"
    case let tracks as List<Track>: "[" + tracks.map { "\($0.id)" }.joined(separator: ",") + "]"
    case let strings as List<String>: "[" + strings.joined(separator: ",") + "]"
    case let value?: "\(value)"
    }
}

/// The stored properties of an object as text.
func state(_ object: Object) -> [String: String] {
    var state: [String: String] = [:]
    for property in object.objectSchema.properties where property.type != .linkingObjects {
        state[property.name] = text(object[property.name])
    }
    return state
}

/// The whole content of a realm as text, by class and primary key, read in every way: by iterating, by key, by query,
/// by backlink.
func dump(_ realm: Realm) -> [String: [String: String]] {
    var result: [String: [String: String]] = [:]
    for track in realm.objects(Track.self) {
        result["Track \(track.id)"] = state(track)
        result["Track \(track.id)"]?["albums"] = track.albums.map(\.name).sorted().joined(separator: ",")
        let found = realm.object(ofType: Track.self, forPrimaryKey: track.id)
        result["Track \(track.id)"]?["found"] = text(found)
        let same = realm.objects(Track.self).where { $0.title == track.title }.sorted(byKeyPath: "id").map {
            "\($0.id)"
        }
        result["Track \(track.id)"]?["same"] = same.joined(separator: ",")
    }
    for album in realm.objects(Album.self) { result["Album \(album.name)"] = state(album) }
    return result
}
