import FirnCore
import FirnTestSupport
import Testing

@testable import FirnQuery

@Suite(.timeLimit(.minutes(20))) struct ParserTests {
    private func parse(_ text: String, _ arguments: [QueryArgument] = []) throws -> Predicate {
        try Predicate(parsing: text, arguments)
    }

    @Test func operatorsHaveManySpellings() throws {
        for (text, operation) in [
            ("=", Comparison.Operation.equal), ("==", .equal), ("!=", .notEqual), ("<>", .notEqual),
            ("<=", .lessOrEqual), ("=<", .lessOrEqual),
            (">=", .greaterOrEqual), ("=>", .greaterOrEqual), ("<", .less), (">", .greater),
        ] {
            #expect(try parse("age \(text) 3") == .compare(.path("age"), operation, .value(.int(3))))
            #expect(try parse("age\(text)-3") == .compare(.path("age"), operation, .value(.int(-3))))
        }
    }

    @Test func keywordsAreReadInAnyCase() throws {
        #expect(
            try parse("name beginsWith[C] 'x' aNd NOT any tags == nil")
                == parse("name BEGINSWITH[c] \"x\" && !(SOME tags = NULL)"))
        #expect(try parse("truePredicate or FALSEPREDICATE") == .any([.constant(true), .constant(false)]))
    }

    /// A backslash makes any sign a part of a name, also of one that is written as text again.
    @Test func namesMayHaveAnySign() throws {
        for (text, name) in [
            (#"Installed\-Size"#, "Installed-Size"), (#"full\ name"#, "full name"), (#"\1st"#, "1st"),
            (#"a\.b"#, "a.b"),
            (#"\in"#, "in"), (#"back\\slash"#, #"back\slash"#), (##"\#"##, "#"), (#"é\ü"#, "éü"),
            (#"\@home"#, "@home"), (#"\@count"#, "@count"), (#"#@max"#, "@max"), (#"\$x"#, "$x"), (#"a@b"#, "a@b"),
        ] {
            let predicate = Predicate.compare(.path(PropertyPath([name])), .equal, .value(.int(1)))
            #expect(try parse("\(text) == 1") == predicate, "\(text)")
            #expect(try parse(predicate.format.text) == predicate, "\(predicate.format.text)")
            let argument = PropertyPath.keyPath([name])
            #expect(try parse("%K == 1", [.value(.string(argument))]) == predicate, "\(argument)")
            #expect(PropertyPath.names(in: argument) == [KeyPathName(name)])
        }
        #expect(try parse(#"owner.full\ name == 1"#) == parse("%K == 1", [.value(.string("owner.full name"))]))
        #expect(try PropertyPath(parsing: #"a\ b.@max.c\-d"#).text == #"a\ b.@max.c\-d"#)
        let error = try #require(throws: QueryError.self) { try parse(#"name\"#) }
        #expect("\(error)".contains("A backslash without what it stands for"))
    }

    /// Names that begin as words of the language do, in every place that takes a name.
    @Test func namesMayBeginWithAnAtSign() throws {
        let home = PropertyPath.Component.name("@home")
        #expect(try PropertyPath(parsing: #"dogs.\@home"#) == PropertyPath([.name("dogs"), home]))
        #expect(
            try PropertyPath(parsing: #"dogs.@max.\@home"#)
                == PropertyPath([.name("dogs")], aggregate: .max, of: [home]))
        #expect(try PropertyPath(parsing: #"dogs.@max.\@home"#).text == #"dogs.@max.\@home"#)
        #expect(try PropertyPath(parsing: "dogs.@allKeys") == PropertyPath([.name("dogs"), .keyword("@allKeys")]))
        #expect(try parse("ANY %K == 1", [.name(#"dogs.\@home"#)]) == parse(#"ANY dogs.\@home == 1"#))
        #expect(try parse("%K > 1", [.name(#"dogs.@max.\@home"#)]) == parse(#"dogs.@max.\@home > 1"#))
        #expect(
            try QueryPipeline.stages(parsing: #"TRUEPREDICATE SORT(\@home DESC) DISTINCT(\@home)"#) == [
                .filter(.constant(true)), .sort([SortDescriptor(PropertyPath([home]), ascending: false)]),
                .distinct([PropertyPath([home])]),
            ])
        let filter = try parse(#"\@home == 1 AND dog.\@home == 2 AND ANY dogs.\@home == 3 AND dogs.@max.\@home == 4"#)
        _ = try QueryPipeline([.filter(filter)], table: TableID(0), schema: Self.signs)
        let plain = try #require(throws: QueryError.self) {
            _ = try QueryPipeline([.filter(parse("@home == 1"))], table: TableID(0), schema: Self.signs)
        }
        #expect(plain.code == .unknownProperty && plain.message.contains("no operator '@home'"))
        #expect(plain.advice.contains(#"\@home"#) && plain.advice.contains(#"with\ space"#), "\(plain)")
    }

    private static let signs = StoreSchema(tables: [
        TableSchema(
            name: "Pkg",
            columns: ["@home", "1st", "with space", "a.b", "Installed-Size", "in", "not", "any", "true", "plain"].map {
                ColumnSchema(name: $0, type: .int)
            } + [
                ColumnSchema(name: "dog", type: .link, isNullable: true, target: TableID(0)),
                ColumnSchema(name: "dogs", type: .link, collection: .list, target: TableID(0)),
            ])
    ])

    /// An error says how a name is written that stands there without its backslashes.
    @Test(
        arguments: [
            ("with space == 2", #"'with space' is written with\ space in a query, or passed as '%K'"#),
            ("plain == 1 AND with spice == 2", #"written with\ space"#), ("1st == 4", #"written \1st"#),
            ("a.b == 3", #"'a.b' is written a\.b in a query."#), ("dog.a.b == 3", #"written a\.b"#),
            ("ANY dogs.with space == 3", #"written with\ space"#), ("Installed-Size > 3", #"written Installed\-Size"#),
            ("Installed - Size > 3", #"written Installed\-Size"#), ("@home == 1", #"written \@home"#),
            ("dog.@home == 1", #"written \@home"#), ("any == 3", "written #any"), ("not == 3", "written #not"),
            ("true == 3", "written #true"), ("'in' == 3", "written #in"),
            ("'with space' == 3", #"written with\ space"#),
            ("plain == 1 SORT(with space)", #"written with\ space"#),
        ])
    func errorsShowHowANameIsWritten(text: String, hint: String) throws {
        let error = try #require(fault(in: text), "\(text)")
        #expect("\(error)".contains(hint), "\(error)")
    }

    @Test(arguments: [#"with\ space == 'x'"#, "#in == 'x'", #"\@home == 'x'"#, "plain = = 3", "plain == 'with space'"])
    func errorsAboutOtherThingsHaveNoHint(text: String) throws {
        let error = try #require(fault(in: text), "\(text)")
        #expect(!"\(error)".contains("is written"), "\(error)")
    }

    private func fault(in text: String) -> QueryError? {
        do throws(QueryError) {
            _ = try QueryPipeline(QueryPipeline.stages(parsing: text), table: TableID(0), schema: Self.signs)
            return nil
        } catch {
            return error.hinting { SchemaResolver(Self.signs).reachableNames(from: TableID(0), in: Self.signs) }
        }
    }

    /// What follows the condition: sorts, distincts and limits, in any order.
    @Test func aQueryHasStages() throws {
        func stages(_ text: String, _ arguments: [QueryArgument] = []) throws -> [QueryPipeline.Stage] {
            try QueryPipeline.stages(parsing: text, arguments)
        }
        let filter = QueryPipeline.Stage.filter(try parse("age > 3"))
        let (age, owner) = (PropertyPath(["age"]), PropertyPath(["owner", "name"]))
        #expect(try stages("age > 3") == [filter])
        #expect(
            try stages("age > 3 SORT(age DESC, owner.name) DISTINCT(age, owner.name) LIMIT(10)") == [
                filter, .sort([SortDescriptor(age, ascending: false), SortDescriptor(owner)]), .distinct([age, owner]),
                .limit(10),
            ])
        #expect(
            try stages(
                "age > 3 limit(%@) sort(%K ascending) Sort(age descending)", [.value(.int(2)), .value(.string("age"))])
                == [
                    filter, .limit(2), .sort([SortDescriptor(age)]), .sort([SortDescriptor(age, ascending: false)]),
                ])
        // Properties may have these names.
        #expect(try stages("sort == 1 AND limit == 2 SORT(distinct ASC)").count == 2)
        for (text, message) in [
            ("age > 3 SORT", "Expected '('"), ("age > 3 SORT()", "Expected the name of a property"),
            ("age > 3 SORT(age", "Expected ')'"), ("age > 3 SORT(age UP)", "Expected ')'"),
            ("age > 3 LIMIT(-1)", "LIMIT takes a number"), ("age > 3 LIMIT(1, 2)", "Expected one number"),
            ("age > 3 LIMIT(1.5)", "LIMIT takes a number"), ("age > 3 DISTINCT(1)", "Expected the name of a property"),
            ("age > 3 LIMIT(%@)", "No argument is left"), ("age > 3 GROUP(age)", "SORT, DISTINCT, LIMIT or the end"),
            ("SORT(age ASC)", "Expected"), ("age > 3 LIMIT(1) AND age < 5", "Expected AND, OR, SORT"),
        ] {
            let error = try #require(throws: QueryError.self) { try stages(text) }
            #expect("\(error)".contains(message), "\(text): \(error)")
        }
        for text in [
            "age > 3" + String(repeating: " LIMIT(1)", count: 65),
            "age > 3 SORT(age" + String(repeating: ", age", count: 64) + ")",
        ] {
            let error = try #require(throws: QueryError.self) { try stages(text) }
            #expect(error.code == .limit)
        }
        #expect(try stages("age > 3" + String(repeating: " LIMIT(1)", count: 64)).count == 65)
        // A lone condition takes none.
        #expect(throws: QueryError.self) { try parse("age > 3 LIMIT(1)") }
    }

    @Test func andBindsTighterThanOr() throws {
        let (a, b, c) = (try parse("a == 1"), try parse("b == 2"), try parse("c == 3"))
        #expect(try parse("a == 1 OR b == 2 AND c == 3") == .any([a, .all([b, c])]))
        #expect(try parse("(a == 1 OR b == 2) AND NOT c == 3") == .all([.any([a, b]), .not(c)]))
    }

    @Test func constantsAreRead() throws {
        func value(_ text: String) throws -> Operand? {
            if case .comparison(let comparison) = try parse("x == " + text) { comparison.right } else { nil }
        }
        #expect(try value("0xFF") == .value(.int(255)))
        #expect(try value("-9223372036854775808") == .value(.int(.min)))
        #expect(try value("9223372036854775808") == .value(.double(0x1p63)))
        #expect(try value("6.5e-1") == .value(.double(0.65)))
        #expect(try value(".5") == .value(.double(0.5)))
        #expect(try value("-inf") == .value(.double(-.infinity)))
        #expect(try value("YES") == .value(.bool(true)))
        #expect(try value(#"'it\'s \u00e9\n'"#) == .value(.string("it's é\n")))
        #expect(try value("T5:7") == .value(.date(Timestamp(seconds: 5, nanoseconds: 7))))
        #expect(try value("T-5:-7") == .value(.date(Timestamp(seconds: -5, nanoseconds: -7))))
        #expect(try value("uuid(00000000-0000-0001-0000-000000000002)") == .value(.uuid(UUIDBytes(high: 1, low: 2))))
        #expect(try value("oid('000000010000000200000003')") == .value(.objectID(ObjectIDBytes(a: 1, b: 2, c: 3))))
    }

    /// Seconds and nanoseconds have the same sign, so a date can be written in only one way.
    @Test func theSecondsAndNanosecondsOfADateHaveTheSameSign() throws {
        for text in ["T5:-3", "T-5:3", "T1:-999999999"] {
            let error = #expect(throws: QueryError.self) { try self.parse("x == " + text) }
            #expect(error?.code == .syntax, "\(text)")
        }
        for (text, seconds, nanoseconds) in [("T0:-3", 0, -3), ("T-5:-7", -5, -7), ("T-5:0", -5, 0), ("T5:0", 5, 0)] {
            let date = Timestamp(seconds: Int64(seconds), nanoseconds: Int32(nanoseconds))
            #expect(try parse("x == " + text) == .compare(.path("x"), .equal, .value(.date(date))))
        }
    }

    /// Without a rule of their own, the letters, digits and dashes would be split into words, numbers and signs.
    @Test func identifiersAreReadWithoutQuotes() throws {
        var random = SeededRandom(seed: 4)
        for round in 0..<1000 {
            let (high, low) = (random.next(), random.next())
            func digits(_ value: UInt64) -> String {
                let text = String(value, radix: 16, uppercase: round % 2 == 0)
                return String(repeating: "0", count: 16 - text.count) + text
            }
            var text = digits(high) + digits(low)
            for offset in [20, 16, 12, 8] { text.insert("-", at: text.index(text.startIndex, offsetBy: offset)) }
            let uuid = Predicate.compare(.path("x"), .equal, .value(.uuid(UUIDBytes(high: high, low: low))))
            for literal in ["uuid(\(text))", "UUID( \(text) )", "uuid('\(text)')", "Uuid (\"\(text)\")"] {
                #expect(try parse("x == " + literal) == uuid, "\(literal)")
            }
            let oid = ObjectIDBytes(
                a: UInt32(truncatingIfNeeded: high), b: UInt32(low >> 32), c: UInt32(truncatingIfNeeded: low))
            let half = digits(high).suffix(8) + digits(low)
            #expect(try parse("x == oid(\(half))") == .compare(.path("x"), .equal, .value(.objectID(oid))))
        }
        for text in [
            "uuid()", "uuid(", "uuid(12", "uuid(xyz)", "oid(507f1f77bcf86cd79943901)", "uuid('12", "oid('12')",
        ] {
            #expect(throws: QueryError.self, "\(text)") { try self.parse("x == " + text) }
        }
        // Elsewhere `uuid` and `oid` are names.
        #expect(
            try parse("uuid == 3 AND (oid == 4)")
                == .all([
                    .compare(.path("uuid"), .equal, .value(.int(3))), .compare(.path("oid"), .equal, .value(.int(4))),
                ]))
    }

    /// An identifier is one token, so that no text is read twice. With many identifiers in one text, that would cost
    /// the square of its length.
    @Test func anIdentifierIsOneToken() throws {
        let tokens = try QueryLexer.tokens(of: "oid(507f1f77bcf86cd799439011)").map(\.kind)
        #expect(
            tokens == [
                .word("oid", isEscaped: false), .symbol("("), .string("507f1f77bcf86cd799439011"), .symbol(")"), .end,
            ])
        let many = Array(repeating: "oid(507f1f77bcf86cd799439011)", count: 34_000).joined(separator: ",")
        guard case .comparison(let comparison) = try parse("x IN {\(many)}"),
            case .values(let values) = comparison.right
        else { throw QueryError(.syntax, "no comparison", advice: "") }
        #expect(values.count == 34_000)
    }

    @Test func argumentsReplaceTheirPlaceholders() throws {
        #expect(
            try parse(
                "%K > %d AND %K.age IN %@",
                [.name("dog.weight"), .value(.int(3)), .value(.string("cat")), .values([.int(1)])])
                == .all([
                    .compare(.path("dog", "weight"), .greater, .value(.int(3))),
                    .compare(.path("cat", "age"), .in, .values([.int(1)])),
                ]))
        #expect(throws: QueryError.self) { try parse("age > %@") }
        #expect(throws: QueryError.self) { try parse("age > 3", [.value(.int(3))]) }
        #expect(throws: QueryError.self) { try parse("%K > 3", [.value(.int(3))]) }
    }

    @Test func pathsMayHaveAggregatesKeysAndVariables() throws {
        #expect(
            try PropertyPath(parsing: "dogs.@max.age")
                == PropertyPath([.name("dogs")], aggregate: .max, of: [.name("age")]))
        #expect(
            try PropertyPath(parsing: "levels['a.b'].#in") == PropertyPath([.name("levels"), .key("a.b"), .name("in")]))
        let subquery = try parse("SUBQUERY(dogs, $d, $d.age > 3 AND $d.name == 'x').@count > 0")
        #expect(try parse(subquery.format.text) == subquery)
        #expect(throws: QueryError.self) { try parse("SUBQUERY(dogs, $d, $d.age > 3) > 0") }
    }

    @Test func errorsReportTheirPosition() throws {
        let error = #expect(throws: QueryError.self) { try self.parse("age > 3 AND name ~ 'x'") }
        #expect(error?.position?.offset == 17)
        #expect(error?.description.contains("                   ^") == true)
        for sign in ["-foo", "+foo", "-", "- 3", "-infinite"] {
            let misplaced = #expect(throws: QueryError.self) { try self.parse("age > \(sign)") }
            #expect(misplaced?.position?.offset == 6, "\(sign)")
        }
        let unknown = #expect(throws: QueryError.self) {
            try QueryPipeline([.filter(self.parse("age > 3 AND nome == 'x'"))], table: TableID(0), schema: Self.schema)
        }
        #expect(unknown?.position?.offset == 12)
        #expect(unknown?.code == .unknownProperty)
        #expect(unknown?.description.contains("age, dog, name, tags") == true)
    }

    static let schema = StoreSchema(tables: [
        TableSchema(
            name: "Person",
            columns: [
                ColumnSchema(name: "name", type: .string), ColumnSchema(name: "age", type: .int),
                ColumnSchema(name: "tags", type: .string, collection: .list),
                ColumnSchema(name: "dog", type: .link, isNullable: true, target: TableID(0)),
            ])
    ])

    /// `LIKE` ignores no diacritics, and an order ignores nothing (SEMANTICS 68).
    @Test(
        arguments: [
            ("age == 'x'", .type), ("name > 3", .type), ("name LIKE[d] 'x'", .unsupported),
            ("name <[c] 'x'", .unsupported),
            ("age BEGINSWITH 'x'", .type), ("age BETWEEN {1}", .argument), ("age BETWEEN 3", .type),
            ("age IN 3", .type),
            ("ALL age == 3", .type), ("tags == tags", .type), ("age == {1, 2}", .type), ("dog > nil", .type),
            ("age.name == 3", .type), ("name.@count > 3", .type), ("tags.@sum > 3", .type), ("dog == %@", .type),
            ("SUBQUERY(tags, $x, $x.age == 3).@count > 0", .type), ("SUBQUERY(dog, $x, $x.age == 3).@count > 0", .type),
            ("$x.age == 3", .syntax), ("name MATCHES 'x'", .unsupported), ("age[c] == 3", .syntax),
            ("dog.tags.name == 'x'", .type), ("name ==[c] 3", .type), ("@links.Person.name == 3", .unknownProperty),
            ("tags[0].x == 3", .type), ("dog.dog.dog.x == 1", .unknownProperty),
        ] as [(String, QueryError.Code)])
    func valuesThatCannotBeComparedAreRefused(text: String, code: QueryError.Code) throws {
        let arguments: [QueryArgument] = text.contains("%@") ? [.value(.typedLink(TableID(7), 1))] : []
        let error = try #require(throws: QueryError.self) {
            _ = try QueryPipeline(
                [.filter(parse(text, arguments))], table: TableID(0), schema: Self.schema,
                resolver: NoTable7(Self.schema))
        }
        #expect(error.code == code, "\(error)")
        #expect(!error.message.isEmpty && !error.advice.isEmpty)
    }

    struct NoTable7: PropertyResolver {
        let base: SchemaResolver
        init(_ schema: StoreSchema) { base = SchemaResolver(schema) }
        func property(_ name: String, of table: TableID) -> ResolvedProperty? { base.property(name, of: table) }
        func className(of table: TableID) -> String { table.index == 7 ? "Other" : base.className(of: table) }
        func propertyNames(of table: TableID) -> [String] { base.propertyNames(of: table) }
    }

    /// Damaged and random text gives an error or a predicate, and never a trap.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func hostileTextNeverTraps(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var parsed = 0
        let pieces = [
            "age", "name", "==", ">", "'x'", "\"", "'", "\\", "(", ")", "{", "}", "[", "]", "[c]", "AND", "OR", "NOT",
            "!", "ANY", "IN", "BETWEEN",
            "%@", "%K", "%", "$x", "SUBQUERY(", ",", ".@count", ".", "@", "#", "0x", "1e", "-",
            "9999999999999999999999", "nil", "T1", ":", "uuid(",
            "oid(", "é", "\u{0}", "🙂", "SELF", "-inf", "T-1:5", "\\u12", "tags", "@links", "@max",
        ]
        for _ in 0..<4000 {
            let text = (0..<random.below(12)).map { _ in pieces[random.below(pieces.count)] }.joined(
                separator: random.below(2) == 0 ? " " : "")
            do {
                let predicate = try Predicate(parsing: text, [])
                parsed += 1
                _ = try QueryPipeline([.filter(predicate)], table: TableID(0), schema: Self.schema)
            } catch {
                #expect(!error.description.isEmpty)
                if let position = error.position {
                    #expect((0...position.text.utf8.count).contains(position.offset), "\(text)")
                }
            }
            _ = try? Predicate(parsing: text, [.value(.int(1)), .value(.string("age"))])
        }
        // Texts that can never be parsed would prove little.
        #expect(parsed > 0)
    }

    @Test func deepNestingIsRefusedAndLongChainsAreNot() throws {
        for open in ["(", "NOT ", "!", "SUBQUERY(tags, $x, "] {
            let error = #expect(throws: QueryError.self) {
                try self.parse(String(repeating: open, count: 100_000) + "a == 1")
            }
            #expect(error?.code == .limit)
        }
        let chain = try parse(Array(repeating: "age == 1", count: 20_000).joined(separator: " OR "))
        _ = try QueryPipeline([.filter(chain)], table: TableID(0), schema: Self.schema)
        var built = Predicate.constant(false)
        for age in 0..<3000 { built = built || .compare(.path("age"), .equal, .value(.int(Int64(age)))) }
        _ = try QueryPipeline([.filter(built)], table: TableID(0), schema: Self.schema)
        var deep = Predicate.constant(true)
        for _ in 0..<1000 { deep = .not(.all([deep, .constant(true)])) }
        #expect(throws: QueryError.self) { try QueryPipeline([.filter(deep)], table: TableID(0), schema: Self.schema) }
        #expect(throws: QueryError.self) { try self.parse("name == '" + String(repeating: "x", count: 2 << 20) + "'") }
    }
}
