import FirnStorage

/// A disk that can lose its power, with the page cache above it and the processes that use it.
///
///     process 1 ─┐                     ┌─ sync ──▶ durable bytes and names
///     process 2 ─┴─▶ page cache ───────┤
///                    (what reads show) └─ power cut ──▶ durable + whatever of the rest the seed picks, sector by sector
///
/// What it models: writes that are not synced may be dropped, torn between sectors of 512 bytes and reordered; the length may be there
/// without the data, and the data without the length; names that are created, renamed or removed may be lost until their folder is synced,
/// in any order, and renames may be there before the data; after a failed sync reads show bytes that no later sync will save; any call can
/// fail, fill the disk or be the last one that its process makes; a killed process loses its locks and handles and nothing else.
///
/// With `DiskTraits` it does worse: sectors that are garbage after a power cut, blocks given back that come back. `SimulatedDisk+Media` spoils what is
/// at rest: stale and misdirected sectors.
///
/// It does not model: a file system that loses or mixes up whole files, a disk that reports a sync that it has not done (but for single sectors, see `makeStale`),
/// memory that is short, and signals.
///
/// Everything follows from the seed and the order of the calls. One lock guards the whole disk.
public final class SimulatedDisk: Sendable, CustomStringConvertible {
    /// Which of the changes that nothing made durable survive a power cut.
    public enum Survival: Sendable {
        /// The seed says, in one of many mixtures.
        case seeded
        /// Each sector and each name with these probabilities.
        case probability(data: Double, names: Double)

        public static let nothing = Survival.probability(data: 0, names: 0)
        public static let everything = Survival.probability(data: 1, names: 1)
    }

    /// Names that have changed in one step and are not durable.
    struct NameChange {
        var set: (folder: SimulatedNode, name: String)?
        var clear: (folder: SimulatedNode, name: String)?
        var node: SimulatedNode
        /// The folders whose sync it waits for.
        var waitsFor: [SimulatedNode]
    }

    struct State {
        var tree: NameTree<SimulatedNode>
        var pendingNames: [NameChange] = []
        var processes: [SimulatedStorage.Process] = []
        var lastOwner = 0
        var used = 0
        var capacity: Int?
        var canDeallocate = true
        var volume = Volume(fileSystem: "simulated", isNetwork: false, availableByteCount: .max)
        var trace: [SimulatedCall] = []
        var traceHash = TraceHash()
        let chance: Chance

        /// Takes note that the last name of `node` has gone.
        mutating func unlink(_ node: SimulatedNode) {
            used -= node.allocated
            node.isLinked = false
        }
    }

    /// A disk's seed and its last calls, put into words only when somebody asks.
    struct Story: CustomStringConvertible {
        var seed: UInt64
        var survival: Survival?
        var callCount: Int
        var tail: [SimulatedCall]

        var description: String {
            let origin = survival.map { ", after a power cut, \($0)" } ?? ""
            let calls = tail.map { "\n  \($0)" }.joined()
            return "simulated disk, seed \(seed)\(origin), \(callCount) calls, the last:\(calls)"
        }
    }

    public let seed: UInt64
    public let traits: DiskTraits
    private let survival: Survival?
    // What happened to the disks that this one was before its power went, the last few.
    private let earlier: [Story]
    let guarded: Guarded<State>

    /// - Parameter capacity: how many bytes the files may have together; nil for no end.
    public convenience init(seed: UInt64, capacity: Int? = nil, traits: DiskTraits = DiskTraits()) {
        self.init(seed: seed, capacity: capacity, traits: traits, earlier: [])
    }

    init(seed: UInt64, capacity: Int?, traits: DiskTraits, survival: Survival? = nil, earlier: [Story]) {
        precondition(traits.sectorSize == 512 || traits.sectorSize == 4096, "a sector has 512 or 4096 bytes")
        self.seed = seed
        self.traits = traits
        self.survival = survival
        self.earlier = earlier
        guarded = Guarded(
            .unranked,
            State(
                tree: NameTree(root: SimulatedNode(isFolder: true, traits)), capacity: capacity,
                chance: Chance(seed: seed)))
    }

    /// A process that sees the disk. The first is 1.
    public func newProcess() -> SimulatedStorage {
        guarded.withLock { state in
            let process = SimulatedStorage.Process(number: state.processes.count + 1)
            state.processes.append(process)
            return SimulatedStorage(self, process)
        }
    }

    /// Stops a process as SIGKILL does: its locks and handles go, what it has written stays in the page cache.
    public func kill(_ storage: SimulatedStorage) {
        guarded.withLock { _ in storage.process.stop() }
    }

    /// How many bytes the files may have together; nil for no end.
    public var capacity: Int? {
        get { guarded.withLock { $0.capacity } }
        set { guarded.withLock { $0.capacity = newValue } }
    }

    /// Whether its file system can give blocks of a file back.
    public var canDeallocate: Bool {
        get { guarded.withLock { $0.canDeallocate } }
        set { guarded.withLock { $0.canDeallocate = newValue } }
    }

    /// How many bytes the files have together, holes not counted.
    public var usedByteCount: Int { guarded.withLock { $0.used } }

    /// What `volume(of:)` answers, to which the free space is added where there is a capacity.
    public var volume: Volume {
        get { guarded.withLock { $0.volume } }
        set { guarded.withLock { $0.volume = newValue } }
    }

    /// Every call of every process since the beginning or `clearTrace`, in order.
    public var ioTrace: [SimulatedCall] { guarded.withLock { $0.trace } }

    public func clearTrace() {
        guarded.withLock { $0.trace.removeAll(keepingCapacity: true) }
    }

    /// Forgets old calls now and then, for runs that make millions.
    public func clearTraceIfLong() {
        guarded.withLock { if $0.trace.count > 4000 { $0.trace.removeFirst(3900) } }
    }

    /// A hash of every call since the beginning, whatever was cleared: two runs that did the same have the same one, in every process and on every machine. Names of scratch files are left out, since
    /// they are never the same twice.
    public var traceHash: UInt64 { guarded.withLock { $0.traceHash.value } }

    /// How many calls of one kind the trace has, of all paths or of those that end in `suffix`.
    public func count(_ operation: SimulatedCall.Operation, suffix: String = "") -> Int {
        guarded.withLock { state in
            state.trace.reduce(into: 0) { count, call in
                if call.operation == operation, suffix.isEmpty || call.path.hasSuffix(suffix) { count += 1 }
            }
        }
    }

    /// The seed and the last calls: what one needs to see a failure again.
    public var description: String {
        guarded.withLock { state in
            (earlier + [story(state)]).map(\.description).joined(separator: "\n-- power cut --\n")
        }
    }

    func story(_ state: borrowing State) -> Story {
        Story(seed: seed, survival: survival, callCount: state.trace.count, tail: Array(state.trace.suffix(40)))
    }

    /// The stories of this disk's past and of itself, the last three.
    func stories(_ state: borrowing State) -> [Story] {
        Array((earlier + [story(state)]).suffix(3))
    }
}
