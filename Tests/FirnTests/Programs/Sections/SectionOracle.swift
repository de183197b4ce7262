import Firn
import Foundation

/// A value by which a plain oracle sorts and divides: the order of the store, written down anew (SEMANTICS 68, 70).
enum SectionKey: Hashable, Comparable, CustomStringConvertible {
    case none
    case number(Double)
    /// Below every number.
    case notANumber
    /// The bytes.
    case text([UInt8])
    /// Of what lies behind a nil link.
    case nowhere

    init(_ number: Int?) { self = number.map { .number(Double($0)) } ?? .none }
    init(_ text: String) { self = .text(Array(text.utf8)) }
    init(_ date: Date?) { self = date.map { .number($0.timeIntervalSinceReferenceDate) } ?? .none }
    init(_ mood: SectionMood) { self.init(mood.rawValue) }
    init(_ double: Double) { self = double.isNaN ? .notANumber : .number(double) }
    init(_ flag: Bool) { self = .number(flag ? 1 : 0) }

    private var rank: Int {
        switch self {
        case .none: 0
        case .notANumber: 1
        case .number: 2
        case .text: 3
        case .nowhere: 4
        }
    }

    static func < (a: SectionKey, b: SectionKey) -> Bool {
        switch (a, b) {
        case (.number(let a), .number(let b)): a < b
        case (.text(let a), .text(let b)): a.lexicographicallyPrecedes(b)
        default: a.rank < b.rank
        }
    }

    var description: String {
        switch self {
        case .none, .nowhere: "nil"
        case .notANumber: "nan"
        case .number(let number): "\(number + 0)"
        case .text(let bytes): String(decoding: bytes, as: UTF8.self).debugDescription
        }
    }
}

/// Sections as the oracle has them: their keys, and the texts of their elements.
struct PlainSections: Equatable, CustomStringConvertible {
    var sections: [(key: SectionKey, elements: [String])] = []

    static func == (a: PlainSections, b: PlainSections) -> Bool { a.description == b.description }
    var description: String { sections.map { "\($0.key): \($0.elements)" }.joined(separator: "; ") }

    /// Elements with equal keys make a section, in the order in which the keys first occur.
    init<Element>(_ elements: [Element], by key: (Element) -> SectionKey, _ text: (Element) -> String) {
        for element in elements {
            let key = key(element)
            if let index = sections.firstIndex(where: { $0.key == key }) {
                sections[index].elements.append(text(element))
            } else {
                sections.append((key, [text(element)]))
            }
        }
    }
}

extension Sequence {
    /// Sorted by several keys, stably: the first order counts most.
    func sorted<Row>(by orders: [(isAscending: Bool, key: (Row) -> SectionKey)], _ row: (Element) -> Row) -> [Element] {
        enumerated().sorted { a, b in
            for order in orders {
                let (first, second) = (order.key(row(a.element)), order.key(row(b.element)))
                if first != second { return order.isAscending ? first < second : second < first }
            }
            return a.offset < b.offset
        }.map(\.element)
    }
}

extension SectionProgram.Row {
    /// The same as `SectionRow.content`.
    func content(_ id: Int, _ rows: [Int: SectionProgram.Row]) -> String {
        SectionRow.content(
            id, number: number, text: text, double: double, date: date, mood: mood, flag: flag, link: link,
            linked: link.flatMap { rows[$0]?.text })
    }
}
