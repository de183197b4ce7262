import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport

/// A seeded run of a whole system: up to three simulated processes use one store on one simulated disk.
///
/// They make the calls that a program makes, while processes are killed, the power fails, calls fail, the disk fills
/// up and clocks are set. After each step the store must agree with an oracle of plain dictionaries (`Ledger`):
///
/// - After a power cut, every commit that was acknowledged with `.full` is present. With `.relaxed` and `.none`, the
///   commits that are present are the first ones without a gap, and each is complete.
/// - After the end of a process, every commit is present that was acknowledged or that any process saw.
/// - A held version, and one opened from history, has not changed.
/// - The past is retained for as long as it is to be, by the time that really passes, whatever the clocks say; and at
///   the end no longer than that.
/// - Nothing is reported as damaged, and no call fails without a cause that the run itself has given.
///
/// Everything depends on the seed: there is one thread, and with `LogOptions.usesThreads` off, stores have no threads
/// of their own. A process may be **suspended**, as by SIGSTOP, at a call of the storage. Then other processes take
/// complete steps before it continues, so processes are interleaved at each of their calls. A process may also end
/// between two stores to the shared page. Now and then two processes end one after the other, the second while it
/// opens the store, and then the power fails (`endTwoProcesses`). All processes have the same number, as in containers.
///
/// The following is not simulated: threads within a process (see `ThreadedRun`), faults when a getter first reads
/// from a checkpoint (the disk can be mapped, and mappings never fail once they are made), lack of memory, and what
/// `SimulatedDisk` leaves out.
package final class Simulation {
    package struct Options: Sendable {
        /// About how many calls of the store's API are made.
        package var operations = 20_000
        /// Whether a power cut may turn a sector that is being written into garbage, with everything that it contained.
        package var tearsSectors = false
        package var powerCuts = true
        package var faults = true
        package var crashes = true
        package var suspensions = true
        /// Called with a line of text for each step when it is taken.
        package var onStep: (@Sendable (String) -> Void)?
        /// The durability of all processes. If nil, the seed chooses one for each process.
        package var durability: Durability?

        package init() {}
    }

    package struct Report: Sendable, CustomStringConvertible {
        /// How many calls of the store's API were made.
        package var operations = 0
        package var commits = 0
        package var crashes = 0
        package var powerCuts = 0
        package var faults = 0
        package var suspensions = 0
        package var compactions = 0
        /// How often two processes ended one after the other, and then the power failed.
        package var doubleStops = 0
        /// The hash of every call of every disk and of every version seen.
        package var hash = TraceHash()

        package init() {}

        package mutating func add(_ other: Report) {
            operations += other.operations
            commits += other.commits
            crashes += other.crashes
            powerCuts += other.powerCuts
            faults += other.faults
            suspensions += other.suspensions
            compactions += other.compactions
            doubleStops += other.doubleStops
            hash.add(Int(truncatingIfNeeded: other.hash.value))
        }

        package var description: String {
            "\(operations) operations, \(commits) commits, \(compactions) checkpoints, \(powerCuts) power cuts (\(doubleStops) after two stops), \(crashes) processes ended, \(faults) calls failed, \(suspensions) suspensions, hash "
                + String(hash.value, radix: 16)
        }
    }

    package struct Failure: Error, CustomStringConvertible { package let description: String }

    let seed: UInt64
    let options: Options
    var random: SeededRandom
    var operations: RandomOperations
    var disk: SimulatedDisk
    let clock = ManualClock(now: Simulation.start)
    var ledger = Ledger()
    var processes: [SimulatedProcess] = []
    package var report = Report()
    /// 1 while other processes take steps because a process is suspended; otherwise 0.
    var depth = 0
    let retention: HistoryRetention
    /// How often the disk's capacity has changed.
    private(set) var capacityChanges = 0
    private static let start: Int64 = 1_700_000_000_000_000_000
    /// By how much the clock was ahead at least since the system was started.
    private var leastClockOffset: Int64 = 0
    /// By how much it was set ahead at most since then.
    private var greatestClockOffset: Int64 = 0
    /// What the clock, which is ahead since the system was started, is to be set to next.
    private var mendedClockOffset: Int64?
    /// What had passed when the clock may have been wrong last. A reading since then may be lost until a commit that
    /// was begun since then is durable.
    private var wrongClockAt: Int64 = 0
    /// Nanoseconds by a number of which the clock is set: seconds, hours or years.
    private let jumpUnit: Int64
    /// The last steps, for the report of a failure.
    private var recentSteps: [String] = []

    package init(seed: UInt64, _ options: Options = Options()) {
        self.seed = seed
        self.options = options
        random = SeededRandom(seed: seed)
        let isLarge = random.below(8) == 0
        operations = RandomOperations(
            seed: seed &+ 1, rowGoal: isLarge ? 100 + random.below(200) : 8 + random.below(40), splitsOften: isLarge)
        var traits = DiskTraits()
        traits.mapsPrivately = true
        traits.tearsSectors = options.tearsSectors
        traits.sectorSize = random.below(3) == 0 ? 4096 : 512
        traits.losesHolePunches = random.below(4) == 0
        disk = SimulatedDisk(seed: random.next(), traits: traits)
        disk.canDeallocate = random.below(4) != 0
        retention = [.none, .versions(12), .everything, .age(nanoseconds: 20_000_000_000)][random.below(4)]
        jumpUnit = [1_000_000_000, 3_600_000_000_000, 8_760 * 3_600_000_000_000][random.below(3)]
        for number in 0..<(1 + random.below(3)) { processes.append(SimulatedProcess(number)) }
    }

    package static func run(seed: UInt64, _ options: Options = Options()) throws -> Report {
        let simulation = Simulation(seed: seed, options)
        do {
            try simulation.run()
        } catch {
            throw Failure(
                description:
                    "seed \(seed): \(error)\n\(simulation.recentSteps.suffix(60).joined(separator: "\n"))\n\(simulation.disk)"
            )
        }
        return simulation.report
    }

    private func run() throws {
        while report.operations < options.operations { try step() }
        // Whatever has happened, the store must open and take another commit.
        try cutPower()
        try open(processes[0], isLast: true)
        try transact(processes[0])
        guard processes[0].store != nil else { throw fail("the store can't be used at the end") }
        try checkReleased(processes[0])
        try close(processes[0])
        report.hash.add(Int(truncatingIfNeeded: disk.traceHash))
    }

    /// Checks that what is older than the retention's age is released at last, whatever the clocks have done before.
    private func checkReleased(_ process: SimulatedProcess) throws {
        guard case .age(let age) = retention, let store = process.store else { return }
        clock.advance(by: 2 * age)
        try transact(process)
        try perform(process) { try store.compact() }
        let oldest = try store.storedVersions()[0].number
        guard oldest + 2 >= store.publishedVersion else {
            throw fail("version \(oldest) is still retained beside \(store.publishedVersion)")
        }
    }

    func fail(_ text: String) -> Failure { Failure(description: text) }

    func recordStep(_ text: @autoclosure () -> String) {
        let indent = String(repeating: "  ", count: depth)
        let text = indent + text()
        options.onStep?(text)
        recentSteps.append(text)
        if recentSteps.count > 2000 { recentSteps.removeFirst(1000) }
    }

    /// Passes the calls of the last step to `onStep`, and removes them from the trace.
    private func recordCalls() {
        guard let onStep = options.onStep else { return disk.clearTraceIfLong() }
        for call in disk.ioTrace { onStep("    \(call)") }
        disk.clearTrace()
    }

    // MARK: Steps

    /// Takes a step of a random process that is not in the middle of one.
    func step() throws {
        let free = processes.filter { !$0.isBusy }
        guard !free.isEmpty else { return }
        let process = free[random.below(free.count)]
        try releaseEnded()
        report.operations += 1
        if depth == 0 { recordCalls() }
        let dice = random.below(1000)
        guard process.store != nil else {
            if dice < 20, options.powerCuts, depth == 0 { return try cutPower() }
            return try open(process)
        }
        switch dice {
        case 0..<470: try transact(process)
        case 470..<520: try pin(process)
        case 520..<570: try checkPins(process)
        case 570..<620: process.dropPin(random.below(max(process.pins.count, 1)))
        case 620..<700: try follow(process)
        case 700..<740: try compact(process)
        case 740..<780: try readHistory(process)
        case 780..<800: try close(process)
        case 800..<830: passTime()
        case 830..<840: jumpClock()
        case 840..<870: try syncInBackground(process)
        case 870..<890 where options.crashes: armCrash(process)
        case 890..<896 where options.crashes: kill(process)
        case 896..<915 where options.faults: armFault(process)
        case 915..<920 where options.faults: changeCapacity()
        case 920..<926 where options.powerCuts && depth == 0: try cutPower()
        case 926..<960 where options.suspensions: armSuspension(process)
        case 960..<980 where options.powerCuts && options.crashes && depth == 0: try endTwoProcesses(process)
        default: try transact(process)
        }
    }

    /// Releases the stores of processes that have ended.
    func releaseEnded() throws {
        for process in processes where process.store != nil && process.storage.isStopped && !process.isBusy {
            end(process)
        }
    }

    func end(_ process: SimulatedProcess) {
        recordStep("process \(process.number) has ended")
        report.crashes += 1
        process.end()
    }

    private func passTime() {
        switch random.below(8) {
        case 0: clock.advance(by: Int64(random.below(5_000)) * 1_000_000)
        case 1: clock.sleep(for: Int64(random.below(5_000)) * 1_000_000)
        default: clock.advance(by: Int64(random.below(4_000_000)))
        }
    }

    /// Sets the wall clock, so that it is right, ahead or behind.
    private func jumpClock() {
        let offset = mendedClockOffset ?? Int64(random.below(48) - 24) * jumpUnit
        mendedClockOffset = nil
        setClock(offset: offset)
    }

    private func setClock(offset: Int64) {
        leastClockOffset = min(leastClockOffset, offset)
        greatestClockOffset = max(greatestClockOffset, offset)
        clock.set(now: Self.start + clock.passed + offset)
        recordStep("the clock is set to \(clock.now())")
    }

    /// Starts the system anew. What its clock says is right then, as far as Firn can know: it is not ahead of what it
    /// said at any time since the start before, when the newest reading of it may have been lost. Or it is ahead until
    /// somebody sets it. That happens before the next start at which it is ahead, and the store knows of it: two
    /// readings that agree are believed.
    private func startSystem() {
        clock.reboot(after: Int64(random.below(8)) * 1_000_000_000)
        let offset = leastClockOffset
        if mendedClockOffset != nil || greatestClockOffset > offset { wrongClockAt = clock.passed }
        let isKnown = (ledger.begunAt[ledger.durable] ?? 0) > wrongClockAt
        leastClockOffset = .max
        greatestClockOffset = .min
        mendedClockOffset = nil
        setClock(offset: offset)
        guard isKnown, random.below(4) == 0 else { return }
        mendedClockOffset = offset
        clock.jump(by: Int64(1 + random.below(48)) * jumpUnit)
        recordStep("the clock is ahead after the start")
    }

    private func changeCapacity() {
        capacityChanges += 1
        if disk.capacity != nil {
            disk.capacity = nil
        } else {
            disk.capacity = disk.usedByteCount + random.below(64 << 10)
        }
        recordStep("the disk's capacity is now \(disk.capacity.map { "\($0) bytes" } ?? "unlimited")")
    }

    // MARK: Faults

    private func armCrash(_ process: SimulatedProcess) {
        if random.below(3) == 0 {
            process.storage.crashAtAccess = process.storage.accessCount + random.below(60)
        } else {
            process.storage.crashAt = process.storage.callCount + random.below(60)
        }
        recordStep("process \(process.number) will end soon")
    }

    private func kill(_ process: SimulatedProcess) {
        recordStep("process \(process.number) is killed")
        disk.kill(process.storage)
        end(process)
    }

    private func armFault(_ process: SimulatedProcess) {
        let call = process.storage.callCount + random.below(40)
        let residue = [SimulatedFault.Residue.nothing, .some, .all][random.below(3)]
        if random.below(3) == 0 {
            process.storage.inject(SimulatedFault(.noSpace, number: 28, residue: residue, atCall: call))
        } else {
            process.storage.inject(SimulatedFault(.io, residue: residue, atCall: call))
        }
        recordStep("a call of process \(process.number) will fail")
    }

    /// Suspends the process for a while at one of its next calls.
    private func armSuspension(_ process: SimulatedProcess) {
        guard depth == 0, processes.count > 1 else { return }
        let call = process.storage.callCount + random.below(40)
        let count = 1 + random.below(4)
        let storage: SimulatedStorage = process.storage
        recordStep("process \(process.number) will be suspended soon")
        // The hook runs on this thread, which is the only one.
        nonisolated(unsafe) let simulation = self
        nonisolated(unsafe) let suspended = process
        storage.beforeEachCall { now in
            guard now.index >= call, suspended.isBusy, simulation.depth == 0 else { return }
            storage.beforeEachCall(nil)
            simulation.suspend(suspended, at: now, steps: count)
        }
    }

    private func suspend(_ process: SimulatedProcess, at call: SimulatedCall, steps: Int) {
        recordStep("process \(process.number) is suspended before \(call)")
        report.suspensions += 1
        depth += 1
        defer { depth -= 1 }
        do {
            for _ in 0..<steps { try step() }
        } catch {
            process.failure = process.failure ?? error
        }
        recordStep("process \(process.number) continues")
    }

    func cutPower(_ survival: SimulatedDisk.Survival = .seeded) throws {
        for process in processes { process.end() }
        recordCalls()
        recordStep("the power fails")
        report.hash.add(Int(truncatingIfNeeded: disk.traceHash))
        disk = disk.powerOff(survival)
        startSystem()
        disk.capacity = nil
        ledger.losePower()
        isRecovered = false
        report.powerCuts += 1
    }

    /// Whether a process that writes has opened the store since the power came back.
    var isRecovered = true
    /// Arms faults on the next process that opens the store.
    var armNextOpening: ((SimulatedStorage) -> Void)?
}
