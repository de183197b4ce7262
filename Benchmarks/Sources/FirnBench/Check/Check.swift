import Foundation

/// Lets every engine do the same small job and compares each answer with the one computed from the people themselves:
/// a benchmark of wrong answers measures nothing.
struct Check {
    var engines: [EngineName]
    var folder: String

    /// Prints a line for each engine. Returns whether all agree.
    func run() -> Bool {
        var isFine = true
        for engine in engines {
            for order in [KeyOrder.ascending, .shuffled, .sparse] {
                let check = EngineCheck(engine: engine, folder: "\(folder)/check-\(engine.rawValue)-\(order.rawValue)")
                do {
                    try check.run(order)
                } catch {
                    check.problems.append("stopped \(check.stage) with: \(error)")
                }
                isFine = isFine && check.problems.isEmpty
                print("\(engine.rawValue), \(order.rawValue) keys: \(check.summary)")
            }
            isFine = checkQueries(engine) && isFine
        }
        return isFine
    }

    private func checkQueries(_ engine: EngineName) -> Bool {
        let folder = "\(folder)/check-\(engine.rawValue)-queries"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let answers = try Workload.queryAnswers(engine, folder: folder, count: 10_000)
            let wrong = answers.filter { $0.found != $0.right }
            print(
                "\(engine.rawValue), queries: "
                    + (wrong.isEmpty
                        ? "\(answers.count) answers right"
                        : "WRONG: "
                            + wrong.map { "\($0.query) gives \($0.found), not \($0.right)" }.joined(separator: "; ")))
            return wrong.isEmpty
        } catch is Unsupported {
            return true
        } catch {
            print("\(engine.rawValue), queries: WRONG: stopped with: \(error)")
            return false
        }
    }
}

private final class EngineCheck {
    let engine: EngineName
    let folder: String
    var problems: [String] = []
    /// The current step, for the message if the check stops.
    private(set) var stage = "while loading"
    private var compared = 0
    private var missing: [String] = []
    // What the store must hold, by primary key: the age, and the indexes in `people` of the person and of the bio.
    private var ages: [Int: Int] = [:]
    private var indexes: [Int: Int] = [:]
    private var bios: [Int: Int] = [:]

    init(engine: EngineName, folder: String) {
        self.engine = engine
        self.folder = folder
    }

    var summary: String {
        let dashes = missing.isEmpty ? "" : " (has no \(Set(missing).sorted().joined(separator: ", ")))"
        return problems.isEmpty
            ? "\(compared) answers right\(dashes)" : "WRONG: " + problems.joined(separator: "; ")
    }

    func run(_ order: KeyOrder) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // A hundred of the people after the loaded ones are added one by one, the rest by the mix.
        let people = People.generate(10_500, keyOrder: order, strings: engine.type.takesStrings)
        let loaded = people.prefix(10_000)
        for index in loaded.records.indices { expectAdded(people, index) }

        var store = try engine.type.init(folder: folder, durability: .full)
        try store.load(loaded, batch: 1_000)
        try compare(store, people, "after loading")
        do {
            let writer = try store.makeWriter()
            var random = SplitMix64(seed: 7)
            for index in 0..<200 {
                let id = loaded.records[random.below(loaded.count)].id
                try writer.setAge(index % 100, ofPerson: id)
                ages[id] = index % 100
            }
            for index in loaded.count..<loaded.count + 100 {
                try writer.insert(people, at: index)
                expectAdded(people, index)
            }
        }
        try compare(store, people, "after commits")
        try freshness(store)
        try store.compact()
        try compare(store, people, "after compacting")
        store = try store.compactAndReopen(folder: folder)
        try compare(store, people, "after compacting and reopening")

