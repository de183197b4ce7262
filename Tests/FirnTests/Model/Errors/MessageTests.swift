import Firn
import Foundation
import Testing

private class Sly: Object {
    @Persisted(primaryKey: true) var key = ""
    @Persisted var hidden = 1
    @Persisted var list: List<String>
    override class func propertiesMapping() -> [String: String] {
        ["hidden": "gone\u{1B}[2J\n- all is well\u{202E}\u{9B}"]
    }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
    override class func _realmObjectName() -> String? { "Sly\u{2066}\n" }
}

private class Plain: Object {
    @Persisted(primaryKey: true) var key = ""
    @Persisted var list: List<String>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
    override class func _realmObjectName() -> String? { "Sly\u{2066}\n" }
}

/// Messages show text from a store, a file name or a caller without the characters that move, hide or reverse text.
@Suite(.timeLimit(.minutes(20))) struct MessageTests {
    private func expectHarmless(_ text: String) {
        for scalar in text.unicodeScalars where scalar != "\n" {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate:
                Issue.record("U+\(String(scalar.value, radix: 16)) is in \(text.debugDescription)")
            default: break
            }
        }
    }

    @Test func namesOfAStoreAndOfItsFolderAreEscapedAndShownOnOneLine() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString)\u{1B}\n\u{202E}")
        defer { try? FileManager.default.removeItem(at: url) }
        func fill() throws {
            _ = try Realm(configuration: .init(fileURL: url, objectTypes: [Sly.self]))
        }
        try fill()
        let error = try #require(throws: Realm.Error.self) {
            _ = try Realm(configuration: .init(fileURL: url, objectTypes: [Plain.self]))
        }
        expectHarmless(error.description)
        expectHarmless(error.localizedDescription)
        #expect(error.message.contains("gone\\u{1B}[2J\\n- all is well\\u{202E}\\u{9B}"), "\(error)")
        #expect(error.message.split(separator: "\n").count { $0.hasPrefix("- ") } == 1, "\(error)")
        let missing = try #require(throws: Realm.Error.self) {
            _ = try Realm(
                configuration: .init(
                    fileURL: url.appendingPathComponent("no\u{202E}\u{1B}"), readOnly: true, objectTypes: [Plain.self]))
        }
        expectHarmless("\(missing)")
    }

    @Test func aPrimaryKeyIsEscaped() throws {
        let realm = try memoryRealm([Plain.self])
        try realm.write {
            realm.create(Plain.self, value: ["key": "a\u{1B}[2J\n\u{202E}b\""])
            let error = try #require(throws: Realm.Error.self) {
                try realm.create(Plain.self, validating: ["key": "a\u{1B}[2J\n\u{202E}b\""])
            }
            expectHarmless("\(error)")
            #expect(error.message.contains("\"a\\u{1B}[2J\\n\\u{202E}b\\\"\""), "\(error)")
        }
    }

    @Test func namesInAQueryAreEscaped() throws {
        let realm = try memoryRealm([Plain.self])
        for text in ["key\u{1B}[2J == 1", "'\u{202E}' == nothing\u{9B}", "key == '\u{202E}\u{1B}", "\u{2066} == 3"] {
            let error = try #require(throws: Realm.Error.self) {
                _ = try realm.objects(Plain.self).filter(validating: text)
            }
            expectHarmless("\(error)")
        }
    }
}
