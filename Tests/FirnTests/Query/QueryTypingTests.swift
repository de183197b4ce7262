import Firn
import Foundation
import Testing

/// A condition that `where { }` does not have (SPEC R37, R72) is refused by the compiler, and does not stop at run
/// time.
///
/// Runs the compiler on small programs that use the module under test.
@Suite(.timeLimit(.minutes(20))) struct QueryTypingTests {
    private static let model = """
        import Firn
        import Foundation
        class Dog: Object {
            @Persisted var name = ""
            @Persisted var nick: String?
            @Persisted var age = 0
            @Persisted var born: Date?
            @Persisted var data = Data()
            @Persisted var id: UUID
            @Persisted var owner: Person?
            @Persisted(originProperty: "dogs") var keepers: LinkingObjects<Person>
        }
        class Person: Object {
            @Persisted var name = ""
            @Persisted var dogs: List<Dog>
            @Persisted var words: List<String>
        }
        func results(_ dogs: Results<Dog>, _ people: Results<Person>, _ ann: Person) {

        """

    /// The compiler's errors for conditions on dogs, and the numbers of the conditions that they are about.
    private func errors(_ lines: [String]) throws -> (text: String, lines: Set<Int>) {
        let compilation = try Compilation(Self.model + lines.joined(separator: "\n") + "\n}\n")
        let first = Self.model.split(separator: "\n", omittingEmptySubsequences: false).count
        // An error above the conditions is a fault of the model.
        try #require(compilation.faultyLines.allSatisfy { $0 >= first }, "\(compilation.text)")
        return (compilation.text, Set(compilation.faultyLines.map { $0 - first }))
    }

    @Test func membersThatQueriesDoNotHaveDoNotCompile() throws {
        let conditions = [
            "_ = dogs.where { $0.name.count > 3 }",
            "_ = dogs.where { $0.name.isEmpty }",
            "_ = dogs.where { $0.name.utf8.count == 3 }",
            "_ = dogs.where { $0.nick.count == 3 }",
            "_ = dogs.where { $0.age.magnitude == 3 }",
            "_ = dogs.where { $0.born.timeIntervalSince1970 > 3 }",
            "_ = dogs.where { $0.data.count > 3 }",
            "_ = dogs.where { $0.id.uuidString == \"\" }",
            "_ = dogs.where { $0.owner.name.count == 3 }",
            "_ = dogs.where { $0.keepers.name.count == 3 }",
            "_ = people.where { $0.words.isEmpty }",
            "_ = people.where { $0.words.utf8 == 3 }",
            "_ = dogs.where { $0.nothing == 3 }",
        ]
        let (said, lines) = try errors(conditions)
        for (number, condition) in conditions.enumerated() where !lines.contains(number) {
            Issue.record("this compiles: \(condition)\n\(said)")
        }
    }

    @Test func membersThatQueriesHaveCompile() throws {
        let (said, lines) = try errors([
            "_ = dogs.where { $0.name == \"x\" && $0.age > 3 || !($0.nick == nil) }",
            "_ = dogs.where { $0.owner.name.starts(with: \"A\") && $0.owner == ann }",
            "_ = dogs.where { $0.owner.dogs.age.max == 3 && $0.keepers.count == 1 && $0.keepers.name == \"Ann\" }",
            "_ = people.where { $0.dogs.owner.name == \"Ann\" && $0.words.contains(\"x\") && $0.words.count > 3 }",
            "_ = people.where { $0.dogs.age.sum > 3 && $0.dogs.age.avg > 3 && $0.dogs.age.in([1, 2]) }",
            "_ = dogs.where { $0.born > Date() && $0.id == UUID() && $0.data == Data() }",
        ])
        #expect(lines.isEmpty, "\(said)")
    }
}
