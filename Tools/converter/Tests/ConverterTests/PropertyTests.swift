import Converter
import Testing

/// What becomes of properties that are declared together, with comments, or for Objective-C by their class.
struct PropertyTests {
    @Test func aNameThatIsNotStoredStaysPlainBesideOthers() {
        expect(
            members: """
                    @objc dynamic var a = 1, tmp = 2
                    let b = List<Int>(), cache = List<Int>(), s = 5
                    override class func ignoredProperties() -> [String] { ["tmp", "cache"] }
                """,
            become: """
                    @Persisted var a = 1
                    var tmp = 2
                    @Persisted var b: List<Int>
                    let cache = List<Int>()
                    let s = 5
                    override class func ignoredProperties() -> [String] { ["cache"] }
                """)
    }

    @Test func aSharedTypeIsOfEachProperty() {
        expect(
            members: """
                    @objc dynamic var first, last: String?
                    @objc dynamic var a = 1, b, c: Int, d = ""
                """,
            become: """
                    @Persisted var first: String?
                    @Persisted var last: String?
                    @Persisted var a = 1
                    @Persisted var b: Int
                    @Persisted var c: Int
                    @Persisted var d = ""
                """)
    }

    @Test func propertiesInOneLineGetSemicolons() {
        expect(
            "class Dog: Object { @objc dynamic var a = 1; @objc dynamic var x = 1, y = 2; override class func primaryKey() -> String? { \"a\" }; let c = List<Int>() }\n",
            becomes:
                "class Dog: Object { @Persisted(primaryKey: true) var a = 1; @Persisted var x = 1; @Persisted var y = 2; @Persisted var c: List<Int> }\n"
        )
    }

    @Test func commentsStayAtProperties() {
        expect(
            members: """
                    @objc /* a */ dynamic /* b */ var /* c */ a /* d */ : /* e */ Int = /* f */ 1 // g
                    @objc // why
                    dynamic var b = 1
                    /// doc
                    @objc
                    /// doc2
                    dynamic
                    // doc3
                    var c = 1
                    let d /* dd */ = /* ee */ List<Int>( /* ff */ ) // gg
                    let l = // ll
                        List<Int>()
                    @objc dynamic var e = 1, // first
                        f = 2 // second
                    @objc dynamic var /* x */ g = 1 /* y */, /* z */ h = 2
                """,
            become: """
                    @Persisted /* a */ /* b */ var /* c */ a /* d */ : /* e */ Int = /* f */ 1 // g
                    @Persisted // why
                    var b = 1
                    /// doc
                    @Persisted
                    /// doc2
                    // doc3
                    var c = 1
                    @Persisted var d: List<Int> /* dd */ /* ee */ /* ff */ // gg
                    @Persisted var l: List<Int> // ll
                    @Persisted var e = 1 // first
                    @Persisted var f = 2 // second
                    @Persisted var /* x */ g = 1 /* y */
                    /* z */ @Persisted var h = 2
                """)
    }

    @Test func collectionsAreReadHoweverTheyAreMade() {
        expect(
            members: """
                    let a = RealmSwift.List<Int>()
                    let b = RealmSwift.RealmOptional<Int>()
                    let c: RealmSwift.RealmOptional<Int> = .init()
                    let d = RealmSwift.LinkingObjects(fromType: Dog.self, property: "e")
                    let f = List<Int>.init()
                    let g = (List<Int>())
                """,
            become: """
                    @Persisted var a: RealmSwift.List<Int>
                    @Persisted var b: RealmSwift.RealmProperty<Int?>
                    @Persisted var c: RealmSwift.RealmProperty<Int?>
                    @Persisted(originProperty: "e") var d: RealmSwift.LinkingObjects<Dog>
                    @Persisted var f: List<Int>
                    @Persisted var g: List<Int>
                """)
    }

    @Test func collectionsThatCannotBeReadAreReported() {
        let members = """
                let a = { List<Int>() }()
                let b = [List<Int>()].first!
                let c: List<Int>? = List<Int>()
                let d: List<Int>! = List<Int>()
                let e = RealmOptional(3)
                let f = LinkingObjects(fromType: Dog.self, property: Names.owner)
                lazy var g = List<Int>()
                var h = List<Int>() { didSet { print(h) } }
            """
        expect(members: members, become: members, reportedLines: Array(1...8))
    }

