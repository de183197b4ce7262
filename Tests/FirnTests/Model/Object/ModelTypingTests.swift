import Testing

/// What the compiler refuses in a class of objects and in code that uses one.
///
/// Runs the compiler on small programs that use the module under test.
@Suite(.timeLimit(.minutes(20))) struct ModelTypingTests {
    /// Objects are not `Sendable` (SPEC S1): the error says what is handed over instead.
    @Test func objectsAreNotSendable() throws {
        let compilation = try Compilation(
            """
            import Firn
            class Dog: Object { @Persisted var name = "" }
            func send(_ value: some Sendable) {}
            func use(_ dog: Dog, _ object: Object) {
                send(dog.name)
                send(dog)
                send(object)
            }
            """)
        #expect(compilation.faultyLines == [6, 7], "\(compilation.text)")
        #expect(compilation.text.contains("hand over a frozen one"), "\(compilation.text)")
    }

    /// A property can't be declared the primary key if its type is none of a key (SPEC S47).
    @Test func aPrimaryKeyHasATypeOfAKey() throws {
        let compilation = try Compilation(
            """
            import Firn
            import Foundation
            class Text: Object { @Persisted(primaryKey: true) var key: String? }
            class Number: Object { @Persisted(primaryKey: true) var key: Int }
            class Identifier: Object { @Persisted(primaryKey: true) var key: ObjectId }
            class Unique: Object { @Persisted(primaryKey: true) var key: UUID? }
            class Truth: Object { @Persisted(primaryKey: true) var key: Bool }
            class Price: Object { @Persisted(primaryKey: true) var key: Double }
            class Day: Object { @Persisted(primaryKey: true) var key: Date? }
            class Owner: Object { @Persisted(primaryKey: true) var key: List<Int> }
            """)
        #expect(compilation.faultyLines == [7, 8, 9, 10], "\(compilation.text)")
    }

    /// An initializer assigns properties after `super.init()`, and those without an option before it, too
    /// (SEMANTICS 101).
    @Test func propertiesAreAssignedAroundSuperInit() throws {
        let compilation = try Compilation(
            """
            import Firn
            class Dog: Object {
                @Persisted var name: String
                @Persisted var age = 1
                @Persisted(primaryKey: true) var id: Int
                @Persisted(indexed: true) var tag: String
                required init() { super.init() }
                init(after name: String, _ age: Int) {
                    super.init()
                    self.name = name
                    self.age = age
                }
                init(before name: String) {
                    self.name = name
                    super.init()
                }
                init(before age: Int) {
                    self.age = age
                    super.init()
                }
                init(key: Int) {
                    id = key
                    super.init()
                }
                init(tag: String) {
                    self.tag = tag
                    super.init()
                }
            }
            """)
        #expect(compilation.faultyLines == [22, 26], "\(compilation.text)")
    }
}
