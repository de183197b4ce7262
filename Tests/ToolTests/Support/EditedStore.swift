import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport

@testable import FirnTool

/// A store of random versions, and what each of them holds, kept apart from Firn.
struct EditedStore {
    /// A property as the tool's JSON has it: a single value, or a collection's elements.
    enum Held: Equatable {
        case single(String)
        case elements([String])
    }

    typealias Identity = ChangedObject.Identity
    typealias State = [Identity: [String: Held]]

    let sample: SampleStore
    /// The state of each version, from 0 on.
    private(set) var states: [State] = [[:], [:]]

    /// - Parameters:
    ///   - people: how many objects version 2 adds before the random operations.
    ///   - compactsAt: the versions after which a checkpoint is written.
    ///   - isIncremental: whether a checkpoint holds only what has changed since the one before.
    ///   - retainsHistory: whether the log before a checkpoint is kept.
    init(
        seed: UInt64, versions: Int, people: Int = 0, compactsAt: Set<Int> = [], isIncremental: Bool = false,
        retainsHistory: Bool = false, segmentByteCount: Int = 64 << 20
    ) throws {
        sample = SampleStore(empty: ())
        var random = SeededRandom(seed: seed)
        let store = try sample.open(segmentByteCount: segmentByteCount, retainsHistory: retainsHistory)
        var program = Program(state: [:])
        func commit(_ body: (WriteTransaction) throws -> Void) throws {
            sample.clock.advance(by: 1_000_000_000)
            let transaction = try store.beginWrite()
            try body(transaction)
            _ = try transaction.commit()
        }
        try commit { try $0.changeSchema(to: SampleStore.schema) }
        for version in 2...versions {
            try commit { transaction in
                if version == 2 { try program.fill(transaction, people) }
                for _ in 0..<Int.random(in: 1...6, using: &random) { try program.step(transaction, &random) }
            }
            states.append(program.state)
            if compactsAt.contains(version) { _ = try store.compact(wholly: !isIncremental) }
        }
        try store.close()
    }

    /// What a store holds, read through Firn.
    static func state(of storage: any Storage, _ path: String) throws -> State {
        var options = LogOptions(folder: path)
        options.usesThreads = false
        let store = try Store(StoreOptions(log: options), storage: storage, clock: ManualClock())
        let pin = store.pin()
        let people = pin.snapshot.table(SampleStore.person)
        func text(_ value: Value) -> String {
            switch value {
            case .null: "null"
            case .int(let number): "\(number)"
            case .string(let string): "\"\(string)\""
            default: "\(value)"
            }
        }
        var state: State = [:]
        var key: Int64 = 0
        while state.count < people.count {
            defer { key += 1 }
            guard people.find(key) != nil else { continue }
            var held = ["name", "age", "notes"].enumerated().reduce(into: [String: Held]()) { held, column in
                held[column.element] = .single(text(people.value(column.offset, of: key) ?? .null))
            }
            guard case .list(let tags) = people.value(3, of: key) else { continue }
            held["tags"] = .elements(tags.map(text))
            state[Identity(table: 0, key: key)] = held
        }
        try store.close()
        return state
    }

    /// Applies random operations to a transaction and to its own copy of the state.
    private struct Program {
        var state: State

        init(state: State) { self.state = state }

        mutating func fill(_ transaction: WriteTransaction, _ people: Int) throws {
            for number in 0..<people {
                let key = try SampleStore.add(
                    transaction, table: SampleStore.person,
                    values: [0: .string("b\(number)"), 1: .int(Int64(number % 5)), 2: .string("n\(number % 3)")])
                state[Identity(table: 0, key: key)] = [
                    "name": .single("\"b\(number)\""), "age": .single("\(number % 5)"),
                    "notes": .single("\"n\(number % 3)\""), "tags": .elements([]),
                ]
            }
        }

        mutating func step(_ transaction: WriteTransaction, _ random: inout SeededRandom) throws {
            let people = state.keys.filter { $0.table == 0 }.sorted()
            guard let person = people.randomElement(using: &random), people.count < 12 || random.next() % 8 > 0,
                random.next() % 6 > 0
            else { return try insert(transaction, &random) }
            switch random.next() % 8 {
            case 0:
                transaction.delete(SampleStore.person, person.key)
                state[person] = nil
            case 1, 2:
                let age = Int64(random.next() % 5)
                transaction.set(SampleStore.person, column: 1, key: person.key, to: .int(age))
                state[person]?["age"] = .single("\(age)")
            case 3:
                let notes = random.next() % 3 == 0 ? nil : "n\(random.next() % 3)"
                transaction.set(SampleStore.person, column: 2, key: person.key, to: notes.map { .string($0) } ?? .null)
                state[person]?["notes"] = .single(notes.map { "\"\($0)\"" } ?? "null")
            case 4:
                let tags = (0..<random.next() % 4).map { "t\($0 + random.next() % 3)" }
                transaction.set(SampleStore.person, column: 3, key: person.key, to: .list(tags.map { .string($0) }))
                state[person]?["tags"] = .elements(tags.map { "\"\($0)\"" })
            default: edit(transaction, person: person, random: &random)
            }
        }

        private mutating func insert(_ transaction: WriteTransaction, _ random: inout SeededRandom) throws {
            // The primary key of a deleted person is used again.
            let names = Set((0..<20).map { "\"p\($0)\"" })
            let used = Set(state.values.compactMap { if case .single(let name)? = $0["name"] { name } else { nil } })
            guard let name = names.subtracting(used).sorted().randomElement(using: &random) else { return }
            let age = Int64(random.next() % 5)
            let key = try SampleStore.add(
                transaction, table: SampleStore.person,
                values: [0: .string(String(name.dropFirst().dropLast())), 1: .int(age)])
            state[Identity(table: 0, key: key)] = [
                "name": .single(name), "age": .single("\(age)"), "notes": .single("null"), "tags": .elements([]),
            ]
        }

        private mutating func edit(
            _ transaction: WriteTransaction, person: Identity, random: inout SeededRandom
        ) {
            guard case .elements(var tags)? = state[person]?["tags"] else { return }
            transaction.edit(SampleStore.person, column: 3, key: person.key) { list in
                for _ in 0...random.next() % 3 {
                    let tag = "e\(random.next() % 9)"
                    switch random.next() % 4 {
                    case 1 where !tags.isEmpty:
                        let index = Int(random.next() % UInt64(tags.count))
                        list.remove(at: index)
                        tags.remove(at: index)
                    case 2 where !tags.isEmpty:
                        let index = Int(random.next() % UInt64(tags.count))
                        list.set(.string(tag), at: index)
                        tags[index] = "\"\(tag)\""
                    case 3 where !tags.isEmpty:
                        let (from, to) = (
                            Int(random.next() % UInt64(tags.count)), Int(random.next() % UInt64(tags.count))
                        )
                        list.move(from: from, to: to)
                        tags.insert(tags.remove(at: from), at: to)
                    default:
                        let index = Int(random.next() % UInt64(tags.count + 1))
                        list.insert(.string(tag), at: index)
                        tags.insert("\"\(tag)\"", at: index)
                    }
                }
            }
            state[person]?["tags"] = .elements(tags)
        }
    }
}
