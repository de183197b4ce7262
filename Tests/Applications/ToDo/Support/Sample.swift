import FirnTestSupport
import Foundation
import RealmSwift
import ToDo

/// Items and lists that every version of the application can store: the test of the migrations knows from their number
/// alone what there must be.
public struct Sample {
    public struct ListOfNumbers {
        public let key: String
        public let name: String
        /// The items in it, by their number; each once, in any order.
        public let numbers: [Int]
    }

    /// The items in the form that they have today. The index is the number that they had.
    public let drafts: [Draft]
    /// Each item is in one list, and every seventh one in a second, too.
    public let lists: [ListOfNumbers]

    private static let keys = ["home", "work", "garden", "travel", "someday"]

    public init(_ count: Int) {
        var random = SeededRandom(seed: UInt64(count))
        drafts = (0..<count).map { number in
            var draft = Draft.random(&random)
            draft.id = Store.id(ofNumber: number)
            // One reminder without a note is all that the first version knew.
            draft.reminders = draft.reminders.prefix(1).map { Draft.Reminder(at: $0.at) }
            return draft
        }
        var numbers = Array(repeating: [Int](), count: Self.keys.count)
        for number in 0..<count {
            let first = random.below(numbers.count)
            numbers[first].append(number)
            if number % 7 == 0 { numbers[(first + 1) % numbers.count].append(number) }
        }
        lists = zip(Self.keys, numbers).map { key, numbers in
            ListOfNumbers(key: key, name: key.capitalized, numbers: numbers.shuffled(using: &random))
        }
    }
}

extension Draft {
    /// Any values, with an id that depends on the generator alone.
    static func random(_ random: inout SeededRandom) -> Draft {
        var draft = Draft(.randomTitle(&random), id: .random(&random))
        draft.isDone = random.below(4) == 0
        draft.priority = Priority.allCases[random.below(Priority.allCases.count)]
        if random.below(3) > 0 { draft.due = .random(&random) }
        draft.reminders = (0..<random.below(3)).map { _ in .random(&random) }
        draft.tags = Set((0..<random.below(3)).map { _ in String.randomTag(&random) })
        return draft
    }
}

extension Draft.Reminder {
    static func random(_ random: inout SeededRandom) -> Draft.Reminder {
        Draft.Reminder(at: .random(&random), note: random.below(2) == 0 ? "" : .randomTitle(&random))
    }
}

extension ObjectId {
    static func random(_ random: inout SeededRandom) -> ObjectId {
        let digits = [random.next(), random.next()].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        return try! ObjectId(string: String(digits.joined().prefix(24)))
    }
}

extension Date {
    /// The day around which all dates of the tests are.
    public static let middle = Date(timeIntervalSince1970: 1_800_000_000)

    /// A time of the month before or after `middle`: few enough that many items have the same one.
    static func random(_ random: inout SeededRandom) -> Date {
        middle + Double(random.below(240) - 120) * 6 * 3600 + (random.below(8) == 0 ? 0.25 : 0)
    }
}

extension String {
    static func randomTitle(_ random: inout SeededRandom) -> String {
        let verbs = ["Paint", "buy", "Call", "répare", "Water", "書く"]
        let things = ["the door", "milk", "Grandma", "la bicyclette", "roses", "手紙", "🎁"]
        return "\(verbs[random.below(verbs.count)]) \(things[random.below(things.count)]) \(random.below(100))"
    }

    static func randomTag(_ random: inout SeededRandom) -> String {
        ["diy", "shop", "family", "soon", "café"][random.below(5)]
    }
}
