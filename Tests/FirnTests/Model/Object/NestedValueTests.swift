import Firn
import Foundation
import Testing

private class Nested: Object {
    @Persisted var mixed: AnyRealmValue
    @Persisted var mixedList: List<AnyRealmValue>
    @Persisted var mixedMap: Map<String, AnyRealmValue>
    @Persisted var child: Nested?
    @Persisted var children: List<Nested>
    @Persisted var named: Map<String, Nested?>
    @Persisted var leaf: NestedLeaf?
    @Persisted var leaves: List<NestedLeaf>
    @Persisted var texts: List<String>
    @Persisted var numbers: MutableSet<Int>
    @Persisted var dates: Map<String, Date>
}

private class NestedLeaf: EmbeddedObject {
    @Persisted var text = ""
    @Persisted var inner: NestedLeaf?
}

/// Values that other values contain, thousands of levels deep. A cast of such a value to a class bridges all of it on
/// Linux, by recursion: the stack ends at some 2,000 levels.
@Suite(.timeLimit(.minutes(20))) struct NestedValueTests {
    private static let depth = 3_000

    /// A value inside `depth` dictionaries, each of which has it for a key.
    private static func dictionaries(_ key: String, innermost: Any, depth: Int = depth) -> Any {
        (0..<depth).reduce(innermost) { value, _ in [key: value] as [String: Any] }
    }

    private static func arrays(_ innermost: Any, _ depth: Int = depth) -> Any {
        (0..<depth).reduce(innermost) { value, _ in [value] as [Any] }
    }

    private static var deep: [Any] {
        [
            dictionaries("key", innermost: 1), arrays(1),
            (0..<depth).reduce(1 as Any) { value, _ in [Optional.some(value)] },
            // Foundation on Linux bridges all of these itself as soon as one value of them is read.
            (0..<200).reduce(NSNumber(1) as Any) { value, _ in ["key": value] as NSDictionary },
            (0..<200).reduce(NSNumber(1) as Any) { value, _ in [value] as NSArray },
        ]
    }

    private func realm() throws -> Realm {
        try memoryRealm([Nested.self, NestedLeaf.self, Everything.self, Dog.self, Person.self])
    }

    /// Runs a test where the stack has the size that a thread of a library is likely to have.
    private func onSmallStack(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            let thread = Thread { done.resume(with: Result(catching: body)) }
            thread.stackSize = 2 << 20
            thread.start()
        }
    }

    /// Dictionaries in dictionaries describe a chain of objects, which may have any length.
    @Test func dictionariesNestedDeepMakeAChainOfObjects() async throws {
        try await onSmallStack {
            let realm = try realm()
            try realm.write {
                let first = try realm.create(
                    Nested.self, validating: Self.dictionaries("child", innermost: ["texts": ["end"]] as [String: Any]))
                #expect(realm.objects(Nested.self).count == Self.depth + 1)
                var last = first
                while let next = last.child { last = next }
                #expect(Array(last.texts) == ["end"])
                _ = try realm.create(
                    Nested.self, validating: ["leaf": Self.dictionaries("inner", innermost: ["text": "end"])])
                _ = try realm.create(
                    Nested.self,
                    validating: Self.dictionaries("children", innermost: [["texts": ["end"]]] as [Any], depth: 1))
            }
            #expect(realm.objects(Nested.self).where { $0.texts.contains("end") }.count == 2)
            let alone = try Person(
                validating: Self.dictionaries("friend", innermost: ["name": "end"] as [String: Any], depth: 500))
            #expect(alone.friend?.friend?.friend != nil)
        }
    }

    /// A mixed value has at most 100 levels.
    @Test func mixedValuesNestedTooDeepAreRefused() async throws {
        try await onSmallStack {
            let realm = try realm()
            for value in Self.deep {
                for (name, given) in [
                    ("mixed", value), ("mixedList", [value] as [Any]), ("mixedMap", ["key": value] as [String: Any]),
                ] {
                    let error = try #require(throws: Realm.Error.self) {
                        try realm.write { _ = try realm.create(Nested.self, validating: [name: given]) }
                    }
                    #expect(error.code == .invalidInput && error.message.contains("100 levels"), "\(name): \(error)")
                    #expect(throws: Realm.Error.invalidInput) { _ = try Nested(validating: [name: given]) }
                }
            }
            #expect(realm.objects(Nested.self).isEmpty)
            try realm.write {
                _ = try realm.create(
                    Nested.self, validating: ["mixed": Self.dictionaries("key", innermost: 1, depth: 99)])
                _ = try realm.create(Nested.self, validating: ["mixed": Self.arrays(1, 99)])
            }
        }
    }

    /// Whatever the property's type, a nested value that does not fit is refused with a short message.
    @Test func nestedValuesThatDoNotFitAreRefused() async throws {
        try await onSmallStack {
            let realm = try realm()
            let everything = Mirror(reflecting: Everything()).children.compactMap(\.label).filter { $0.first == "_" }
                .map { String($0.dropFirst()) }
            #expect(everything.count > 20)
            let lists = ["leaf", "leaves", "children", "named", "texts", "numbers", "dates"]
            for value in Self.deep {
                func isRefused<T: Object>(_ type: T.Type, _ name: String, _ given: Any) throws {
                    let error = try #require(throws: Realm.Error.self, "\(name)") {
                        try realm.write { _ = try realm.create(type, validating: [name: given]) }
                    }
                    #expect(error.code == .invalidInput && error.message.utf8.count < 500, "\(name): \(error)")
                    #expect(throws: Realm.Error.invalidInput, "\(name)") {
                        if type == Nested.self { _ = try Nested(validating: [name: given]) }
                        if type == Everything.self { _ = try Everything(validating: [name: given]) }
                    }
                }
                for name in everything { try isRefused(Everything.self, name, value) }
                let error = try #require(throws: Realm.Error.self) { _ = try Everything(validating: ["bool": value]) }
                #expect(error.message.contains("a collection of collections"), "\(error)")
                for name in lists {
                    let isMap = name == "named" || name == "dates"
                    try isRefused(Nested.self, name, isMap ? ["x": [value]] as [String: Any] : [[value]] as [Any])
                    try isRefused(Nested.self, name, isMap ? [1: value] as [Int: Any] : 5)
                }
                #expect(throws: Realm.Error.self) {
                    _ = try realm.objects(Nested.self).filter(validating: "mixed == %@", [value])
                }
                #expect(!Dog().isEqual(value) && !Dog().isEqual([value]))
            }
        }
    }
}
