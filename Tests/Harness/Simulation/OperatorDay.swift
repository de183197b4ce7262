import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport

/// A seeded day of careless operators: while processes have stores open, folders are moved, exchanged, removed and
/// restored, files of stores are removed and replaced, clocks are set and the disk fills up.
///
/// Processes open the store at one path, `/live`. The oracle knows stores by their folders and not by their paths:
///
/// - What was acknowledged is there when its folder is opened again, wherever that is by then.
/// - A process commits nothing to a store of which an operator has removed or replaced a part, once 1 ms has passed.
///   What it commits before that counts for nothing.
/// - A process changes no store but the one that it has open, whatever stands at the path by now.
/// - A store of which no part was touched never reports an error that only the touching explains.
///
/// Everything depends on the seed, and there is one thread. Power cuts and failing calls are in `Simulation`.
package final class OperatorDay {
    package struct Report: Sendable, CustomStringConvertible {
        package var operations = 0
        package var commits = 0
        package var moves = 0
        package var spoiled = 0
        /// How many calls failed because a store was spoiled.
        package var refusals = 0
        /// How many commits were acknowledged after that and before it was noticed.
        package var inVain = 0

        package init() {}

        package mutating func add(_ other: Report) {
            operations += other.operations
            commits += other.commits
            moves += other.moves
            spoiled += other.spoiled
            refusals += other.refusals
            inVain += other.inVain
        }

        package var description: String {
            "\(operations) operations, \(commits) commits, \(moves) moves of folders, \(spoiled) stores spoiled, "
                + "\(refusals) refusals, \(inVain) commits in vain"
        }
    }

    /// What is known of a store, by its folder.
    private final class Known {
        /// The last version that was acknowledged.
        var acknowledged: UInt64 = 0
        /// What an operator has done last to a part of it while it was open, and at which step; nil if nothing.
        var spoiled: (what: String, step: Int)?
        /// The step of the last such act, also if it stops no openers, and when each process has noticed it.
        var spoiledAt = -1
        var noticedAt = Int64.min
        /// Whether it can't be opened any more, or lacks data.
        var isBroken = false
        /// Whether its shared page was removed while it was open.
        var hasLostPage = false
        /// Its data while nobody has it open; nil while somebody has.
        var content: [String: [UInt8]]?
    }

    private struct Process {
        var storage: SimulatedStorage
        var store: Store?
        var known: Known?
        /// The step at which it opened the store.
        var openedAt = 0
        /// Whether it has met what an operator did, and takes no more writes.
        var hasFailed = false
    }

    private static let live = "/live"
    private static let paths = [live, "/spare", "/away"]

    private let seed: UInt64
    private var random: SeededRandom
    private let disk: SimulatedDisk
    /// The operator's shell.
    private let shell: SimulatedStorage
    private let clock = ManualClock()
    /// The nanoseconds within which a process that writes notices what was done to its files.
    private static let notice: Int64 = 1_000_000
    private var stores: [FileIdentity: Known] = [:]
    private var processes: [Process] = []
    private var report = Report()
    private var story: [String] = []

    private init(seed: UInt64) {
        self.seed = seed
        random = SeededRandom(seed: seed)
        var traits = DiskTraits()
        traits.mapsPrivately = true
        disk = SimulatedDisk(seed: seed, traits: traits)
        shell = disk.newProcess()
        processes = (0..<2).map { _ in Process(storage: disk.newProcess()) }
    }

    /// - Parameter operations: about how many steps are taken.
    package static func run(seed: UInt64, operations: Int) throws -> Report {
        let day = OperatorDay(seed: seed)
        do {
            while day.report.operations < operations { try day.step() }
            try day.checkUntouched()
            for index in day.processes.indices { try day.close(index) }
            try day.checkUntouched()
            try day.checkAll()
        } catch {
            throw Simulation.Failure(
                description: "seed \(seed): \(error)\n\(day.story.suffix(40).joined(separator: "\n"))")
        }
        return day.report
    }

    private func fail(_ text: String) -> Simulation.Failure { Simulation.Failure(description: text) }

    private func note(_ text: String) {
        story.append(text)
        if story.count > 400 { story.removeFirst(200) }
    }

    private func step() throws {
        report.operations += 1
        disk.clearTraceIfLong()
        let index = random.below(processes.count)
        switch random.below(100) {
        case 0..<50: if processes[index].store == nil { try open(index) } else { try commit(index) }
        case 50..<58: try compact(index)
        case 58..<66: try close(index)
        case 66..<69: kill(index)
        case 69..<84: try moveFolders()
        case 84..<92: try spoil()
        case 92..<95: clock.set(now: clock.now() + Int64(random.below(48) - 24) * 3_600_000_000_000)
        case 95..<98: disk.capacity = disk.capacity == nil ? disk.usedByteCount + random.below(256 << 10) : nil
        default: clock.advance(by: Int64(random.below(4_000_000)))
        }
        // Not at every step, as it takes most of the time. It is also done before what the oracle knows is forgotten.
        if report.operations % 16 == 0 { try checkUntouched() }
        // As the system does by itself. No power is cut; but the disk remembers what is not synced.
        if report.operations % 64 == 0 { try syncNames("/") }
    }

    private func syncNames(_ path: String) throws {
        for name in try shell.list(path) {
            let inner = (path == "/" ? "" : path) + "/" + name
            if try shell.status(inner)?.kind == .folder { try syncNames(inner) }
        }
        try shell.syncFolder(path)
    }

    // MARK: Processes

    private func options() -> StoreOptions {
        var log = LogOptions(folder: Self.live, access: .readWrite(waitMilliseconds: 0), verify: .everything)
        log.usesThreads = false
        log.segmentByteCount = [4096, 16 << 10][random.below(2)]
        log.reserveByteCount = random.below(2) * 1024
        var options = StoreOptions(log: log)
        options.historyRetention = [.none, .versions(8)][random.below(2)]
        return options
    }

    private func open(_ index: Int) throws {
        processes[index].storage = disk.newProcess()
        let folder = try shell.status(Self.live)?.identity
        let known = folder.flatMap { stores[$0] }
        note("process \(index) opens \(folder.map { "folder \($0.number)" } ?? "nothing")")
        if known?.content != nil { try checkUntouched() }
        known?.content = nil
        do {
            let store = try Store(
                options(), storage: processes[index].storage, clock: clock,
                randomness: SeededRandomness(seed: random.next()))
            guard let identity = store.folderIdentity else { throw fail("a store has no folder") }
            let own = stores[identity] ?? Known()
            stores[identity] = own
            if !own.isBroken, store.publishedVersion < own.acknowledged {
                throw fail(
                    "version \(own.acknowledged) was acknowledged, but the store is at \(store.publishedVersion)")
            }
            own.acknowledged = max(own.acknowledged, store.publishedVersion)
            processes[index].store = store
            processes[index].known = own
            processes[index].hasFailed = false
            processes[index].openedAt = report.operations
            if store.publishedVersion == 0 { try makeSchema(index) }
        } catch let error as StoreError {
            try explain(error, known: known, index: index)
            try rememberContents()
        }
    }

    private func makeSchema(_ index: Int) throws {
        try write(index) { transaction in
            try transaction.changeSchema(
                to: StoreSchema(tables: [
                    TableSchema(
                        name: "Entry", primaryKey: 0,
                        columns: [ColumnSchema(name: "version", type: .int), ColumnSchema(name: "text", type: .string)])
                ]))
        }
    }

    private func commit(_ index: Int) throws {
        guard let store = processes[index].store else { return }
        if store.publishedVersion == 0 { return try makeSchema(index) }
        try write(index) { transaction in
            var row = transaction.beginRow(TableID(0))
            transaction.fill(&row, column: 0, value: .int(Int64(self.report.operations)))
            transaction.fill(&row, column: 1, value: .string(String(repeating: "x", count: self.random.below(900))))
            try transaction.endRow(row)
        }
    }

    private func write(_ index: Int, _ body: (WriteTransaction) throws -> Void) throws {
        guard let store = processes[index].store, let known = processes[index].known else { return }
        let version: UInt64
        do {
            let transaction = try store.beginWrite()
            try body(transaction)
            try transaction.commit()
            version = store.publishedVersion
        } catch let error as StoreError {
            return try explain(error, known: known, index: index)
        }
        if processes[index].openedAt < known.spoiledAt, clock.monotonic() < known.noticedAt {
            note("process \(index) commits version \(version) in vain")
            known.isBroken = true
            report.inVain += 1
            return
        }
        // What it opens afterwards is what the operator has left.
        if let spoiled = known.spoiled, processes[index].openedAt < spoiled.step {
            throw fail("process \(index) commits version \(version), although \(spoiled.what)")
        }
        note("process \(index) commits version \(version)")
        report.commits += 1
        known.acknowledged = max(known.acknowledged, version)
    }

    private func compact(_ index: Int) throws {
        guard let store = processes[index].store else { return }
        note("process \(index) compacts")
        do { try store.compact() } catch { try explain(error, known: processes[index].known, index: index) }
    }

    private func close(_ index: Int) throws {
        guard let store = processes[index].store else { return }
        note("process \(index) closes")
        do { try store.close() } catch { try explain(error, known: processes[index].known, index: index) }
        processes[index].store = nil
        processes[index].known = nil
        try rememberContents()
    }

    private func kill(_ index: Int) {
        guard processes[index].store != nil else { return }
        note("process \(index) is killed")
        disk.kill(processes[index].storage)
        processes[index].store = nil
        processes[index].known = nil
        try? rememberContents()
    }

    /// Throws unless something that the day has done explains the error.
    private func explain(_ error: StoreError, known: Known?, index: Int) throws {
        note("process \(index): \(error)")
        guard case .log(let log) = error.code else { throw error }
        switch log.code {
        // Another process writes, or keeps the lock a little longer.
        case .locked: clock.advance(by: 3_000_000)
        case .diskFull where disk.capacity != nil: break
        case .unknownOutcome where disk.capacity != nil: processes[index].hasFailed = true
        case .replaced, .damage, .unknownOutcome, .foreignFolder, .notAStore, .storage, .closed:
            guard
                known.map({ $0.spoiled != nil || $0.hasLostPage }) ?? false || processes[index].hasFailed
                    || disk.capacity != nil
            else { throw error }
            processes[index].hasFailed = true
            report.refusals += 1
        default: throw error
        }
    }

    // MARK: Operators

    private func exists(_ path: String) throws -> Bool { try shell.status(path) != nil }

    /// Moves a whole folder to a path where nothing is, or exchanges two folders.
    private func moveFolders() throws {
        let (first, second) = (Self.paths[random.below(3)], Self.paths[random.below(3)])
        guard first != second, try exists(first) else { return }
        note("\(first) and \(second) are exchanged")
        report.moves += 1
        try shell.rename(first, to: "/between")
        if try exists(second) { try shell.rename(second, to: first) }
        try shell.rename("/between", to: second)
    }

    /// Removes a store, or a part of one.
    private func spoil() throws {
        let path = Self.paths[random.below(3)]
        guard let folder = try shell.status(path)?.identity, let known = stores[folder], try exists(path + "/manifest")
        else { return }
        if known.isBroken {
            // In the end somebody clears up.
            guard !isOpen(known) else { return }
            try checkUntouched()
            note("what is left at \(path) is removed")
            try removeAll(path)
            stores[folder] = nil
            return
        }
        try checkUntouched()
        let isOpen = isOpen(known)
        let isWhole = try isOpen && exists(path + "/lock") && exists(path + "/shared")
        switch random.below(6) {
        case 0:
            try removeAll(path)
            spoil(known, "\(path) was removed", breaks: true)
            stores[folder] = nil
        case 1 where isWhole:
            try shell.remove(path + "/lock")
            spoil(known, "the lock of \(path) was removed")
        case 2 where isWhole:
            // All openers have it mapped, and go on. New ones are refused.
            try shell.remove(path + "/shared")
            note("the shared page of \(path) is removed")
            known.hasLostPage = true
        case 3:
            try shell.rename(path + "/log", to: path + "/log.away")
            if random.below(2) == 0 { try shell.createFolder(path + "/log") }
            spoil(known, "the log of \(path) was moved", breaks: true)
        case 4:
            let names = try shell.list(path + "/log").sorted()
            guard let name = names.last else { return }
            try copyOver(path + "/log/" + name)
            // A store that is closed does not mind, and a process that begins to write may open the copy, which is
            // whole.
            if isOpen {
                spoil(known, "a segment of \(path) was replaced by its copy", stopsOpeners: false)
            } else {
                known.content = nil
            }
        default:
            // A backup was taken, and put back.
            guard isWhole else { return }
            try copyOver(path + "/lock")
            spoil(known, "the lock of \(path) was replaced by its copy")
        }
    }

    private func spoil(_ known: Known, _ what: String, breaks: Bool = false, stopsOpeners: Bool = true) {
        note(what)
        known.spoiledAt = report.operations
        known.noticedAt = clock.monotonic() + Self.notice
        if random.below(4) > 0 { clock.advance(by: Self.notice) }
        report.spoiled += 1
        known.spoiled = (what, stopsOpeners ? report.operations : known.spoiled?.step ?? 0)
        known.isBroken = known.isBroken || breaks
        known.content = nil
    }

    private func copyOver(_ path: String) throws {
        let old = try shell.open(path, .read)
        let bytes = try old.read(old.size(), at: 0)
        try shell.remove(path)
        try shell.open(path, .create).write(bytes, at: 0)
    }

    private func removeAll(_ path: String) throws {
        if try shell.status(path)?.kind == .folder {
            for name in try shell.list(path) { try removeAll(path + "/" + name) }
            try shell.syncFolder(path)
        }
        try shell.remove(path)
    }

    // MARK: Checks

    /// The data below a folder, by names within it.
    private func content(_ path: String, _ prefix: String = "") throws -> [String: [UInt8]] {
        var result: [String: [UInt8]] = [:]
        for name in try shell.list(path) where name != "lock" && name != "shared" {
            let inner = path + "/" + name
            if try shell.status(inner)?.kind == .folder {
                result.merge(try content(inner, prefix + name + "/")) { old, _ in old }
            } else {
                let file = try shell.open(inner, .read)
                result[prefix + name] = try file.read(file.size(), at: 0)
            }
        }
        return result
    }

    private func isOpen(_ known: Known) -> Bool { processes.contains { $0.known === known } }

    /// Remembers the data of every store that nobody has open.
    private func rememberContents() throws {
        for path in Self.paths {
            guard let folder = try shell.status(path)?.identity, let known = stores[folder], !isOpen(known) else {
                continue
            }
            if known.content == nil { known.content = try content(path) }
        }
    }

    /// Throws if a store has changed that nobody has open.
    private func checkUntouched() throws {
        for path in Self.paths {
            guard let folder = try shell.status(path)?.identity, let known = stores[folder], !isOpen(known),
                let before = known.content
            else { continue }
            guard try content(path) == before else {
                throw fail("the store of folder \(folder.number), at \(path), was changed, although nobody has it open")
            }
        }
    }

    /// Opens every store that is whole, at whatever path it is.
    private func checkAll() throws {
        disk.capacity = nil
        for path in Self.paths {
            guard let folder = try shell.status(path)?.identity, let known = stores[folder], !known.isBroken else {
                continue
            }
            var log = LogOptions(folder: path, access: .readWrite(waitMilliseconds: 0), verify: .everything)
            log.usesThreads = false
            let store = try Store(StoreOptions(log: log), storage: disk.newProcess(), clock: clock)
            guard store.publishedVersion >= known.acknowledged else {
                throw fail(
                    "at the end \(path) is at version \(store.publishedVersion), but \(known.acknowledged) was acknowledged"
                )
            }
            try store.compact()
            try store.close()
        }
    }
}