    @Test func membersForObjectiveCAreInherited() {
        let conversion = convert(
            "@objcMembers class Base: Object { dynamic var a = 1 }\n", "class Pet: Base { var x = 1 }\n",
            "class Dog: Pet { var y = 1; private var cache = 1 }\nclass Cat: Object { var z = 1 }\n")
        #expect(
            conversion.files.map(\.after) == [
                "class Base: Object { @Persisted var a = 1 }\n", "class Pet: Base { @Persisted var x = 1 }\n",
                "class Dog: Pet { @Persisted var y = 1; private var cache = 1 }\nclass Cat: Object { var z = 1 }\n",
            ])
        #expect(conversion.findings.isEmpty)
    }

    @Test func membersThatObjectiveCDoesNotHaveStay() {
        expect(
            """
            struct Point { var x = 0 }
            @objc enum Kind: Int, RealmEnum { case a }
            enum Plain: Int, PersistableEnum { case a }
            @objcMembers class Dog: Object {
                var number = -1, text = "", id = UUID().uuidString, seconds = 60 * 60.5
                var date: Date?, kind = Kind.a, raw = Kind.a.rawValue, parent: Dog?
                private var a = 1
                fileprivate var b: Int? = 2
                private dynamic var c = 1
                var d = Point()
                var e: Int?
                var f: (() -> Void)?
                var g: [String] = []
                var h = [String: Any]()
                var i = (1, 2)
                var j: Timer?
                var k = Plain.a
                var l: Elsewhere?
                var m = make()
            }
            """,
            becomes: """
                struct Point { var x = 0 }
                enum Kind: Int, PersistableEnum { case a }
                enum Plain: Int, PersistableEnum { case a }
                class Dog: Object {
                    @Persisted var number = -1
                    @Persisted var text = ""
                    @Persisted var id = UUID().uuidString
                    @Persisted var seconds = 60 * 60.5
                    @Persisted var date: Date?
                    @Persisted var kind = Kind.a
                    @Persisted var raw = Kind.a.rawValue
                    @Persisted var parent: Dog?
                    private var a = 1
                    fileprivate var b: Int? = 2
                    private var c = 1
                    var d = Point()
                    var e: Int?
                    var f: (() -> Void)?
                    var g: [String] = []
                    var h = [String: Any]()
                    var i = (1, 2)
                    var j: Timer?
                    var k = Plain.a
                    var l: Elsewhere?
                    var m = make()
                }
                """,
            reports: [
                "c is not stored, because @objcMembers does not reach what is private. Declare it with @Persisted to store it."
            ]
                + [
                    ("d", "Point"), ("e", "Int?"), ("f", "(() -> Void)?"), ("g", "[String]"), ("h", "a dictionary"),
                    ("i", "a tuple"), ("j", "Timer?"), ("k", "Plain"),
                ].map {
                    "\($0.0) is not stored, because @objcMembers does not reach \($0.1). Declare it with @Persisted to store it, if its type allows that."
                } + [
                    "l stays as it is, because Elsewhere is not among the files. If it is stored, declare it with @Persisted.",
                    "m stays as it is, because its type can't be read here. If it is stored, declare it with @Persisted and its type.",
                ])
    }

    @Test func theClassesAttributeIsNotMissedInASecondRun() {
        expect(
            "@objcMembers class Dog: Object { dynamic var a: Int?; private dynamic var b = 1 }\n",
            becomes: "class Dog: Object { var a: Int?; private var b = 1 }\n",
            reports: [
                "a is not stored, because @objcMembers does not reach Int?. Declare it with @Persisted to store it, if its type allows that.",
                "b is not stored, because @objcMembers does not reach what is private. Declare it with @Persisted to store it.",
            ])
    }

    @Test func aliasesOfValuesAreFollowed() {
        expect(
            "typealias ID = String\ntypealias Many = [Int]\n@objcMembers class Dog: Object {\n    var id: ID?\n    var many: Many = []\n}\n",
            becomes:
                "typealias ID = String\ntypealias Many = [Int]\nclass Dog: Object {\n    @Persisted var id: ID?\n    var many: Many = []\n}\n",
            reports: [
                "many is not stored, because @objcMembers does not reach [Int]. Declare it with @Persisted to store it, if its type allows that."
            ])
    }

    @Test func whatIsNotStoredBesidePersistedStays() {
        expect(
            "class Dog: Object {\n    @Persisted var a = 1\n    var plain = 1\n    @objc dynamic var b = 1\n    let c = List<Int>()\n}\n",
            staysAndReports: [
                4:
                    "b is not stored, because the class has @Persisted properties. Declare it with @Persisted to store it, or else remove @objc and dynamic.",
                5:
                    "c is not stored, because the class has @Persisted properties. Declare it with @Persisted to store it, or else name it in ignoredProperties().",
            ])
        expect(
            "class Dog: Object {\n    @objc(isTame) dynamic var tame = true\n}\n",
            staysAndReports: [
                2:
                    "tame has another name for Objective-C, isTame, and is not stored under either. Declare it with @Persisted to store it, or remove @objc and dynamic."
            ])
    }

    @Test func typesThatAreNotStoredAreReported() {
        let values = [
            "= NSDate()", "= NSData()", "= NSString()", "= CGFloat(1)", "= UInt(1)", "= URL(string: \"x\")!",
            "= [String]()", "= [1]", "= [\"a\": 1]", "= [String: Int]()", "= 1 as Any", ": Any?", ": [String] = []",
            ": (() -> Void)?", ": Plain = .a", ": Point?",
        ]
        let elements = convert("class Dog: Object {\n    let a = List<NSDate>()\n    let b: List<[Int]> = .init()\n}\n")
        #expect(
            elements.findings.map(\.text) == [
                "a has elements of the type NSDate. Declare Date.", "b has elements of the type [Int]. Declare a List.",
            ])
        let declared = "enum Plain: Int { case a }\nstruct Point {}\n"
        for value in values {
            let conversion = convert(declared + "class Dog: Object {\n    @objc dynamic var a \(value)\n}\n")
            #expect(conversion.findings.map(\.line) == [4], "\(value)")
        }
    }
}
