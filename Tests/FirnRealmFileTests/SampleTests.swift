import FirnRealmFile
import FirnStorage
import RealmDump
import Testing

@Suite("A file that Realm made", .timeLimit(.minutes(20))) struct SampleTests {
    @Test("has the contents that Realm reads", arguments: RealmSample.all) func contents(_ sample: RealmSample) throws {
        let file = try sample.open()
        var text = ""
        try RealmDump(file, hasIndexes: !sample.name.hasPrefix("real-")) { text += $0 }.run()
        #expect(try text == sample.contents())
        // The estimate is for progress, but the file's own number is right in a file that is not damaged.
        for type in file.classes {
            var count = 0
            try file.forEachBatch(of: type) { count += $0.count }
            #expect(file.estimatedCount(of: type) == count)
        }
    }

    @Test func samplesOfAllKindsAreThere() {
        let names = RealmSample.all.map(\.name)
        for format in [2, 3, 7, 9, 10, 11, 20, 22, 23, 24] {
            #expect(names.contains { $0.hasSuffix("-v\(format)") }, "format \(format)")
        }
    }

    @Test(
        "has the same contents if little of it stays in memory", arguments: ["types-v9", "types-v22", "encrypted-v9"])
    func memory(_ name: String) throws {
        let sample = RealmSample(name: name)
        var options = RealmFile.Options()
        options.key = try sample.key()
        options.memoryLimit = 0
        var text = ""
        try RealmDump(RealmFile(PosixStorage.shared, path: sample.path, options)) { text += $0 }.run()
        #expect(try text == sample.contents())
    }

    @Test("finds each object by its key", arguments: ["past-v24", "types-v22", "real-swift_default-v5-v20"])
    func objects(_ name: String) throws {
        let file = try RealmSample(name: name).open()
        for type in file.classes {
            var keys: [Int64] = []
            try file.forEachKey(of: type) { keys.append($0) }
            for key in keys {
                var found: Int64?
                let isFound = try file.withObject(key, of: type) { found = $0.key($1) }
                #expect(isFound && found == key)
                if !keys.contains(key + 1) {
                    let isThere = try file.withObject(key + 1, of: type) { _, _ in }
                    #expect(!isThere)
                }
            }
            #expect(try file.lastKey(of: type) == keys.last ?? -1)
        }
    }
}
