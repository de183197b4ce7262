import Foundation

@testable import Firn

/// A scalar type of random programs. Its values are numbered, so that the oracle compares numbers.
enum ModelScalar: CaseIterable, Sendable {
    case flag, float, double, data, date, objectId, uuid, mood, warmth

    /// How many values a program uses.
    var count: Int {
        switch self {
        case .flag: 2
        case .mood: ModelMood.allCases.count
        default: 5
        }
    }

    /// Whether its properties may be nil.
    var isOptional: Bool { self != .flag && self != .mood }

    /// The value of a number, as a program gives it.
    func any(_ number: Int) -> Any {
        switch self {
        case .flag: Bool(number: number)
        case .float: Float(number: number)
        case .double: Double(number: number)
        case .data: Data(number: number)
        case .date: Date(number: number)
        case .objectId: ObjectId(number: number)
        case .uuid: UUID(number: number)
        case .mood: ModelMood(number: number)
        case .warmth: ModelWarmth(number: number)
        }
    }
}

/// A type whose values are numbered. Any other value has the number -1.
protocol Numbered: Equatable {
    static var scalar: ModelScalar { get }
    init(number: Int)
}

extension Numbered {
    var shape: Shape {
        .scalar(Self.scalar, (0..<Self.scalar.count).first { Self(number: $0) == self } ?? -1)
    }

    init?(_ shape: Shape) {
        guard case .scalar(Self.scalar, let number) = shape else { return nil }
        self.init(number: number)
    }
}

enum ModelMood: String, PersistableEnum, Numbered {
    case calm, mad = "very mad, and that in more than fifteen bytes", sad
    static let scalar = ModelScalar.mood
    init(number: Int) { self = Self.allCases[number] }
}

struct ModelWarmth: FailableCustomPersistable, Numbered {
    static let scalar = ModelScalar.warmth
    var degrees: Int
    init(number: Int) { degrees = number * 10 }
    init?(persistedValue: String) {
        guard let degrees = Int(persistedValue) else { return nil }
        self.degrees = degrees
    }
    var persistableValue: String { "\(degrees)" }
}

extension Bool: Numbered {
    static let scalar = ModelScalar.flag
    init(number: Int) { self = number == 1 }
}
extension Float: Numbered {
    static let scalar = ModelScalar.float
    init(number: Int) { self = [0, -1.5, .infinity, 3.25e10, -0.001][number] }
}
extension Double: Numbered {
    static let scalar = ModelScalar.double
    init(number: Int) { self = [0, -1.5, .infinity, 1e300, 2.5e-308][number] }
}
extension Data: Numbered {
    static let scalar = ModelScalar.data
    init(number: Int) { self.init(repeating: UInt8(number), count: [0, 1, 15, 300, 2_000][number]) }
}
extension Date: Numbered {
    static let scalar = ModelScalar.date
    init(number: Int) { self.init(timeIntervalSinceReferenceDate: [0, -1e9, 0.5, 7e8 + 0.125, -1e12][number]) }
}
extension ObjectId: Numbered {
    static let scalar = ModelScalar.objectId
    init(number: Int) {
        do { try self.init(string: String(repeating: "\(number)f", count: 12)) } catch { fatalError("\(error)") }
    }
}
extension UUID: Numbered {
    static let scalar = ModelScalar.uuid
    init(number: Int) { self.init(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, UInt8(number))) }
}

/// A type of the application that is stored as a part with a name and a link.
struct ModelLabel: CustomPersistable {
    var name: String
    var node: ModelNode?
    init(persistedValue: ModelPart) { (name, node) = (persistedValue.name, persistedValue.node) }
    init(_ part: [String: Shape], _ realm: Realm) {
        self.init(persistedValue: ModelPart(value: part.mapValues { $0.any(realm) }))
    }
    var persistableValue: ModelPart {
        let part = ModelPart()
        (part.name, part.node) = (name, node)
        return part
    }
}
