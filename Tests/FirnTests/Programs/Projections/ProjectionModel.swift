import Firn
import Foundation

enum CardMood: String, PersistableEnum { case calm, wild, sad }

/// The class whose objects random programs project.
class CardBase: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted var number: Int?
    @Persisted var double = 0.0
    @Persisted var mood = CardMood.calm
    @Persisted var any: AnyRealmValue
    @Persisted var part: CardPart?
    @Persisted var next: CardBase?
    @Persisted var list: List<CardBase>
    @Persisted var set: MutableSet<CardBase>
    @Persisted var parts: List<CardPart>
    @Persisted var ints: List<Int>
    @Persisted var words: MutableSet<String>
    @Persisted var counts: Map<String, Int?>
    @Persisted(originProperty: "next") var sources: LinkingObjects<CardBase>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    var title: String { "\(name) \(number ?? 0)" }
    var city: String? { part?.city }
    var listNames: String { list.map(\.name).joined(separator: ",") }
}

class CardPart: EmbeddedObject {
    @Persisted var city = "?"
    @Persisted var inner: CardPart?
    @Persisted var link: CardBase?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class BaseCard: Projection<CardBase> {
    @Projected(\CardBase.id) var id
    @Projected(\CardBase.name) var name
    @Projected(\CardBase.name) var again
    @Projected(\CardBase.number) var number
    @Projected(\CardBase.double) var double
    @Projected(\CardBase.mood) var mood
    @Projected(\CardBase.any) var any
    @Projected(\CardBase.title) var title
    @Projected(\CardBase.name.count) var length
}

/// What leads further than to the object's own values.
class LinkedCard: BaseCard {
    @Projected(\CardBase.part?.city) var city
    @Projected(\CardBase.part?.inner?.city) var innerCity
    @Projected(\CardBase.part?.link?.name) var partLinkName
    @Projected(\CardBase.next) var next
    @Projected(\CardBase.next?.name) var nextName
    @Projected(\CardBase.next?.next?.number) var nextNextNumber
    @Projected(\CardBase.next?.part?.city) var nextCity
    @Projected(\CardBase.ints) var ints
    @Projected(\CardBase.words) var words
    @Projected(\CardBase.counts) var counts
    @Projected(\CardBase.listNames) var listNames
    @Projected(\CardBase.list.projectTo.name) var names: ProjectedCollection<String>
    @Projected(\CardBase.list.projectTo.city) var cities: ProjectedCollection<String?>
    @Projected(\CardBase.set.projectTo.number) var numbers: ProjectedCollection<Int?>
    @Projected(\CardBase.parts.projectTo.city) var partCities: ProjectedCollection<String>
    @Projected(\CardBase.sources.projectTo.name) var sourceNames: ProjectedCollection<String>

    /// The projected values as texts, by the names of the properties.
    var texts: [String: String] {
        [
            "id": "\(id)", "name": name, "again": again, "number": CardText.of(number), "double": "\(double)",
            "mood": "\(mood)", "any": CardText.of(any), "title": title, "length": "\(length)",
            "city": CardText.of(city), "innerCity": CardText.of(innerCity),
            "partLinkName": CardText.of(partLinkName), "next": CardText.of(next), "nextName": CardText.of(nextName),
            "nextNextNumber": CardText.of(nextNextNumber), "nextCity": CardText.of(nextCity),
            "ints": "\(Array(ints))", "words": "\(words.map { $0 }.sorted())",
            "counts": "\(counts.map { "\($0.key):\(CardText.of($0.value))" }.sorted())", "listNames": listNames,
            "names": "\(Array(names))", "cities": "\(cities.map { CardText.of($0) })",
            "numbers": "\(numbers.map { CardText.of($0) }.sorted())", "partCities": "\(Array(partCities))",
            "sourceNames": "\(sourceNames.sorted())",
        ]
    }

    /// Whose old and new values observers get: they depend on the object's own single values alone.
    static let own: Set = ["id", "name", "again", "number", "double", "mood", "any", "title", "length", "next"]

    /// Whose new values observers get: they are single values behind links.
    static let linked: Set = ["city", "innerCity", "partLinkName", "nextName", "nextNextNumber", "nextCity"]

    @MainActor static let keyPaths: [(name: String, path: PartialKeyPath<LinkedCard>)] = [
        ("name", \.name), ("again", \.again), ("number", \.number), ("double", \.double), ("mood", \.mood),
        ("any", \.any), ("title", \.title), ("length", \.length), ("city", \.city), ("innerCity", \.innerCity),
        ("partLinkName", \.partLinkName), ("next", \.next), ("nextName", \.nextName),
        ("nextNextNumber", \.nextNextNumber), ("nextCity", \.nextCity), ("ints", \.ints), ("words", \.words),
        ("counts", \.counts), ("listNames", \.listNames), ("names", \.names), ("cities", \.cities),
        ("numbers", \.numbers), ("partCities", \.partCities), ("sourceNames", \.sourceNames),
    ]
}

/// The texts of values, whatever version they are of.
enum CardText {
    /// An object that was deleted.
    static let gone = "#gone"

    static func of(_ value: Any?) -> String {
        switch value {
        case nil: return "nil"
        case let object as CardBase: return object.isInvalidated ? gone : "#\(object.id)"
        case let value as AnyRealmValue: return of(value)
        case let value?:
            if let optional = value as? (any CardOptional) { return of(optional.any) }
            return "\(value)"
        }
    }

    static func of(_ value: AnyRealmValue) -> String {
        switch value {
        case .none: "none"
        case .object(let object): of(object)
        case .list(let list): "[\(list.map { of($0) }.joined(separator: ","))]"
        case .dictionary(let map): "{\(map.map { of($0.value) }.joined(separator: ","))}"
        case .int(let number): "\(number)"
        default: "\(value)"
        }
    }
}

private protocol CardOptional { var any: Any? { get } }
extension Optional: CardOptional { fileprivate var any: Any? { self } }
