import FirnStorage
import Synchronization

/// A disk that can lose its power, with the page cache above it and the processes that use it.
///
///     process 1 ─┐                     ┌─ sync ──▶ durable bytes and names
///     process 2 ─┴─▶ page cache ───────┤
///                    (what reads show) └─ power cut ──▶ durable + what the seed picks of the rest, sector by sector
///
/// It models the following:
/// - Writes that are not synced may be dropped, torn between sectors of 512 bytes, and reordered.
/// - The length may be durable without the data, and the data without the length.
/// - Names that are created, renamed or removed may be lost until their folder is synced, in any order. A rename may
///   be durable before the data.
/// - After a failed sync, reads show bytes that no later sync will save.
/// - Any call can fail, fill the disk, or be the last one that its process makes.
/// - A killed process loses its locks and handles and nothing else.
///
/// `DiskTraits` makes it worse: sectors are garbage after a power cut, and punched holes have their old bytes again.
/// `SimulatedDisk+Media` damages bytes at rest: stale and misdirected sectors.
///
/// It does not model a file system that loses or mixes up whole files, a disk that reports a sync that it has not
/// done (except for single sectors, see `makeStale`), lack of memory, and signals.
///
/// Everything depends on the seed and the order of the calls only. One lock guards the whole disk.
public final class SimulatedDisk: Sendable, CustomStringConvertible {
    /// Which changes survive a power cut, of those that nothing has made durable.
    public enum Survival: Sendable {
        /// The seed decides, in one of many mixtures.
        case seeded
        /// Each sector and each name survives with these probabilities.
        case probability(data: Double, names: Double)

        public static let nothing = Survival.probability(data: 0, names: 0)
        public static let everything = Survival.probability(data: 1, names: 1)
    }

    /// Names that have changed in one step and are not durable yet.
    struct NameChange {
        var set: (folder: SimulatedNode, name: String)?
        var clear: (folder: SimulatedNode, name: String)?
        var node: SimulatedNode
        /// The folders that must be synced before the change is durable.
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
        /// The newest inode; the root's number is 1.
        var lastIdentity: FileIdentity

        mutating func newNode(isFolder: Bool, _ traits: DiskTraits) -> SimulatedNode {
            lastIdentity.number += 1
            return SimulatedNode(isFolder: isFolder, traits, lastIdentity)
        }

        /// The volume with the space that is left.
        var currentVolume: Volume {
            var volume = self.volume
            if let capacity { volume.availableByteCount = max(0, capacity - used) }
            return volume
        }

        /// Records that `node` has lost its last name.
        mutating func unlink(_ node: SimulatedNode) {
            used -= node.allocated
            node.isLinked = false
        }
    }

    /// A disk's seed and its last calls. The text is made only when it is needed.
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

    private static let lastDevice = Atomic<UInt64>(0)

    public let seed: UInt64
    public let traits: DiskTraits
    private let survival: Survival?
    // The last few stories of this disk before its power cuts.
    private let earlier: [Story]
    let guarded: Guarded<State>

    /// - Parameter capacity: how many bytes the files may have together; nil for no limit.
    public convenience init(seed: UInt64, capacity: Int? = nil, traits: DiskTraits = DiskTraits()) {
        self.init(seed: seed, capacity: capacity, traits: traits, earlier: [])
    }

    init(seed: UInt64, capacity: Int?, traits: DiskTraits, survival: Survival? = nil, earlier: [Story]) {
        precondition(traits.sectorSize == 512 || traits.sectorSize == 4096, "a sector has 512 or 4096 bytes")
        self.seed = seed
        self.traits = traits
        self.survival = survival
        self.earlier = earlier
        // No other disk of this process has the number. No call, and so no trace, depends on it.
        let root = FileIdentity(device: Self.lastDevice.add(1, ordering: .relaxed).newValue, number: 1)
        guarded = Guarded(
            .unranked,
            State(
                tree: NameTree(root: SimulatedNode(isFolder: true, traits, root)), capacity: capacity,
                chance: Chance(seed: seed), lastIdentity: root))
    }

    /// A new process that uses the disk. The first has the number 1.
    public func newProcess() -> SimulatedStorage {
        guarded.withLock { state in
            let process = SimulatedStorage.Process(number: state.processes.count + 1)
            state.processes.append(process)
            return SimulatedStorage(self, process)
        }
    }

    /// Stops a process as SIGKILL does: its locks and handles are released, and what it has written stays in the page
    /// cache.
    public func kill(_ storage: SimulatedStorage) {
        guarded.withLock { _ in storage.process.stop() }
    }

    /// How many bytes the files may have together; nil for no limit.
    public var capacity: Int? {
        get { guarded.withLock { $0.capacity } }
        set { guarded.withLock { $0.capacity = newValue } }
    }

    /// Whether its file system can punch holes.
    public var canDeallocate: Bool {
        get { guarded.withLock { $0.canDeallocate } }
        set { guarded.withLock { $0.canDeallocate = newValue } }
    }

    /// How many bytes the files have together, without holes.
    public var usedByteCount: Int { guarded.withLock { $0.used } }

    /// What `volume(of:)` returns. If the disk has a capacity, its free space is filled in.
    public var volume: Volume {
        get { guarded.withLock { $0.volume } }
        set { guarded.withLock { $0.volume = newValue } }
    }

    /// All calls of all processes since the beginning or `clearTrace`, in order.
    public var ioTrace: [SimulatedCall] { guarded.withLock { $0.trace } }

    public func clearTrace() {
        guarded.withLock { $0.trace.removeAll(keepingCapacity: true) }
    }

    /// Removes old calls once the trace is long, for runs that make millions.
    public func clearTraceIfLong() {
        guarded.withLock { if $0.trace.count > 4000 { $0.trace.removeFirst(3900) } }
    }

    /// A hash of every call since the beginning, including cleared ones.
    ///
    /// Two runs that made the same calls have the same hash, in every process and on every machine. Names of scratch
    /// files are left out, because they are never the same twice.
    public var traceHash: UInt64 { guarded.withLock { $0.traceHash.value } }

    /// How many calls of one kind the trace has, for all paths or for those that end in `suffix`.
    public func count(_ operation: SimulatedCall.Operation, suffix: String = "") -> Int {
        guarded.withLock { state in
            state.trace.reduce(into: 0) { count, call in
                if call.operation == operation, suffix.isEmpty || call.path.hasSuffix(suffix) { count += 1 }
            }
        }
    }

    /// The seed and the last calls: what is needed to reproduce a failure.
    public var description: String {
        guarded.withLock { state in
            (earlier + [story(state)]).map(\.description).joined(separator: "\n-- power cut --\n")
        }
    }

    func story(_ state: borrowing State) -> Story {
        Story(seed: seed, survival: survival, callCount: state.trace.count, tail: Array(state.trace.suffix(40)))
    }

    /// The last three stories: those from before its power cuts, and its own.
    func stories(_ state: borrowing State) -> [Story] {
        Array((earlier + [story(state)]).suffix(3))
    }
}
