import Converter
import Testing

/// What becomes of the functions that name properties.
struct FunctionTests {
    @Test func namesMayHaveBackticks() {
        expect(
            members: """
                    @objc dynamic var `default` = 1
                    @objc dynamic var `class` = ""
                    @objc dynamic var `in` = 0
                    override class func primaryKey() -> String? { #keyPath(Dog.`class`) }
                    override class func indexedProperties() -> [String] { ["in"] }
                    override class func ignoredProperties() -> [String] { ["default"] }
                """,
            become: """
                    var `default` = 1
                    @Persisted(primaryKey: true) var `class` = ""
                    @Persisted(indexed: true) var `in` = 0
                """)
    }

    @Test func commentsOfFunctionsStay() {
        expect(
            members: """
                    @objc dynamic var a = 1
                    // MARK: - Keys

                    // Old: override class func primaryKey() -> String? { "b" }
                    override class func primaryKey() -> String? { // the key
                        return "a" // this
                    } // primaryKey

                    /// The ones that are searched.
                    override class func indexedProperties() -> [String] { ["b"] }
                    /// Next.
                    @objc dynamic var b = 1
                    required init(value: Any, schema: RLMSchema) { super.init(value: value, schema: schema) } // old
                """,
            become: """
                    @Persisted(primaryKey: true) var a = 1
                    // MARK: - Keys

                    // Old: override class func primaryKey() -> String? { "b" }
                    // the key
                    // this
                    // primaryKey

                    // The ones that are searched.
                    /// Next.
                    @Persisted(indexed: true) var b = 1
                    // old
                """)
    }

    @Test func onlyNamesThatGoAreTakenOut() {
        expect(
            members: """
                    @objc dynamic var a = 1, tmp = 2
                    let cache = List<Int>(), other = List<Int>()
                    var calc: Int { 3 }
                    override class func ignoredProperties() -> [String] {
                        // why
                        return [
                            "tmp", // a number
                            "cache", /* not */ "calc",
                            "other"
                        ]
                    }
                """,
            become: """
                    @Persisted var a = 1
                    var tmp = 2
                    let cache = List<Int>(), other = List<Int>()
                    var calc: Int { 3 }
                    override class func ignoredProperties() -> [String] {
                        // why
                        return [
                            // a number
                            "cache", /* not */ "other"
                        ]
                    }
                """)
        expect(
            members:
                "    @objc dynamic var tmp = 2\n    let c = List<Int>()\n    override class func ignoredProperties() -> [String] { return [\"c\", /* n */ \"tmp\", \"x\"] }",
            become:
                "    var tmp = 2\n    let c = List<Int>()\n    override class func ignoredProperties() -> [String] { return [\"c\" /* n */] }"
        )
    }

    @Test func namesAreAddedToThoseOfTheBaseClass() {
        expect(
            """
            class Pet: Object {
                @objc dynamic var n = 0
                let cache = List<Int>()
                override class func indexedProperties() -> [String] { ["n"] }
                override class func ignoredProperties() -> [String] { ["cache"] }
            }
            class Dog: Pet {
                @objc dynamic var m = 0, tmp = 0
                let tmps = List<Int>()
                override class func indexedProperties() -> [String] { super.indexedProperties() + ["m"] }
                override class func ignoredProperties() -> [String] { return ["tmp", "tmps"] }
            }
            class Cat: Pet {
                @objc dynamic var tmp = 0
                override class func ignoredProperties() -> [String] { ["tmp"] }
            }
            class Cow: Pet {
                let tmps = List<Int>()
                override class func ignoredProperties() -> [String] { super.ignoredProperties() + ["tmps"] }
            }
            """,
            becomes: """
                class Pet: Object {
                    @Persisted(indexed: true) var n = 0
                    let cache = List<Int>()
                    override class func ignoredProperties() -> [String] { ["cache"] }
                }
                class Dog: Pet {
                    @Persisted(indexed: true) var m = 0
                    var tmp = 0
                    let tmps = List<Int>()
                    override class func ignoredProperties() -> [String] { return ["tmps", "cache"] }
                }
                class Cat: Pet {
                    var tmp = 0
                }
                class Cow: Pet {
                    let tmps = List<Int>()
                    override class func ignoredProperties() -> [String] { super.ignoredProperties() + ["tmps"] }
                }
                """)
    }

    @Test func aSubclassStoresWhatItsBaseClassStores() {
        expect(
            "class Pet: Object { @objc dynamic var tmp = 0 }\nclass Dog: Pet {\n    override class func ignoredProperties() -> [String] { [\"tmp\"] }\n}\n",
            becomes: "class Pet: Object { @Persisted var tmp = 0 }\nclass Dog: Pet {\n}\n")
    }

