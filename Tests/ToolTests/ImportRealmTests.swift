import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnTool

/// `firn import-realm`. The samples are written by hand after the format of `realm2json`.
@Suite("firn import-realm", .timeLimit(.minutes(20))) struct ImportRealmTests {
    private let storage = MemoryStorage()

    private static let schema = """
        [
        {"name":"class_Person","primaryKey":"name","tableType":"TopLevel","properties":[{"name":"name","type":"string","isIndexed":true},{"name":"age","type":"int","isOptional":true},{"name":"home","type":"object","objectType":"class_Address","isOptional":true},{"name":"homes","type":"object","objectType":"class_Address","isArray":true},{"name":"best","type":"object","objectType":"class_Person","isOptional":true},{"name":"dogs","type":"object","objectType":"class_Dog","isArray":true},{"name":"byName","type":"object","objectType":"class_Dog","isMap":true,"keyType":"string","isOptional":true}]},
        {"name":"class_Dog","tableType":"TopLevel","properties":[{"name":"name","type":"string"},{"name":"weight","type":"double"},{"name":"small","type":"float","isOptional":true},{"name":"alive","type":"bool"},{"name":"born","type":"timestamp","isOptional":true},{"name":"photo","type":"binary","isOptional":true},{"name":"oid","type":"objectId","isOptional":true},{"name":"uuid","type":"uuid","isOptional":true},{"name":"price","type":"decimal","isOptional":true},{"name":"any","type":"mixed","isOptional":true},{"name":"tags","type":"string","isSet":true},{"name":"marks","type":"int","isArray":true,"isOptional":true},{"name":"counts","type":"int","isMap":true,"keyType":"string"},{"name":"owners","type":"object","objectType":"class_Person","isSet":true}]},
        {"name":"class_Address","tableType":"Embedded","properties":[{"name":"street","type":"string"},{"name":"dog","type":"object","objectType":"class_Dog","isOptional":true}]},
        {"name":"metadata","tableType":"TopLevel","properties":[{"name":"version","type":"int"}]}
        ]
        """

    private static let objects = """
        {"metadata":[{"_key":0,"version":5}]
        ,"class_Dog":[{"_key":0,"name":"Rex \\"]},\\\\","weight":3.5,"small":0.1,"alive":true,"born":"2020-02-03 04:05:06.25","photo":"AP8=","oid":"0123456789abcdef01234567","uuid":"01234567-89ab-cdef-0123-456789abcdef","price":"1.50","any":{"table":"class_Person","key":70},"tags":["b","a"],"marks":[1,null,3],"counts":{"x":1},"owners":{"table":"class_Person","keys":[70,80]}},{"_key":4,"name":"Bo","weight":1,"small":null,"alive":false,"born":null,"photo":null,"oid":null,"uuid":null,"price":null,"any":[1,{"a":"b"},{"table":"class_Dog","key":0}],"tags":[],"marks":[],"counts":{},"owners":[]}]
        ,"class_Person":[{"_key":70,"name":"Anna","age":30,"home":{"street":"S","dog":{"table":"class_Dog","key":4}},"homes":[{"street":"1","dog":null},{"street":"2","dog":null}],"best":{"table": "class_Person", "key": 80},"dogs":{"table":"class_Dog","keys":[4,0,4]},"byName":{"r":{"table":"class_Dog","key":0},"n":null}},{"_key":80,"name":"Ben","age":null,"home":null,"homes":[],"best":null,"dogs":{"table":"class_Dog","keys":[]},"byName":{}}]
        ,"class_Empty":[]
        }

        """

    private func make(_ path: String, _ text: String) throws {
        if try storage.status(path) != nil { try storage.remove(path) }
        let made = try storage.open(path, .create)
        try Array(text.utf8).withUnsafeBytes { try made.write($0, at: 0) }
        made.close()
    }

    private func importing(
        _ objects: String, schema: String = Self.schema, batch: Int? = nil, into path: String = "/new"
    ) throws -> Run {
        try make("/objects", objects)
        try make("/schema", schema)
        return try Run {
            try ImportRealmCommand.run(
                path, file: "/objects", choice: .init(schema: "/schema"), batch: batch, storage: storage,
                clock: ManualClock(),
                output: $0)
        }
    }

    private func export(_ type: String) throws -> [String] {
        var choice = ExportCommand.Choice()
        choice.types = [type]
        return try RoundTripTests.export(storage, path: "/new", format: .ndjson, choice: choice).out.split(
            separator: "\n"
        ).map(
            String.init)
    }

    private func checkSample() throws {
        #expect(
            try export("Person").sorted() == [
                "{\"name\":\"Anna\",\"age\":30,\"home\":{\"street\":\"S\",\"dog\":{\"$object\":4}},\"homes\":[{\"street\":\"1\",\"dog\":null},{\"street\":\"2\",\"dog\":null}],\"best\":\"Ben\",\"dogs\":[{\"$object\":4},{\"$object\":0},{\"$object\":4}],\"byName\":{\"n\":null,\"r\":{\"$object\":0}}}",
                "{\"name\":\"Ben\",\"age\":null,\"home\":null,\"homes\":[],\"best\":null,\"dogs\":[],\"byName\":{}}",
            ])
        let dogs = try export("Dog")
        try #require(dogs.count == 2)
        #expect(
            dogs[0].hasPrefix(
                "{\"$object\":0,\"name\":\"Rex \\\"]},\\\\\",\"weight\":3.5,\"small\":0.1,\"alive\":true,\"born\":\"2020-02-03T04:05:06.250Z\",\"photo\":\"AP8=\",\"oid\":\"0123456789abcdef01234567\",\"uuid\":\"01234567-89AB-CDEF-0123-456789ABCDEF\",\"price\":\"1.50\",\"any\":{\"$link\":\"Person\",\"$key\":\"Anna\"},\"tags\":[\"a\",\"b\"],\"marks\":[1,null,3],\"counts\":{\"x\":1},\"owners\":["
            ), "\(dogs[0])")
        #expect(
            dogs[1].contains("\"any\":[1,{\"a\":\"b\"},{\"$link\":\"Dog\",\"$object\":0}],\"tags\":[]"), "\(dogs[1])")
        let verified = try Run { try VerifyCommand.run("/new", deep: true, json: false, storage: storage, $0) }
        #expect(verified.status == .fine, "\(verified)")
    }

    @Test("links, lists, sets, maps and embedded objects come over", arguments: [nil, 1])
    func sample(batch: Int?) throws {
        let run = try importing(Self.objects, batch: batch)
        #expect(run.status == .fine && run.out.contains("got 4 new objects"), "\(run)")
        try checkSample()
    }

    @Test("a second import changes only what differs, and links lead to the objects that are there") func again() throws
    {
        _ = try RoundTripTests.importing(
            storage, text: "{\"name\":\"Ben\",\"age\":4}\n",
            options: .init(type: "Person", primaryKey: "name", types: try TypeText.properties("age: int?")))
        #expect(try importing(Self.objects).status == .fine)
        try checkSample()
        let persons = Self.objects.replacing("\"name\":\"Anna\",\"age\":30", with: "\"name\":\"Anna\",\"age\":31")
        let run = try importing(persons)
        // Dogs have no primary key, so they come again.
        #expect(run.out.contains("got 2 new objects, and 1 object changed"), "\(run)")
    }

    @Test("newer cores number only objects without a primary key, and link to others by that") func newer() throws {
        let objects = Self.objects.replacing("\"_key\":70,", with: "").replacing("\"_key\":80,", with: "")
            .replacing("\"key\":70", with: "\"key\":\"Anna\"").replacing("\"key\": 80", with: "\"key\": \"Ben\"")
            .replacing("[70,80]", with: "[\"Anna\",\"Ben\"]")
        let run = try importing(objects)
        #expect(run.status == .fine, "\(run)")
        try checkSample()
    }

    @Test("values of Extended JSON keep their types, also in mixed properties") func extended() throws {
        let schema =
            "[{\"name\":\"class_A\",\"properties\":[{\"name\":\"i\",\"type\":\"int\"},{\"name\":\"d\",\"type\":\"double\"},{\"name\":\"t\",\"type\":\"timestamp\"},{\"name\":\"b\",\"type\":\"binary\"},{\"name\":\"m\",\"type\":\"mixed\",\"isArray\":true}]}]"
        let objects =
            "{\"class_A\":[{\"i\":{\"$numberLong\":\"5\"},\"d\":{\"$numberDouble\":\"1.5\"},\"t\":{\"$date\":{\"$numberLong\":\"-1500\"}},\"b\":{\"$binary\":{\"base64\":\"AQ==\",\"subType\":\"00\"}},\"m\":[{\"$numberInt\":\"7\"},{\"$oid\":\"0123456789abcdef01234567\"},{\"$numberDecimal\":\"2.5\"},{\"$date\":\"1970-01-01T00:00:01Z\"},{\"$uuid\":\"01234567-89ab-cdef-0123-456789abcdef\"},{\"$other\":1,\"b\":2},null]}]}"
        let run = try importing(objects, schema: schema)
        #expect(run.status == .fine, "\(run)")
        #expect(
            try export("A") == [
                "{\"$object\":0,\"i\":5,\"d\":1.5,\"t\":\"1969-12-31T23:59:58.500Z\",\"b\":\"AQ==\",\"m\":[7,{\"$objectId\":\"0123456789abcdef01234567\"},{\"$decimal\":\"2.5\"},{\"$date\":\"1970-01-01T00:00:01Z\"},{\"$uuid\":\"01234567-89AB-CDEF-0123-456789ABCDEF\"},{\"$map\":{\"$other\":1,\"b\":2}},null]}"
            ])
    }

    @Test("a Realm without objects, links to another class, and floats that are none") func odd() throws {
        let schema =
            "[{\"name\":\"class_A\",\"properties\":[{\"name\":\"f\",\"type\":\"float\"},{\"name\":\"l\",\"type\":\"object\",\"objectType\":\"class_A\"},{\"name\":\"all\",\"type\":\"object\",\"objectType\":\"class_A\",\"isArray\":true}]},{\"name\":\"class_B\",\"properties\":[]}]"
        #expect(try importing("{}\n", schema: schema).status == .fine)
        for (object, text) in [
            ("{\"l\":{\"table\":\"class_B\",\"key\":0}}", "l links to another class than its schema says, class_B"),
            ("{\"all\":{\"table\":\"class_B\",\"keys\":[0]}}", "all links to another class"),
            ("{\"f\":{\"$numberDouble\":\"1e300\"}}", "this is no float"), ("{\"f\":\"0x1p3\"}", "this is no float"),
        ] {
            let run = try importing("{\"class_A\":[\(object)]}", schema: schema)
            #expect(run.status == .usage && run.error.contains(text), "\(object): \(run)")
        }
        #expect(try importing("{\"class_A\":[{\"f\":\"-inf\"}]}", schema: schema).status == .fine)
        #expect(try export("A") == ["{\"$object\":0,\"f\":\"-inf\",\"l\":null,\"all\":[]}"])
    }

    @Test("what is refused is told with its line and column, and nothing is made") func refusals() throws {
        let schema =
            "[{\"name\":\"class_A\",\"properties\":[{\"name\":\"i\",\"type\":\"int\"},{\"name\":\"l\",\"type\":\"object\",\"objectType\":\"class_A\"}]}]"
        for (objects, text) in [
            ("{\"class_A\":[\n{\"i\":\"x\"}]}", "2:6: this is no int"),
            ("{\"class_A\":[{\"i\":1},{\"j\":1}]}", "1:22: A has no property j"),
            ("{\"class_A\":[{\"i\":1}\n,{\"i\":2},\n {\"i\":1.5}]}", "3:7: this is no int"),
            ("{\"class_A\":[{\"l\":{\"table\":\"class_A\",\"key\":9}}]}", "1: l links to A #9"),
            ("{\"class_A\":[{\"l\":{\"table\":\"class_B\",\"key\":9}}]}", "the class class_B is not in the schema"),
            ("{\"class_A\":[{\"l\":{\"_key\":9,\"i\":1}}]}", "without --link-depth"),
            ("{\"class_B\":[{\"i\":1}]}", "the class B is not in the schema"),
            ("{\"class_A\":[{\"i\":1}", "the document ends"), ("{\"class_A\":[{\"i\":1}]", "the document ends"),
            ("", "the document ends"),
            ("[1]", "this is not what realm2json writes"), ("{\"class_A\":5}", "the document ends before its }"),
            ("{\"class_A\":[{\"i\":1}]} x", "the document ends before its }"),
            ("{\"class_A\":[{\"i\":1},]}", "1:21: an object should be here"),
            ("{\"class_A\":[{\"i\":1}}]}", "the text should end here"),
        ] {
            let run = try importing(objects, schema: schema)
            #expect(run.status == .usage && run.error.contains(text), "\(objects): \(run)")
            #expect(try storage.status("/new") == nil, "\(objects)")
        }
        for (schema, text) in [
            ("{}", "/schema:1:1: an array should be here"),
            ("[\n{\"name\":\"class_A\",\"properties\":[{\"name\":\"i\",\"type\":\"what\"}]}]", "/schema:2:"),
            ("[{\"properties\":[]}]", "this class has no name"),
        ] {
            let run = try importing("{}", schema: schema)
            #expect(run.status == .usage && run.error.contains(text), "\(schema): \(run)")
        }
    }
}
