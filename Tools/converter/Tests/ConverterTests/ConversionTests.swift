import Converter
import Testing

/// What becomes of model classes, and what is reported.
struct ConversionTests {
    @Test func propertiesLoseWhatIsForObjectiveC() {
        expect(
            """
            class Dog: Object {
                @objc dynamic var name = ""     // its name
                @objc private dynamic var age: Int = 0
                @objc dynamic private(set) var nick: String?
                /* before */ @objc
                public dynamic var born = Date() { didSet { print(born) } }
                @objc dynamic var a = 1, b: String? = nil
                dynamic var é = "ü"
            }
            """,
            becomes: """
                class Dog: Object {
                    @Persisted var name = ""     // its name
                    @Persisted private var age: Int = 0
                    @Persisted private(set) var nick: String?
                    /* before */ @Persisted public var born = Date() { didSet { print(born) } }
                    @Persisted var a = 1
                    @Persisted var b: String? = nil
                    @Persisted var é = "ü"
                }
                """)
    }

    @Test func collectionsAndBoxesAreDeclared() {
        expect(
            """
            class Dog: Object {
                let toys = List<Toy>()
                let tags: List<String> = List<String>()
                var marks = MutableSet<Int>()
                private let named = Map<String, Dog?>()
                let size = RealmOptional<Double>()
                let age = RealmProperty<Int?>()
                let owners = LinkingObjects(fromType: Person.self, property: "dogs")
                let friends = LinkingObjects<Dog>(fromType: Dog.self, property: #keyPath(Dog.friend))
                let filled = List<Int>([1, 2])
            }
            """,
            becomes: """
                class Dog: Object {
                    @Persisted var toys: List<Toy>
                    @Persisted var tags: List<String>
                    @Persisted var marks: MutableSet<Int>
                    @Persisted private var named: Map<String, Dog?>
                    @Persisted var size: RealmProperty<Double?>
                    @Persisted var age: RealmProperty<Int?>
                    @Persisted(originProperty: "dogs") var owners: LinkingObjects<Person>
                    @Persisted(originProperty: "friend") var friends: LinkingObjects<Dog>
                    let filled = List<Int>([1, 2])
                }
                """,
            reports: [
                "filled is a collection with an initial value. Declare it as @Persisted var, and fill it in init()."
            ])
    }

    @Test func functionsThatNamePropertiesGo() {
        expect(
            """
            class Dog: Object {
                @objc dynamic var id = 0
                @objc dynamic var name = ""
                @objc dynamic var age = 0
                @objc dynamic var tmp = 0
                let cache = List<Int>()

                override static func primaryKey() -> String? {
                    return "id"
                }
                // Which are searched.
                override class func indexedProperties() -> [String] { [#keyPath(Dog.name), "age"] }
                override class func ignoredProperties() -> [String] { return ["tmp", "cache"] }
            }
            """,
            becomes: """
                class Dog: Object {
                    @Persisted(primaryKey: true) var id = 0
                    @Persisted(indexed: true) var name = ""
                    @Persisted(indexed: true) var age = 0
                    var tmp = 0
                    let cache = List<Int>()
                    // Which are searched.
                    override class func ignoredProperties() -> [String] { return ["cache"] }
                }
                """)
    }

    @Test func whatIsComputedStaysAndIsReported() {
        expect(
            """
            class Dog: Object {
                @objc dynamic var id = 0
                @objc dynamic var double: Int { id * 2 }
                override static func primaryKey() -> String? { return Keys.id }
                static let shared = Dog()
                @objc func tapped() { let local = List<Int>(); print(local) }
                @objc dynamic var date: NSDate?
                required init(value: Any, schema: RLMSchema) { super.init(value: value, schema: schema) }
                required init(realm: RLMRealm, schema: RLMObjectSchema) { super.init(); print(1) }
            }
            class Plain { @objc dynamic var x = 1; let list = List<Int>() }
            """,
            becomes: """
                class Dog: Object {
                    @Persisted var id = 0
                    @objc dynamic var double: Int { id * 2 }
                    override static func primaryKey() -> String? { return Keys.id }
                    static let shared = Dog()
                    @objc func tapped() { let local = List<Int>(); print(local) }
                    @Persisted var date: NSDate?
                    required init(realm: RLMRealm, schema: RLMObjectSchema) { super.init(); print(1) }
                }
                class Plain { @objc dynamic var x = 1; let list = List<Int>() }
                """,
            reports: [
                "double is computed, lazy or of the class. Remove @objc and dynamic.",
                "primaryKey() computes its names. Write them at the properties, as in @Persisted(primaryKey: true).",
                "tapped() is one for Objective-C. Remove @objc, which Linux lacks.",
                "date is of the type NSDate. Declare Date.",
                "init(realm:schema:) is called no more. Move what it does to init().",
            ])
    }

