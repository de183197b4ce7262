import Firn

/// Whether an object's location lies in a region.
func within(_ query: Query<GeoSpot>, _ region: some Geospatial) -> Query<Bool> { query.location.geoWithin(region) }

/// A random condition on locations: as the oracle answers it, as text, and as Swift has it.
indirect enum GeoCondition {
    case location(GeoShape, any Geospatial)
    case tagged(GeoShape, any Geospatial)
    case next(GeoShape, any Geospatial)
    case others(String, GeoShape, any Geospatial)
    case near(String, GeoShape, any Geospatial)
    case kind(Int)
    case id(Int)
    case not(GeoCondition)
    case and(GeoCondition, GeoCondition)
    case or(GeoCondition, GeoCondition)

    static let words = ["ANY", "ALL", "NONE"]

    func answer(_ id: Int, spot: GeoProgram.Spot, spots: [Int: GeoProgram.Spot]) -> GeoAnswer {
        func lies(_ place: GeoPlace?, _ shape: GeoShape) -> GeoAnswer { place.map(shape.contains) ?? .no }
        func quantified(_ word: String, _ answers: [GeoAnswer]) -> GeoAnswer {
            switch word {
            case "ANY": answers.reduce(.no, ||)
            case "ALL": answers.reduce(.yes, &&)
            default: !answers.reduce(.no, ||)
            }
        }
        switch self {
        case .location(let shape, _): return lies(spot.location, shape)
        case .tagged(let shape, _): return lies(spot.tagged, shape)
        case .next(let shape, _): return lies(spot.next.flatMap { spots[$0]?.location }, shape)
        case .others(let word, let shape, _): return quantified(word, spot.others.map { lies($0, shape) })
        case .near(let word, let shape, _):
            // Behind a nil link there is no location.
            let near = spot.near.compactMap { spots[$0] }.filter(\.hasLocation)
            return quantified(word, near.map { lies($0.location, shape) })
        case .kind(let kind): return GeoAnswer(spot.kind == kind)
        case .id(let limit): return GeoAnswer(id < limit)
        case .not(let part): return !part.answer(id, spot: spot, spots: spots)
        case .and(let a, let b): return a.answer(id, spot: spot, spots: spots) && b.answer(id, spot: spot, spots: spots)
        case .or(let a, let b): return a.answer(id, spot: spot, spots: spots) || b.answer(id, spot: spot, spots: spots)
        }
    }

    var text: (text: String, arguments: [Any]) {
        switch self {
        case .location(_, let region): return ("location IN %@", [region])
        case .tagged(_, let region): return ("tagged IN %@", [region])
        case .next(_, let region): return ("next.location IN %@", [region])
        case .others(let word, _, let region): return ("\(word) others IN %@", [region])
        case .near(let word, _, let region): return ("\(word) near.location IN %@", [region])
        case .kind(let kind): return ("kind == %@", [kind])
        case .id(let limit): return ("id < %@", [limit])
        case .not(let part): return ("NOT (\(part.text.text))", part.text.arguments)
        case .and(let a, let b): return ("(\(a.text.text)) AND (\(b.text.text))", a.text.arguments + b.text.arguments)
        case .or(let a, let b): return ("(\(a.text.text)) OR (\(b.text.text))", a.text.arguments + b.text.arguments)
        }
    }

    /// Whether Swift has the condition, too: it has no word for all elements.
    var isTyped: Bool {
        switch self {
        case .others(let word, _, _), .near(let word, _, _): word != "ALL"
        case .not(let part): part.isTyped
        case .and(let a, let b), .or(let a, let b): a.isTyped && b.isTyped
        default: true
        }
    }

    func query(_ spot: Query<GeoSpot>) -> Query<Bool> {
        func any(_ region: some Geospatial) -> Query<Bool> { spot.others.geoWithin(region) }
        func near(_ region: some Geospatial) -> Query<Bool> { spot.near.location.geoWithin(region) }
        func next(_ region: some Geospatial) -> Query<Bool> { spot.next.location.geoWithin(region) }
        func tagged(_ region: some Geospatial) -> Query<Bool> { spot.tagged.geoWithin(region) }
        switch self {
        case .location(_, let region): return within(spot, region)
        case .tagged(_, let region): return tagged(region)
        case .next(_, let region): return next(region)
        case .others(let word, _, let region): return word == "NONE" ? !any(region) : any(region)
        case .near(let word, _, let region): return word == "NONE" ? !near(region) : near(region)
        case .kind(let kind): return spot.kind == kind
        case .id(let limit): return spot.id < limit
        case .not(let part): return !part.query(spot)
        case .and(let a, let b): return a.query(spot) && b.query(spot)
        case .or(let a, let b): return a.query(spot) || b.query(spot)
        }
    }

    var shapes: [GeoShape] {
        switch self {
        case .location(let shape, _), .tagged(let shape, _), .next(let shape, _), .others(_, let shape, _),
            .near(_, let shape, _):
            [shape]
        case .kind, .id: []
        case .not(let part): part.shapes
        case .and(let a, let b), .or(let a, let b): a.shapes + b.shapes
        }
    }
}