    @Test func namesOfTheBaseClassThatCannotBeAddedAreReported() {
        let conversion = convert(
            """
            class Pet: Object {
                @objc dynamic var n = 0
                let cache = List<Int>()
                override class func ignoredProperties() -> [String] { ["cache"] }
            }
            class Dog: Pet {
                let other = List<Int>()
                override class func ignoredProperties() -> [String] { Names.ignored }
            }
            """)
        #expect(conversion.findings.map(\.line) == [8, 8])
        #expect(
            conversion.findings.last?.text
                == "ignoredProperties() must name what that of Pet names, too. Add super.ignoredProperties().")
    }

    @Test func keysOfBothLevelsStayFunctions() {
        let text = { (name: String) in
            "primaryKey() stays, because \(name) names its key, too, and a class has one @Persisted(primaryKey: true) at most. Look whether both are meant."
        }
        expect(
            """
            class Pet: Object {
                @objc dynamic var id = 0
                override class func primaryKey() -> String? { "id" }
            }
            class Dog: Pet {
                override class func primaryKey() -> String? { nil }
            }
            """,
            becomes: """
                class Pet: Object {
                    @Persisted var id = 0
                    override class func primaryKey() -> String? { "id" }
                }
                class Dog: Pet {
                    override class func primaryKey() -> String? { nil }
                }
                """, reports: [text("Dog"), text("Pet")])
    }

    @Test func aKeyUnderAConditionStaysAFunction() {
        expect(
            members:
                "    @objc dynamic var id = 0\n    #if os(iOS)\n    override class func primaryKey() -> String? { \"id\" }\n    #endif",
            become:
                "    @Persisted var id = 0\n    #if os(iOS)\n    override class func primaryKey() -> String? { \"id\" }\n    #endif",
            reportedLines: [3])
    }

    @Test func aKeyThatIsAssignedBeforeTheBaseClassStaysAFunction() {
        expect(
            members: """
                    @objc dynamic var id: Int
                    @objc dynamic var name: String
                    override class func primaryKey() -> String? { "id" }
                    override class func indexedProperties() -> [String] { ["name"] }
                    init(id: Int) { self.id = id; super.init(); name = "x" }
                """,
            become: """
                    @Persisted var id: Int
                    @Persisted(indexed: true) var name: String
                    override class func primaryKey() -> String? { "id" }
                    init(id: Int) { self.id = id; super.init(); name = "x" }
                """, reportedLines: [3])
    }

    @Test func namesOfNoStoredPropertyAreReported() {
        expect(
            members: "    @objc dynamic var a = 1\n    override class func primaryKey() -> String? { \"id\" }",
            become: "    @Persisted var a = 1\n    override class func primaryKey() -> String? { \"id\" }",
            reportedLines: [2])
    }

    @Test func callsOfFunctionsThatAreGoneAreReported() {
        let conversion = convert(
            """
            class Dog: Object {
                @objc dynamic var id = 0
                override class func primaryKey() -> String? { "id" }
                override class func indexedProperties() -> [String] { ["id"] }
            }
            class Puppy: Dog {
                override class func indexedProperties() -> [String] { print(1); return super.indexedProperties() + ["x"] }
                func key() -> String? { Self.primaryKey() }
            }
            class Cat: Object { override class func primaryKey() -> String? { Keys.id } }
            class Other { class func primaryKey() -> String? { nil } }
            func save<T: Object>(_ x: T) { if T.primaryKey() != nil {} }
            """,
            """
            let a = Dog.primaryKey(), b = Puppy.primaryKey()
            let c = Cat.primaryKey(), d = Other.primaryKey(), e = Dog.ignoredProperties()
            """)
        let calls = conversion.findings.filter { !$0.text.contains("computes") }
        #expect(
            calls.map { "\($0.file):\($0.line)" } == ["0.swift:7", "0.swift:8", "0.swift:12", "1.swift:1", "1.swift:1"])
        #expect(
            calls.last?.text
                == "primaryKey() returns nil, because @Persisted(primaryKey: true) says the key. Ask objectSchema.primaryKeyProperty?.name of an object, or sharedSchema()?.primaryKeyProperty?.name of the class."
        )
    }

    @Test func aFunctionThatComputesSaysWhatToDo() {
        let conversion = convert(
            "class Dog: Object {\n    @objc dynamic var a = 1\n    override class func ignoredProperties() -> [String] { Keys.all }\n}\n"
        )
        #expect(
            conversion.findings.map(\.text) == [
                "ignoredProperties() computes its names, so it stays, and its properties get @Persisted. Remove @Persisted from those that are not stored, and keep the names of collections here."
            ])
    }
}
