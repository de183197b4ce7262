import FirnStorage
import Synchronization

/// Memory for the nodes of a transaction that has become too large for the heap: a scratch file, mapped. The system writes its pages out when memory is short and reads
/// them back when they are touched, so that a transaction may be larger than memory.
///
/// ```
///  0                 16
/// ┌─────────────────┬──────────────────┬─────────────────┬──────────────────┬──
/// │ arena │ 0       │ node             │ arena │ 0       │ node             │ …
/// └─────────────────┴──────────────────┴─────────────────┴──────────────────┴──
/// ```
///
/// Chunks and blobs lie in arenas of their own: they are nearly all of the bytes, mostly written once and read in order. The few others (leaves, indexes, inner nodes) are touched again and again in no order, and
/// would each bring their neighbours back from the disk.
///
/// The file's name is removed as soon as it is mapped, so nothing is left of it whatever happens to the process. A node in an arena bears `Node.spilledBit` in its kind; the word before it
/// names the arena. `used` belongs to the transaction's thread; `holders` counts the nodes alive and the writer itself, and whoever takes it to 0 lets the mapping go.
final class SpillArena: @unchecked Sendable {
    static let byteCount = 64 << 20

    /// What an arena is for.
    enum Content {
        /// Chunks and blobs.
        case values
        /// All other nodes.
        case structure
    }

    private let memory: any SharedMemory
    private var used = 0
    private let holders = Atomic<Int>(1)

    private init(_ memory: any SharedMemory) { self.memory = memory }

    /// An arena that lives until `seal` was called and its last node is free.
    static func make(_ place: SpillPlace, _ content: Content) throws(StorageError) -> SpillArena {
        let path = place.nextPath()
        let memory = try place.storage.sharedMemory(path, byteCount: byteCount)
        do throws(StorageError) { try place.storage.remove(path) } catch  where error.code == .notFound {
            // Another process took it for one that was left behind.
        }
        if content == .structure { memory.willBeTouchedAtRandom() }
        let arena = SpillArena(memory)
        _ = Unmanaged.passRetained(arena)
        return arena
    }

    /// Memory for a node, or nil where the arena is full.
    func allocate(byteCount: Int) -> UnsafeMutableRawPointer? {
        guard let base = memory.bytes.baseAddress, used + 16 + byteCount <= SpillArena.byteCount else { return nil }
        let place = base + used
        place.storeBytes(of: UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()), as: UInt.self)
        used += 16 + byteCount
        holders.wrappingAdd(1, ordering: .relaxed)
        return place + 16
    }

    /// The writer makes no more nodes here.
    func seal() { release() }

    private func release() {
        if holders.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
            Unmanaged.passUnretained(self).release()
        }
    }

    /// A node of some arena is free.
    static func free(_ node: Node) {
        let word = (node.address - 16).load(as: UInt.self)
        guard let pointer = UnsafeRawPointer(bitPattern: word) else {
            preconditionFailure("Firn: a spilled node without its arena")
        }
        Unmanaged<SpillArena>.fromOpaque(pointer).takeUnretainedValue().release()
    }
}

/// The arenas that are being filled; from one transaction to the next, so that small ones share them.
struct SpillArenas {
    var values: SpillArena?
    var structure: SpillArena?

    mutating func seal() {
        values?.seal()
        structure?.seal()
        self = SpillArenas()
    }
}

/// Where a store's transactions spill to, and when.
final class SpillPlace: Sendable {
    let storage: any Storage
    let folder: String
    /// Bytes of nodes on the heap, in all, beyond which a transaction spills.
    let threshold: Int
    private static let count = Atomic<Int>(0)

    init(storage: any Storage, folder: String, threshold: Int) {
        self.storage = storage
        self.folder = folder
        self.threshold = threshold
    }

    /// A name that no other process, and no other store of this one, gives out.
    func nextPath() -> String {
        let number = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
        return "\(folder)/scratch.\(currentProcessID()).\(number)"
    }

    /// Removes what a process that died between making a scratch file and removing its name has left.
    func removeLeftovers() throws(StorageError) {
        for name in try storage.list(folder) where name.hasPrefix("scratch.") {
            try storage.remove("\(folder)/\(name)")
        }
    }
}
