import Converter
import Testing

/// Comments and line ends between the words of declarations.
struct CommentTests {
    /// Numbers that are the same in each run.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 16 ^ state << 48
        }
    }

    // Comments and line ends may stand where a ¦ is.
    private static let declarations = [
        "@objc¦ dynamic¦ var¦ a¦:¦ Int¦ =¦ 1¦,¦ tmp¦ =¦ 2¦,¦ c¦:¦ String?¦\n",
        "@objc¦ @available(*, deprecated)¦ private¦ dynamic¦ var¦ d¦ =¦ 3¦\n",
        "@objc¦ public¦ private(set)¦ dynamic¦ var¦ e¦,¦ f¦:¦ Int?¦ =¦ 3¦\n",
        "let¦ g¦ =¦ List<Int>()¦\n", "private¦ let¦ h¦:¦ List<Int>¦ =¦ List<Int>(¦)¦\n",
        "let¦ i¦ =¦ List<Int>()¦,¦ j¦ =¦ RealmOptional<Int>()¦\n", "let¦ k¦ =¦ List<Int>()¦,¦ cache¦ =¦ List<Int>()¦\n",
        "let¦ l¦ =¦ LinkingObjects(fromType:¦ Dog.self,¦ property:¦ \"x\")¦\n",
        "override¦ static¦ func¦ primaryKey()¦ ->¦ String?¦ {¦ return \"a\"¦ }¦\n",
        "override¦ static¦ func¦ indexedProperties()¦ ->¦ [String]¦ {¦ [¦\"d\"¦,¦ \"e\"¦]¦ }¦\n",
        "override¦ static¦ func¦ ignoredProperties()¦ ->¦ [String]¦ {¦ [¦\"tmp\"¦,¦ \"cache\"¦,¦ \"x\"¦,¦]¦ }¦\n",
        "required¦ init(value: Any, schema: RLMSchema)¦ {¦ super.init(value: value, schema: schema)¦ }¦\n",
    ]

    /// A class with the declarations, in some order and with comments; and the comments.
    private func source(_ numbers: inout Numbers, comments isCommented: Bool) -> (text: String, comments: [String]) {
        var text = "@objcMembers¦ @objc(Name)¦ public¦ final¦ class¦ Dog: Object {¦\n"
        for declaration in Self.declarations.shuffled(using: &numbers) { text += "    " + declaration }
        text += "}¦\n"
        var (result, comments): (String, [String]) = ("", [])
        for character in text {
            guard character == "¦" else {
                result.append(character)
                continue
            }
            let kind = Int.random(in: 0..<24, using: &numbers)
            guard isCommented, kind < 5 else { continue }
            // A documenting comment may become a plain one.
            let name = "c\(comments.count)c"
            comments.append(name)
            result +=
                [
                    " /* \(name) */ ", " // \(name)\n    ", "\n    // \(name)\n    ", "\n    /** \(name)\n    */ ",
                    "\n    /// \(name)\n",
                ][kind]
        }
        return (result, comments)
    }

    /// The text without space, separators and comments.
    private func words(_ text: String) -> String {
        text.replacing(/\/\*(.|\n)*?\*\//, with: "").replacing(/\/\/[^\n]*/, with: "").replacing(/[\s;]/, with: "")
    }

    @Test func aLineCommentThatLooksLikeABlockKeepsItsLine() {
        expect(
            "class Dog: Object { let a = // see /* x */\nList<Int>(); let b = /* // */ List<Int>(); let c = 1 }\n",
            becomes:
                "class Dog: Object { @Persisted var a: List<Int> // see /* x */\n"
                + "; @Persisted var b: List<Int> /* // */; let c = 1 }\n"
        )
    }

    @Test func noCommentIsLost() {
        for seed in 0..<40 as Range<UInt64> {
            var numbers = Numbers(state: seed)
            let plain = convert(source(&numbers, comments: false).text)
            numbers = Numbers(state: seed)
            let (text, comments) = source(&numbers, comments: true)
            for source in [text, text.replacing("\n", with: "\r\n")] {
                let conversion = convert(source)
                let after = conversion.files[0].after.replacing("\r\n", with: "\n")
                #expect(words(after) == words(plain.files[0].after), "seed \(seed)\n\(text)\n\(after)")
                let found = after.matches(of: /c\d+c/).map { String($0.output) }
                #expect(found.sorted() == comments.sorted(), "seed \(seed)\n\(text)\n\(after)")
                #expect(conversion.findings.isEmpty)
                let again = convert(conversion.files[0].after)
                #expect(
                    !again.files[0].isChanged && again.findings.isEmpty, "seed \(seed)\n\(after)\n\(again.findings)")
            }
        }
    }
}
