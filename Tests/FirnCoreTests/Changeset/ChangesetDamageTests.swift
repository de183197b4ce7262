import FirnBytes
import Testing

@testable import FirnCore

@Suite("A changeset reader never traps, whatever bytes it reads", .timeLimit(.minutes(20)))
struct ChangesetDamageTests {
    /// Reads everything that can be read, in both directions. What is read must be readable to the last value; the
    /// rest must be refused with a typed error. Returns whether anything was refused.
    private static func read(_ parts: [[UInt8]]) -> Bool {
        var isRefused = false
        do {
            let changeset = try Changeset(version: 9, time: 0, parts: parts)
            _ = changeset.inverted().description
        } catch let error as ChangesetDamage {
            #expect(error.version == 9 && error.part < parts.count && !error.reason.isEmpty)
            isRefused = true
        } catch {
            Issue.record("unexpected error: \(error)")
        }
        let reader = ChangesetReader(version: 9, direction: .forward)
        do {
            for part in parts {
                try part.withUnsafeBytes { bytes in try reader.read(bytes) { try drain(&$0) } }
            }
            try reader.finish()
        } catch {
            #expect(error is ChangesetDamage)
            isRefused = true
        }
        return isRefused
    }

    private static func drain(_ block: inout ChangesetBlock) throws {
        func drain(_ values: inout ColumnDecoder) throws {
            if values.collection == .none, let width = values.type.fixedWidth {
                let memory = UnsafeMutableRawPointer.allocate(byteCount: max(width * values.count, 1), alignment: 16)
                let flags = UnsafeMutablePointer<UInt8>.allocate(capacity: max(values.count, 1))
                values.fill(0..<values.count, into: memory, nullFlags: flags)
                memory.deallocate()
                flags.deallocate()
            }
            for _ in 0..<values.count {
                if values.nextValue() == nil { throw Damage("no value") }
            }
        }
        switch block {
        case .insert(var rows), .insertMore(var rows), .deleteOld(var rows):
            for index in rows.columns.indices { try drain(&rows.columns[index].values) }
        case .update(var cells): try drain(&cells.new)
        case .script(var script): try drain(&script.new)
        case .elements(var elements): try drain(&elements.values)
        case .schema, .delete, .nextKey: break
        }
    }

    private static func sample(_ seed: UInt64) -> [[UInt8]] {
        var samples = ChangesetSamples(seed: seed)
        var oracle = ChangesetOracle()
        _ = oracle.transact(30, &samples)
        var changes = oracle.transact(40, &samples)
        if seed % 3 == 0 { changes.schema = ChangesetOracle.schema }
        if seed % 4 == 0, let key = oracle.tables[TableID(0)]!.keys.min() {
            changes.tables[TableID(0), default: TableChanges()].update(
                1, key: key, cell: CellChange(new: .string(String(repeating: "z", count: 66_000)), old: .null))
        }
        return changes.encoded(schema: ChangesetOracle.schema)
    }

    @Test("flipped bits")
    func flippedBits() {
        for seed in 0..<40 as Range<UInt64> {
            var samples = ChangesetSamples(seed: 1000 + seed)
            let parts = Self.sample(seed)
            #expect(!Self.read(parts), "seed \(seed): valid bytes must be readable")
            for _ in 0..<60 {
                var damaged = parts
                for _ in 0..<samples.int(1...3) {
                    let part = samples.int(0...damaged.count - 1)
                    guard !damaged[part].isEmpty else { continue }
                    // Most damage goes to the front, where there is more than the bytes of long values.
                    let offset = samples.int(0...min(damaged[part].count - 1, samples.chance(80) ? 3000 : .max))
                    damaged[part][offset] ^= 1 << UInt8(samples.int(0...7))
                }
                _ = Self.read(damaged)
            }
        }
    }

    @Test("bytes replaced by extreme values, cut off, repeated")
    func replacedBytes() {
        for seed in 0..<40 as Range<UInt64> {
            var samples = ChangesetSamples(seed: 2000 + seed)
            let parts = Self.sample(seed)
            for _ in 0..<40 {
                var damaged = parts
                let part = samples.int(0...damaged.count - 1)
                guard !damaged[part].isEmpty else { continue }
                let start = samples.int(0...min(damaged[part].count - 1, 4000))
                switch samples.int(0...3) {
                case 0:
                    for offset in start..<min(start + samples.int(1...10), damaged[part].count) {
                        damaged[part][offset] = [0, 0xFF, 0x7F, 0x80][samples.int(0...3)]
                    }
                case 1: damaged[part].removeLast(damaged[part].count - start)
                case 2: damaged[part].insert(contentsOf: damaged[part][..<start], at: start)
                default: damaged[part].remove(at: start)
                }
                _ = Self.read(damaged)
            }
        }
    }

    @Test("random bytes, and random bodies behind a valid header")
    func garbage() {
        var samples = ChangesetSamples(seed: 77)
        for _ in 0..<3000 {
            var bytes = (0..<samples.int(0...200)).map { _ in UInt8(samples.int(0...255)) }
            if samples.chance(80) {
                let length = UInt32(bytes.count)
                let small = bytes.map { samples.chance(50) ? $0 % 17 : $0 }
                bytes = [UInt8(samples.int(1...12)), UInt8(samples.int(0...1))]
                bytes += withUnsafeBytes(of: length) { Array($0) } + small
            }
            _ = Self.read([bytes])
        }
    }

    @Test("a few bytes that claim a million cells are refused by the cell limit")
    func tooManyCells() {
        // insert: table 0, 2^20 keys that follow each other, one column of ints that are all 0.
        let body: [UInt8] = [0, 0x80, 0x80, 0x40, 16, 0, 1, 0, 2, 0, 0]
        let block: [UInt8] = [3, 0, UInt8(body.count), 0, 0, 0] + body
        #expect(Self.read([block]))
    }

    @Test("80,000 blobs of one byte each are refused by the blob limit")
    func tooManyBlobs() {
        var part: [UInt8] = []
        var writer = ByteWriter()
        for id in 0..<UInt64(80_000) {
            writer.removeAll()
            writer.appendVarint(id)
            // At offset 0, one byte.
            let body = writer.array() + [0, 1]
            part += [2, 0, UInt8(body.count), 0, 0, 0] + body
        }
        let reader = ChangesetReader(version: 9, direction: .forward)
        let error = #expect(throws: ChangesetDamage.self) {
            try part.withUnsafeBytes { bytes in try reader.read(bytes) { _ in } }
        }
        #expect(error?.reason.contains("blob 65536") == true)
    }

    @Test("errors name version, part and offset; unknown kinds are refused unless they may be skipped")
    func errors() throws {
        let sound = encodedParts {
            $0.beginTable(TableID(0), ChangesetSamples.person)
            $0.nextKey(5)
        }[0]
        let unknown: [UInt8] = [99, 0, 2, 0, 0, 0, 1, 2]
        let error = #expect(throws: ChangesetDamage.self) {
            try Changeset(version: 12, time: 0, parts: [sound, sound + unknown])
        }
        #expect(error?.version == 12 && error?.part == 1 && error?.offset == sound.count)
        var skippable = unknown
        skippable[1] = 2
        let changes = try Changeset(version: 12, time: 0, parts: [skippable + sound])
        #expect(changes.tables[TableID(0)]?.nextKey == 5)
    }
}
