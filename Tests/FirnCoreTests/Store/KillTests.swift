import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A process that commits from four threads is killed at random moments (20 of them; `FIRN_KILLS` asks for more). No
/// acknowledged commit is missing, no half commit is seen, and reopening always works.
@Suite(.timeLimit(.minutes(TestEnvironment.minutes))) struct KillTests {
    #if os(Linux)
        /// All tests with other processes rely on this.
        @Test func aChildThatHangsFailsItsTest() throws {
            let folder = TemporaryFolder()
            let child = try ChildProcess(folder.path + "/store", "hold", "0")
            #expect(try child.readLine() == "held 0")
            let error = #expect(throws: ChildProcess.Silence.self) { try child.readLine(within: 1) }
            #expect(error?.description.contains("hangs") == true)
            #expect(child.wait() == .killed)
        }

        @Test func killingAProcessOfFourWritersLosesNothing() throws {
            let seed: UInt64 = 20
            let rounds = Int(TestEnvironment.value("FIRN_KILLS") ?? "") ?? 20
            var chance = SeededRandom(seed: seed)
            var folder = TemporaryFolder()
            var ledger = Ledger()
            var total = 0
            for round in 0..<rounds {
                // Makes a new store now and then, so that some kills happen during creation and reading back stays
                // short.
                if round % 20 == 10 { (folder, ledger) = (TemporaryFolder(), Ledger()) }
                let path = folder.path + "/store"
                let child = try ChildProcess(path)
                let wanted = round % 10 == 0 ? 0 : 1 + chance.below(80)
                for _ in 0..<wanted { guard ledger.note(try child.readLine()) else { break } }
                usleep(UInt32(chance.below(wanted == 0 ? 60_000 : 3000)))
                #expect(child.kill() == .killed, "seed \(seed), round \(round): the writer ended by itself")
                while ledger.note(try child.readLine()) {}
                try ledger.check(path, "seed \(seed), round \(round)")
                total += wanted
            }
            #expect(total > rounds)
        }

        /// Two processes write, one of them compacts all the time, and both are killed; `FIRN_COMPACTION_KILLS` asks
        /// for more rounds.
        @Test func killingProcessesThatCompactLosesNothing() throws {
            let seed: UInt64 = 31
            let rounds = Int(TestEnvironment.value("FIRN_COMPACTION_KILLS") ?? "") ?? 8
            var chance = SeededRandom(seed: seed)
            var folder = TemporaryFolder()
            var ledger = Ledger()
            var compacted = 0
            for round in 0..<rounds {
                if round % 20 == 10 { (folder, ledger) = (TemporaryFolder(), Ledger()) }
                let path = folder.path + "/store"
                let compacting = try ChildProcess(path, "compact")
                // The store exists once the process has printed a line.
                guard ledger.note(try compacting.readLine()) else {
                    Issue.record("seed \(seed), round \(round): the first process ended by itself")
                    return
                }
                let writing = try ChildProcess(path)
                for _ in 0..<(2 + chance.below(40)) {
                    guard ledger.note(try compacting.readLine()), ledger.note(try writing.readLine()) else { break }
                }
                usleep(UInt32(chance.below(5000)))
                // Either is killed first, so that the other finds a lock whose holder is dead.
                let order = chance.below(2) == 0 ? [compacting, writing] : [writing, compacting]
                for child in order {
                    #expect(child.kill() == .killed, "seed \(seed), round \(round): a process ended by itself")
                }
                for child in order { while ledger.note(try child.readLine()) {} }
                try ledger.check(path, "seed \(seed), round \(round)")
                if try !PosixStorage.shared.list(path + "/checkpoint").isEmpty { compacted += 1 }
            }
            #expect(compacted > 0)
        }
    #endif
}

/// The commits that the writer reported, to be compared with what the store has.
private struct Ledger {
    private(set) var version: UInt64 = 0
    /// The hash of each acknowledged entry, by thread and number.
    private var hashes: [[Int: UInt64]] = Array(repeating: [:], count: 4)
    /// By thread, the number of the last entry that an earlier check found intact.
    private var checked = [0, 0, 0, 0]

    /// Records a reported commit. Returns false at the end of the writer's output.
    mutating func note(_ line: String?) -> Bool {
        guard let fields = line?.split(separator: " "), fields.count == 4, let thread = Int(fields[0]),
            let number = Int(fields[1]),
            let version = UInt64(fields[2]), let hash = UInt64(fields[3])
        else { return false }
        self.version = max(self.version, version)
        hashes[thread][number] = hash
        return true
    }

    mutating func check(_ path: String, _ context: String) throws {
        var options = LogOptions(folder: path, durability: .full, verify: .everything)
        options.reserveByteCount = 0
        options.segmentByteCount = 256 << 10
        let store = try Store(StoreOptions(log: options), storage: PosixStorage.shared)
        #expect(store.publishedVersion >= version, "\(context): \(store.recovery!)")
        store._checkInvariants()
        let pin = store.pin()
        guard !pin.snapshot.schema.tables.isEmpty else {
            #expect(version == 0, "\(context)")
            return try store.close()
        }
        let (writers, entries) = (pin.snapshot.table(TableID(0)), pin.snapshot.table(TableID(1)))
        var count = 0
        for thread in 0..<4 {
            let key = try #require(writers.firstKey(primaryKeyInt: Int64(thread)), "\(context)")
            guard case .int(let last)? = writers.value(1, of: key), case .list(let links)? = writers.value(2, of: key)
            else {
                Issue.record("\(context): writer \(thread) is incomplete")
                continue
            }
            #expect(Int(last) >= hashes[thread].keys.max() ?? 0, "\(context): a commit of thread \(thread) is missing")
            // Each entry came with its writer's count and link, or not at all.
            #expect(links.count == Int(last), "\(context): a half commit of thread \(thread)")
            count += links.count
            for number in max(1, checked[thread])..<(Int(last) + 1) where number > 0 {
                guard case .link(let entry) = links[number - 1], case .data(let bytes)? = entries.value(2, of: entry)
                else {
                    Issue.record("\(context): entry \(number) of thread \(thread) is missing")
                    continue
                }
                #expect(entries.value(0, of: entry) == .int(Int64(4 * number + thread)), "\(context)")
                #expect(entries.value(1, of: entry) == .int(Int64(number)), "\(context)")
                #expect(entries.firstKey(primaryKeyInt: Int64(4 * number + thread)) == entry, "\(context)")
                // An unacknowledged commit may be there, but only a complete one: its length shows it.
                #expect(bytes.count == (number % 61 == 60 ? 1_500_000 : number % 7 == 6 ? 5000 : 40), "\(context)")
                if let hash = hashes[thread][number] {
                    #expect(Self.hash(bytes) == hash, "\(context): entry \(number) of thread \(thread)")
                }
            }
            checked[thread] = Int(last)
        }
        #expect(entries.count == count, "\(context): entries that belong to no writer")
        #expect(store.publishedVersion == UInt64(1 + count), "\(context)")
        version = store.publishedVersion
        try store.close()
    }

    private static func hash(_ bytes: [UInt8]) -> UInt64 {
        bytes.withUnsafeBufferPointer { bytes in
            var hash: UInt64 = 0xCBF2_9CE4_8422_2325
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            return hash
        }
    }
}
