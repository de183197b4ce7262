import Foundation

/// A product as a client describes it. One that exists has passed all checks.
package struct ProductDraft: Codable, Sendable, Equatable {
    package var name: String
    package var price: Int
    package var weight: Double
    package var received: Int
    package var attributes: [String: String]

    package enum CodingKeys: CodingKey, CaseIterable { case name, price, weight, received, attributes }

    package init(name: String, price: Int, weight: Double, received: Int, attributes: [String: String]) {
        (self.name, self.price, self.weight) = (name, price, weight)
        (self.received, self.attributes) = (received, attributes)
    }

    /// Throws `DecodingError`, which names what is wrong.
    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields<CodingKeys>(decoder)
        name = try fields.text(.name)
        price = try fields.number(.price, in: 0...100_000_000)
        weight = try fields.values.decode(Double.self, forKey: .weight)
        try fields.check(.weight, (0...1e6).contains(weight), "is not from 0 to a million")
        received = try fields.number(.received, in: 0...1_000_000_000)
        attributes = try fields.values.decode([String: String].self, forKey: .attributes)
        let areShort = attributes.count <= 20 && attributes.allSatisfy { isText($0 + $1) }
        try fields.check(.attributes, areShort, "has more than 20 entries, or one that is empty or too long")
    }
}

/// An order as a client describes it. One that exists has passed all checks that need no store.
package struct OrderDraft: Codable, Sendable, Equatable {
    /// How many of a product are wanted.
    package struct Line: Codable, Sendable, Equatable {
        package var sku: String
        package var quantity: Int

        package enum CodingKeys: CodingKey, CaseIterable { case sku, quantity }

        package init(sku: String, quantity: Int) { (self.sku, self.quantity) = (sku, quantity) }

        /// Throws `DecodingError`, which names what is wrong.
        package init(from decoder: any Decoder) throws {
            let fields = try CheckedFields<CodingKeys>(decoder)
            sku = try fields.text(.sku)
            quantity = try fields.number(.quantity, in: 1...1_000_000)
        }
    }
    /// Where to send it.
    package struct Address: Codable, Sendable, Equatable {
        package var street: String
        package var city: String

        package enum CodingKeys: CodingKey, CaseIterable { case street, city }

        package init(street: String, city: String) { (self.street, self.city) = (street, city) }

        /// Throws `DecodingError`, which names what is wrong.
        package init(from decoder: any Decoder) throws {
            let fields = try CheckedFields<CodingKeys>(decoder)
            street = try fields.text(.street)
            city = try fields.text(.city)
        }
    }

    package var buyer: String
    package var lines: [Line]
    package var address: Address

    package enum CodingKeys: CodingKey, CaseIterable { case buyer, lines, address }

    package init(buyer: String, lines: [Line], address: Address) {
        (self.buyer, self.lines, self.address) = (buyer, lines, address)
    }

    /// Throws `DecodingError`, which names what is wrong.
    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields<CodingKeys>(decoder)
        buyer = try fields.text(.buyer)
        lines = try fields.values.decode([Line].self, forKey: .lines)
        try fields.check(.lines, (1...100).contains(lines.count), "does not have 1 to 100 lines")
        try fields.check(.lines, Set(lines.map(\.sku)).count == lines.count, "has a product twice")
        address = try fields.values.decode(Address.self, forKey: .address)
    }
}

/// Whether a text can be a name: 1 to 200 bytes without control characters.
func isText(_ text: String) -> Bool {
    (1...200).contains(text.utf8.count) && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
}

/// The fields of a JSON object that has no others than those of `Keys`.
private struct CheckedFields<Keys: CodingKey & CaseIterable> {
    let values: KeyedDecodingContainer<Keys>

    /// Throws `DecodingError` if there are other fields.
    init(_ decoder: any Decoder) throws {
        let known = Set(Keys.allCases.map(\.stringValue))
        let all = try decoder.container(keyedBy: AnyKey.self)
        if let key = all.allKeys.first(where: { !known.contains($0.stringValue) }) {
            throw DecodingError.dataCorruptedError(forKey: key, in: all, debugDescription: "is not a known field")
        }
        values = try decoder.container(keyedBy: Keys.self)
    }

    func text(_ key: Keys) throws -> String {
        let text = try values.decode(String.self, forKey: key)
        try check(key, isText(text), "is empty, has control characters, or is longer than 200 bytes")
        return text
    }

    func number(_ key: Keys, in range: ClosedRange<Int>) throws -> Int {
        let number = try values.decode(Int.self, forKey: key)
        try check(key, range.contains(number), "is not from \(range.lowerBound) to \(range.upperBound)")
        return number
    }

    func check(_ key: Keys, _ isRight: Bool, _ fault: String) throws {
        if !isRight { throw DecodingError.dataCorruptedError(forKey: key, in: values, debugDescription: fault) }
    }
}

private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension DecodingError {
    /// What is wrong, and where: such as `lines.0.quantity is not from 1 to 1000000`.
    var fault: String {
        switch self {
        case .dataCorrupted(let context), .typeMismatch(_, let context), .valueNotFound(_, let context):
            Self.path(context.codingPath) + context.debugDescription
        case .keyNotFound(let key, let context): Self.path(context.codingPath + [key]) + "is missing"
        @unknown default: "it can't be decoded"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        let names = keys.map { $0.intValue.map(String.init) ?? $0.stringValue }
        return names.isEmpty ? "" : names.joined(separator: ".") + " "
    }
}
