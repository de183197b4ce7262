import Converter
import Testing

/// Which names stand for RealmSwift's types, which for the program's, and what becomes of classes and their names.
struct ScopeTests {
    @Test func aProgramsOwnTypesAreNotRealms() {
        let source = """
            enum Scene {
                class Object { var x = 1 }
                class Node: Object { @objc dynamic var y = 1; let list = List<Int>() }
            }
            class List<T> {}
            class Doc: Scene.Object { let list = List<Int>() }
            """
        expect(source, staysAndReports: [:])
        let conversion = convert(
            "class List<T> {}\nclass Object {}\n", "class Dog: Object { let list = List<Int>() }\n",
            "class Cat: RealmSwift.Object { @objc dynamic var a = 1; let list = List<Int>() }\n")
        #expect(
            conversion.files[2].after
                == "class Cat: RealmSwift.Object { @Persisted var a = 1; let list = List<Int>() }\n")
        #expect(!conversion.files[1].isChanged)
        #expect(conversion.findings.isEmpty)
    }

    @Test func aNameOfTwoModulesIsReported() {
        let conversion = convert(
            "class List<T> {}\nclass Object {}\n",
            "import RealmSwift\nclass Dog: Object { @objc dynamic var a = 1 }\nclass Cat: RealmSwift.Object { let list = List<Int>() }\n"
        )
        #expect(!conversion.files[1].isChanged)
        #expect(
            conversion.findings.map(\.text) == [
                "Object of Dog may be the program's own or RealmSwift's, so the class stays as it is. If it is RealmSwift's, write RealmSwift.Object.",
                "list may be the program's own List or RealmSwift's. Write RealmSwift.List if it is that.",
            ])
    }

    @Test func twoClassesOfOneNameAreToldApart() {
        expect(
            """
            enum UI { class Item: Thing { @objc dynamic var a = 1 }; class Thing {} }
            enum DB {
                class Item: Object { @objc dynamic var a = 1 }
                class Special: Item { @objc dynamic var b = 1 }
            }
            extension DB { class Late: Item { @objc dynamic var c = 1 } }
            class Far: DB.Item { @objc dynamic var d = 1 }
            """,
            becomes: """
                enum UI { class Item: Thing { @objc dynamic var a = 1 }; class Thing {} }
                enum DB {
                    class Item: Object { @Persisted var a = 1 }
                    class Special: Item { @Persisted var b = 1 }
                }
                extension DB { class Late: Item { @Persisted var c = 1 } }
                class Far: DB.Item { @Persisted var d = 1 }
                """)
    }

    @Test func anAliasIsFollowed() {
        expect(
            "typealias Base = Object\ntypealias Numbers = List<Int>\nclass Dog: Base {\n    @objc dynamic var a = 1\n    let b = Numbers()\n}\n",
            becomes:
                "typealias Base = Object\ntypealias Numbers = List<Int>\nclass Dog: Base {\n    @Persisted var a = 1\n    @Persisted var b: Numbers\n}\n"
        )
    }

    @Test func aBaseClassThatIsNotAmongTheFilesIsReported() {
        expect(
            "class Dog: Elsewhere { @objc dynamic var a = 1 }\nclass Pup: Dog { @objc dynamic var b = 1 }\nclass View: Elsewhere { let a = 1 }\nclass Plain: NSObject { @objc dynamic var a = 1 }\n",
            staysAndReports: [
                1:
                    "Dog inherits from Elsewhere, which is not among the files. If it is a model, convert it together with the file that declares Elsewhere.",
                2:
                    "Pup inherits from Elsewhere, which is not among the files. If it is a model, convert it together with the file that declares Elsewhere.",
            ])
    }

    @Test func aSubclassDoesNotInheritTheTablesName() {
        let conversion = convert(
            "@objc(Base1) class Pet: Object {\n    @objc dynamic var a = 1\n}\n",
            "class Dog: Pet {\n    @objc dynamic var b = 1\n}\n")
        #expect(
            conversion.files[0].after
                == "class Pet: Object {\n    override class func _realmObjectName() -> String? { self == Pet.self ? \"Base1\" : nil }\n    @Persisted var a = 1\n}\n"
        )
        #expect(conversion.files[1].after == "class Dog: Pet {\n    @Persisted var b = 1\n}\n")
    }

    @Test func theNamesOverrideHasTheAccessOfTheClass() {
        expect(
            """
            @objc(A1) open class A: Object { // a
                @objc open dynamic var a = 1
            }
            public extension Space { @objc(B1) class B: Object { @objc dynamic var b = 1 } }
            @objc(C1) class C: Object {}
            @objc(D1) class D: Object { override class func _realmObjectName() -> String? { "Wau" } }
            @objc(E1) class E: Object {
            }
            """,
            becomes: """
                open class A: Object { // a
                    open override class func _realmObjectName() -> String? { self == A.self ? "A1" : nil }
                    @Persisted open var a = 1
                }
                public extension Space { class B: Object { public override class func _realmObjectName() -> String? { "B1" }; @Persisted var b = 1 } }
                class C: Object { override class func _realmObjectName() -> String? { "C1" } }
                class D: Object { override class func _realmObjectName() -> String? { "Wau" } }
                class E: Object {
                    override class func _realmObjectName() -> String? { "E1" }
                }
                """)
    }

    @Test func enumsAreConvertedUnlessObjectiveCNeedsThem() {
        expect(
            """
            @objc enum Kind: Int, RealmEnum { case a }
            @objc enum Used: Int, RealmEnum { case a }
            @objc public enum Plain: Int { case a }
            extension Plain: RealmEnum {}
            class View: NSObject { @objc func show(_ used: Used) {} }
            class Dog: Object {
                @objc enum Size: Int, RealmSwift.RealmEnum { case s }
                @objc dynamic var kind = Kind.a
                @objc dynamic var size: Size = .s
            }
            """,
            becomes: """
                enum Kind: Int, PersistableEnum { case a }
                @objc enum Used: Int, RealmEnum { case a }
                public enum Plain: Int { case a }
                extension Plain: PersistableEnum {}
                class View: NSObject { @objc func show(_ used: Used) {} }
                class Dog: Object {
                    enum Size: Int, RealmSwift.PersistableEnum { case s }
                    @Persisted var kind = Kind.a
                    @Persisted var size: Size = .s
                }
                """,
            reports: [
                "Used is an enum for Objective-C, which other declarations need. Remove @objc, which Linux lacks, there and here."
            ])
        let conversion = convert("@objc enum Kind: Int { case a }\n", "extension Kind: RealmEnum {}\n")
        #expect(conversion.files.allSatisfy { !$0.isChanged })
        #expect(conversion.findings.map(\.line) == [1])
    }

    @Test func whatIsForObjectiveCInExtensionsIsReported() {
        expect(
            """
            class Dog: Object {
                @Persisted var id = 0
                @objc init(x: Int) { super.init() }
            }
            extension Dog {
                @objc var big: Bool { true }
                @objc func tapped() {}
                override class func primaryKey() -> String? { "id" }
            }
            """,
            staysAndReports: [
                3: "init(x:) is one for Objective-C. Remove @objc, which Linux lacks.",
                6: "big is one for Objective-C. Remove @objc, which Linux lacks.",
                7: "tapped() is one for Objective-C. Remove @objc, which Linux lacks.",
                8:
                    "primaryKey() stands in an extension, which can't override on Linux. Move it into the class Dog.",
            ])
    }

    @Test func keyPathsKnowTypesFromProperties() {
        let declared =
            "enum Kennel { class Dog: Object { var name = \"\", Owner: Dog?; class Tag: Object { var text = \"\" } } }\nclass dog: Object { var age = 1 }\n"
        func expectText(_ path: String, _ text: String?, location: SourceLocation = #_sourceLocation) {
            let conversion = convert(declared + "let a = #keyPath(\(path))\n")
            let last = text.map { "let a = \"\($0)\"\n" } ?? "let a = #keyPath(\(path))\n"
            #expect(conversion.files[0].after == declared + last, sourceLocation: location)
            #expect(conversion.findings.map(\.line) == (text == nil ? [3] : []), sourceLocation: location)
        }
        expectText("Kennel.Dog.name", "name")
        expectText("Kennel.Dog.`default`", "default")
        expectText("Kennel.Dog.Owner.name", "Owner.name")
        expectText("Kennel.Dog.Tag.text", "text")
        expectText("main.Elsewhere.owner.name", "owner.name")
        expectText("main.Kennel.Dog.name", "name")
        expectText("App.Elsewhere.name", "name")
        expectText("dog.age", "age")
        expectText("self.owner.name", "owner.name")
        expectText("owner.name", "owner.name")
        expectText("Kennel.Dog.URL", "URL")
        // A property or a type, and none of the known ones.
        expectText("Kennel.Dog.Collar.size", nil)
        expectText("name.Kennel.size", nil)
    }
}
