import Foundation
import Testing

@testable import FirnTool

/// An object as a subcommand's JSON shows it.
struct ShownObject {
    var identity: ChangedObject.Identity
    var change: String
    var version: UInt64?
    var primaryKey: String
    /// By the property's name.
    var properties: [String: [String: Any]]

    /// The objects in lines of JSON. Other lines are passed over.
    static func all(_ lines: String) throws -> [ShownObject] {
        try lines.split(separator: "\n").compactMap { line in
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            guard let change = object["change"] as? String else { return nil }
            var properties: [String: [String: Any]] = [:]
            for property in try #require(object["properties"] as? [[String: Any]]) {
                properties[try #require(property["name"] as? String)] = property
            }
            let table = object["class"] as? String == "Person" ? 0 : 1
            return ShownObject(
                identity: .init(table: table, key: (object["key"] as? NSNumber)?.int64Value ?? -1), change: change,
                version: (object["version"] as? NSNumber)?.uint64Value, primaryKey: text(object["primaryKey"]),
                properties: properties)
        }
    }

    /// A value as JSON.
    static func text(_ value: Any?) -> String {
        switch value {
        case let text as String: "\"\(text)\""
        case let number as NSNumber: "\(number)"
        default: "null"
        }
    }

    /// The elements, after the edits of a property have been applied.
    static func edited(_ elements: [String], _ edits: [[String: Any]]) throws -> [String] {
        var elements = elements
        for edit in edits {
            let index = (edit["index"] as? Int) ?? 0
            let new = ((edit["new"] as? [Any]) ?? []).map(text)
            let old = ((edit["old"] as? [Any]) ?? []).map(text)
            switch edit["edit"] as? String {
            case "insert": elements.insert(contentsOf: new, at: index)
            case "remove", "replace":
                try #require(index + old.count <= elements.count)
                #expect(Array(elements[index..<index + old.count]) == old)
                elements.replaceSubrange(index..<index + old.count, with: new)
            case "move":
                let element = elements.remove(at: try #require(edit["from"] as? Int))
                elements.insert(element, at: try #require(edit["to"] as? Int))
            default: Issue.record("an unknown edit \(edit)")
            }
        }
        return elements
    }
}