        // Changes to what is in the compacted files, which are then compacted in part; then changes to everything.
        var mix = DayMix(people, loaded: loaded.count + 100)
        try change(store, people, (0..<20).map { _ in mix.transaction(100) })
        try compare(store, people, "after changes of what was compacted")
        try store.compact()
        try change(store, people, (0..<5).map { _ in mix.transaction(100) })
        store = try store.compactAndReopen(folder: folder)
        try compare(store, people, "after changes, compacted and reopened")
        try store.makeWriter().setAgeOfEveryone(33)
        for id in ages.keys { ages[id] = 33 }
        try compare(store, people, "after a change of everyone")
        store = try store.compactAndReopen(folder: folder)
        try compare(store, people, "after a change of everyone, compacted and reopened")
        try store.close()
    }

    private func expectAdded(_ people: People, _ index: Int) {
        let record = people.records[index]
        ages[record.id] = record.age
        indexes[record.id] = index
        bios[record.id] = index
    }

    /// Makes transactions while the compactor runs and, if the engine can hold one, a version from before them is
    /// held.
    private func change(_ store: any Engine, _ people: People, _ transactions: [[Change]]) throws {
        var held: Any?
        do { held = try store.hold() } catch is Unsupported { missing.append("held versions") }
        let loop = try CompactionLoop.start(store)
        let writer = try store.makeWriter()
        for changes in transactions {
            try writer.apply(changes, of: people)
            for change in changes {
                switch change {
                case .setAge(let age, let person): ages[person] = age
                case .setBio(let index, let person): bios[person] = index
                case .insert(let index): expectAdded(people, index)
                case .delete(let person):
                    ages[person] = nil
                    indexes[person] = nil
                    bios[person] = nil
                }
            }
        }
        if let loop { try loop.stop() } else { missing.append("compactor") }
        withExtendedLifetime(held) {}
    }

    /// Checks that a reader that refreshes sees what another thread has committed since.
    private func freshness(_ store: any Engine) throws {
        let reader = try store.makeReader()
        let writer = try Worker { try store.makeWriter() }
        defer { writer.stop() }
        for (id, age) in ages.sorted(by: { $0.key < $1.key }).prefix(20) {
            try writer.run { try $0.setAge(age + 1, ofPerson: id) }
            ages[id] = age + 1
            try reader.refresh()
            expect(try reader.sumOfAges(), ages.values.reduce(0, +), "sum of ages after a refresh")
        }
    }

    private func compare(_ store: any Engine, _ people: People, _ when: String) throws {
        stage = when
        let reader = try store.makeReader()
        func digest(_ id: Int) -> UInt64 {
            let record = people.records[indexes[id]!]
            return readDigest(
                age: ages[id]!, nameLength: Int(record.nameLength), firstByte: people.bytes[record.textOffset])
        }
        func everything(_ id: Int) -> UInt64 {
            let record = people.records[indexes[id]!]
            return fullDigest(
                id: id, age: ages[id]!, score: record.score, created: record.created, active: record.active,
                texts: people.textDigests(indexes[id]!, bio: bios[id]!))
        }
        var random = SplitMix64(seed: 8)
        let ids = ages.keys.sorted()
        let some = (0..<3_000).map { _ in ids[random.below(ids.count)] }
        try optional("sum") { expect(try reader.sumOfAges(), ages.values.reduce(0, +), "sum of ages \(when)") }
        try optional("count") {
            expect(try reader.count(olderThan: 50), ages.values.count { $0 > 50 }, "count of age > 50 \(when)")
        }
        try optional("point reads") {
            expect(try reader.pointReads(some), some.reduce(0) { $0 &+ digest($1) }, "point reads \(when)")
        }
        try optional("loop over all") {
            expect(try reader.readEveryone(), ids.reduce(0) { $0 &+ digest($1) }, "the loop over all \(when)")
        }
        try optional("everything") {
            expect(try reader.readEverything(), ids.reduce(0) { $0 &+ everything($1) }, "everything \(when)")
        }
        try optional("snapshots") { try reader.openSnapshots(10) }
        try optional("freeze") { try reader.freeze(10) }
        stage = "in what followed the answers \(when)"
    }

    private func optional(_ name: String, _ body: () throws -> Void) throws {
        do { try body() } catch is Unsupported { missing.append(name) }
    }

    private func expect<Value: Equatable>(_ got: Value, _ expected: Value, _ what: String) {
        compared += 1
        if got != expected { problems.append("\(what) is \(got), not \(expected)") }
    }
}