    @Test func aClassInheritsFromOneInAnotherFile() {
        let conversion = convert(
            "@objcMembers class Cat: Pet {\n    dynamic var lives = 9\n    var plain = 1\n    @nonobjc var own = 2\n}\n",
            "class Pet: RealmSwift.Object {\n    @objc dynamic var name = \"\"\n}\nclass Other: NSObject { @objc dynamic var x = 1 }\n"
        )
        #expect(
            conversion.files[0].after
                == "class Cat: Pet {\n    @Persisted var lives = 9\n    @Persisted var plain = 1\n    @nonobjc var own = 2\n}\n"
        )
        #expect(
            conversion.files[1].after
                == "class Pet: RealmSwift.Object {\n    @Persisted var name = \"\"\n}\nclass Other: NSObject { @objc dynamic var x = 1 }\n"
        )
    }

    @Test func theNameForObjectiveCStaysTheStoredOne() {
        expect(
            "@objc(StoredDog) public class Dog: Object {\n    @objc dynamic var a = 1\n}\n@objc(Cat) class Cat: Object {}\n",
            becomes:
                "public class Dog: Object {\n    public override class func _realmObjectName() -> String? { \"StoredDog\" }\n    @Persisted var a = 1\n}\nclass Cat: Object {}\n"
        )
    }

    @Test func keyPathsBecomeTexts() {
        expect(
            "let a = dogs.sorted(byKeyPath: #keyPath(Dog.owner.name)).filter(\"\\(#keyPath(Dog.age)) > 3\")\n",
            becomes: "let a = dogs.sorted(byKeyPath: \"owner.name\").filter(\"\\(\"age\") > 3\")\n")
        expect(
            "func f() { dog.addObserver(self, forKeyPath: \"name\", options: [], context: nil) }\n",
            becomes: "func f() { dog.addObserver(self, forKeyPath: \"name\", options: [], context: nil) }\n",
            reports: ["a key-value observer of Foundation. Observe the object with observe(keyPaths:_:)."])
    }

    @Test func conditionsAndNestedClassesAreLookedInto() {
        expect(
            "class A: Object {\n    #if os(iOS)\n    @objc dynamic var x = 1\n    #else\n    let y = List<Int>()\n    #endif\n    class B: EmbeddedObject { @objc dynamic var z = 1 }\n    struct C { @objc dynamic var no = 1 }\n}\n",
            becomes:
                "class A: Object {\n    #if os(iOS)\n    @Persisted var x = 1\n    #else\n    @Persisted var y: List<Int>\n    #endif\n    class B: EmbeddedObject { @Persisted var z = 1 }\n    struct C { @objc dynamic var no = 1 }\n}\n"
        )
    }

    @Test func aKeyPathInARewrittenPropertyBecomesAText() {
        expect(
            "class A: Object {\n    @objc dynamic var a = 1, b = #keyPath(A.a)\n}\n",
            becomes: "class A: Object {\n    @Persisted var a = 1\n    @Persisted var b = \"a\"\n}\n")
    }

    @Test func whatHasNoPersistedFormStaysAndIsReported() {
        let source =
            "class A: Object {\n    @objc dynamic var (x, y) = (1, 2)\n    @objc dynamic weak var a: A?\n    #if B\n    override class func primaryKey() -> String? { \"x\" }\n    #else\n    override class func primaryKey() -> String? { \"y\" }\n    #endif\n}\n"
        let twice = "primaryKey() stands more than once, as with #if. Write its names at the properties."
        expect(
            source, becomes: source,
            reports: [
                "(x, y) is declared as a tuple. Declare each property by itself.",
                "a is weak or unowned, which no stored property is. Remove the word.", twice, twice,
            ])
    }

    @Test func whatIsNoSwiftStaysAsItIs() {
        for text in [
            "", "class", "class Dog: Object { @objc dynamic var ", "\u{FEFF}// é\n",
            "class A: A {}\nclass B: C {}\nclass C: B {}",
        ] {
            #expect(convert(text).files[0].after == text)
        }
    }
}
