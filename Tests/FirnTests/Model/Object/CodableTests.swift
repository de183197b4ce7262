import Firn
import FirnTestSupport
import Foundation
import Testing

private class Author: Object, Codable {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var born: Date?
    @Persisted var picture: Data?
    @Persisted var rating: Decimal128?
    @Persisted var mark: ObjectId?
    @Persisted var home: Place?
    @Persisted var friend: Author?
    @Persisted var tags: List<String>
    @Persisted var places: List<Place>
    @Persisted var sizes: MutableSet<Int>
    @Persisted var prices: Map<String, Double>
    @Persisted var mood: CodableMood
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Place: EmbeddedObject, Codable {
    @Persisted var city: String
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private enum CodableMood: String, PersistableEnum, Codable { case calm, wild }

private class Chosen: Object, Codable {
    @Persisted var name = "default"
    @Persisted var hidden = 7
    @Persisted(originProperty: "friend") var writers: LinkingObjects<Author>
    enum CodingKeys: String, CodingKey { case name = "title" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// `Codable` (R49, R97, SEMANTICS 90).
@Suite(.timeLimit(.minutes(20))) struct CodableTests {
    private let json = """
        {"id": 1, "name": "Ann", "born": 0, "picture": "AQI=", "rating": "4.50", "mark": "0123456789abcdef01234567",
         "home": {"city": "Bern"}, "friend": null, "tags": ["a", "b"], "places": [{"city": "Basel"}], "sizes": [3, 3],
         "prices": {"tea": 1.5}, "mood": "wild"}
        """

    private func decode(_ json: String, _ change: (JSONDecoder) -> Void = { _ in }) throws -> Author {
        let decoder = JSONDecoder()
        change(decoder)
        return try decoder.decode(Author.self, from: Data(json.utf8))
    }

    @Test func objectsAreDecodedAndEncoded() throws {
        let author = try decode(json) { $0.dateDecodingStrategy = .secondsSince1970 }
        #expect(
            author.realm == nil && author.id == 1 && author.name == "Ann"
                && author.born == Date(timeIntervalSince1970: 0))
        #expect(author.picture == Data([1, 2]) && author.rating == "4.5" && author.home?.city == "Bern")
        #expect(
            Array(author.tags) == ["a", "b"] && author.places.map(\.city) == ["Basel"] && Array(author.sizes) == [3])
        #expect(author.prices["tea"] == 1.5 && author.mood == .wild && author.friend == nil)
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        let again = try decode(String(decoding: encoder.encode(author), as: UTF8.self)) {
            $0.dateDecodingStrategy = .secondsSince1970
        }
        #expect(again.description == author.description)
        // What was decoded can be added, by its key, too.
        let realm = try memoryRealm([Author.self, Place.self])
        try realm.write { realm.add(author) }
        try realm.write { realm.add(again, update: .modified) }
        #expect(
            realm.objects(Author.self).count == 1
                && realm.object(ofType: Author.self, forPrimaryKey: 1)?.home?.city == "Bern")
    }

    /// Absent and null keys are nil for optional properties; for others an absent key is an error.
    @Test func absentKeys() throws {
        let whole = #"{"id": 1, "name": "A", "tags": [], "places": [], "sizes": [], "prices": {}, "mood": "calm"}"#
        let author = try decode(whole)
        #expect(author.born == nil && author.home == nil && author.rating == nil)
        #expect(throws: DecodingError.self) { try decode(whole.replacingOccurrences(of: #""name": "A", "#, with: "")) }
        #expect(throws: DecodingError.self) { try decode(whole.replacingOccurrences(of: #""A""#, with: "null")) }
        #expect(throws: DecodingError.self) { try decode(whole.replacingOccurrences(of: "calm", with: "other")) }
    }

    /// The compiler's `encode(to:)` refuses a managed object, and encodes a copy of it; managed collections are
    /// encoded.
    @Test func managedObjects() throws {
        let realm = try memoryRealm([Author.self, Place.self])
        let author = try decode(json)
        try realm.write { realm.add(author) }
        for object in [author, author.freeze(), realm.objects(Author.self)[0]] {
            let error = #expect(throws: EncodingError.self) { try JSONEncoder().encode(object) }
            guard case .invalidValue(_, let context)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(context.debugDescription.contains("managed object"))
        }
        let copy = try JSONDecoder().decode(Author.self, from: JSONEncoder().encode(Author(value: author)))
        #expect(copy.name == "Ann" && copy.places.map(\.city) == ["Basel"])
        #expect(String(decoding: try JSONEncoder().encode(author.tags), as: UTF8.self) == #"["a","b"]"#)
        #expect(
            String(decoding: try JSONEncoder().encode(author.tags.sorted(ascending: false)), as: UTF8.self)
                == #"["b","a"]"#)
        #expect(String(decoding: try JSONEncoder().encode(author.sizes), as: UTF8.self) == "[3]")
        #expect(String(decoding: try JSONEncoder().encode(author.prices), as: UTF8.self) == #"{"tea":1.5}"#)
    }

    /// A class's own keys, and the coder's strategies for keys, dates and data.
    @Test func keysAndStrategies() throws {
        let chosen = try JSONDecoder().decode(Chosen.self, from: Data(#"{"title": "t", "hidden": 1}"#.utf8))
        #expect(chosen.name == "t" && chosen.hidden == 7)
        #expect(String(decoding: try JSONEncoder().encode(chosen), as: UTF8.self) == #"{"title":"t"}"#)
        let dated = try decode(json.replacingOccurrences(of: #""born": 0"#, with: #""born": "1970-01-01T00:00:00Z""#)) {
            $0.dateDecodingStrategy = .iso8601
        }
        #expect(dated.born == Date(timeIntervalSince1970: 0))
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.dataEncodingStrategy = .custom { _, encoder in
            var container = encoder.singleValueContainer()
            try container.encode("bytes")
        }
        let text = String(decoding: try encoder.encode(dated), as: UTF8.self)
        #expect(text.contains("1970-01-01T00:00:00Z") && text.contains(#""picture":"bytes""#))
    }
}
