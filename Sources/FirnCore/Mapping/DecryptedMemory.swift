import CFirn
import FirnLog
import FirnStorage
import Synchronization

/// Bounds the memory for what a store has decrypted of its checkpoints.
///
/// It has two parts:
///
/// - **Kept** nodes are decrypted once and lie in their mapping until that is released. So reading them again costs as
///   much as in a store without encryption. They may take half of the limit. Nodes that refer to others are always
///   kept, and do not count.
/// - The **blocks** that were decrypted last may take the other half. Whoever reads a node that is not kept copies it
///   from its block into memory of the reading thread (`ScratchNode`).
///
/// Blocks are replaced in the order of a clock (Corbató 1968). A hand goes round and clears the mark of each block that
/// was used since it last came by. It replaces the first block without a mark.
///
/// All stores of one `Store` share the memory: it and its past versions. `lock` guards the blocks. A block is decrypted
/// outside of it, so two threads may decrypt the same one at once; the first one to finish enters it.
final class DecryptedMemory: @unchecked Sendable {
    /// The number of bytes of a block.
    static let blockByteCount = CheckpointFileReader.encryptedUnitByteCount
    /// The blocks that lie in one piece of memory.
    private static let pieceCount = 64
    /// The number of blocks as long as all that is read can be kept, and the least number. The nodes of a block are
    /// mostly read one after the other.
    private static let leastCount = pieceCount

    /// The most bytes of nodes that are kept.
    private let keptLimit: Int
    /// The most blocks.
    private let blockLimit: Int
    private let kept = Atomic<Int>(0)
    /// Whether a node was not kept, because that would have passed the limit.
    private let isFull = Atomic<Bool>(false)

    private struct Key: Hashable {
        let file: UInt64
        let block: Int
    }

    private let lock = Lock(.innermost)
    private var pieces: [ReservedMemory] = []
    /// The block in each slot; nil if the slot is free.
    private var keys: [Key?] = []
    private var isUsed: [Bool] = []
    private var slots: [Key: Int] = [:]
    private var hand = 0
    private var lastFile: UInt64 = 0

    /// - Parameter limit: the most bytes; nil for no limit. About 1 MiB is the least.
    init(limit: Int?) {
        #if DEBUG
            let limit = TestedMemory.isScarce ? 0 : limit
        #endif
        keptLimit = limit.map { $0 / 2 } ?? .max
        blockLimit = max((limit ?? 0) / 2 / Self.blockByteCount, Self.leastCount)
    }

    // MARK: Kept nodes

    /// Counts `byteCount` more bytes of nodes that are kept. Returns false, and counts nothing, if that would pass the
    /// limit.
    func keep(_ byteCount: Int) -> Bool {
        guard kept.wrappingAdd(byteCount, ordering: .relaxed).newValue > keptLimit else { return true }
        kept.wrappingSubtract(byteCount, ordering: .relaxed)
        isFull.store(true, ordering: .relaxed)
        return false
    }

    /// Subtracts the bytes of kept nodes whose files were removed from their mapping.
    func release(_ byteCount: Int) {
        guard byteCount > 0 else { return }
        kept.wrappingSubtract(byteCount, ordering: .relaxed)
        isFull.store(false, ordering: .relaxed)
    }

    /// The number of bytes of nodes that are kept.
    var keptByteCount: Int { kept.load(ordering: .relaxed) }

    /// The number of bytes of the memory for blocks.
    var blockByteCount: Int { lock.withLock { pieces.count * Self.pieceCount * Self.blockByteCount } }

    // MARK: Blocks

    /// Returns a number for a file that begins to be read.
    func beginFile() -> UInt64 {
        lock.withLock {
            lastFile += 1
            return lastFile
        }
    }

    /// Frees the slots of a file's blocks.
    func endFile(_ file: UInt64) {
        lock.withLock {
            for slot in keys.indices where keys[slot]?.file == file {
                if let key = keys[slot] { slots[key] = nil }
                keys[slot] = nil
                isUsed[slot] = false
            }
        }
    }

    /// Copies a range of a block to `target`. Decrypts the block first, unless it was among the last ones.
    ///
    /// - Parameters:
    ///   - range: the range within the block.
    ///   - byteCount: the number of bytes of the block, which is less than `blockByteCount` for a file's last one.
    func copy(
        _ range: Range<Int>, of block: Int, _ byteCount: Int, in file: CheckpointFileReader, number: UInt64,
        to target: UnsafeMutableRawPointer
    ) throws(LogError) {
        let key = Key(file: number, block: block)
        if copy(range, of: key, to: target) { return }
        var failure: LogError?
        withUnsafeTemporaryAllocation(byteCount: Self.blockByteCount, alignment: 16) { memory in
            let text = UnsafeMutableRawBufferPointer(rebasing: memory[..<byteCount])
            do throws(LogError) { try file.read(unit: block, into: text) } catch {
                failure = error
                return
            }
            target.copyMemory(from: text.baseAddress.unsafelyUnwrapped + range.lowerBound, byteCount: range.count)
            enter(UnsafeRawBufferPointer(text), as: key)
        }
        if let failure { throw failure }
    }

    private func copy(_ range: Range<Int>, of key: Key, to target: UnsafeMutableRawPointer) -> Bool {
        lock.withLock {
            guard let slot = slots[key] else { return false }
            isUsed[slot] = true
            target.copyMemory(from: memory(slot) + range.lowerBound, byteCount: range.count)
            return true
        }
    }

    /// Enters a block that was decrypted. If there is no memory for it, it is not entered.
    private func enter(_ text: UnsafeRawBufferPointer, as key: Key) {
        lock.lock()
        defer { lock.unlock() }
        guard slots[key] == nil, let slot = freeSlot() else { return }
        memory(slot).copyMemory(from: text.baseAddress.unsafelyUnwrapped, byteCount: text.count)
        keys[slot] = key
        slots[key] = slot
    }

    private func memory(_ slot: Int) -> UnsafeMutableRawPointer {
        pieces[slot / Self.pieceCount].base + slot % Self.pieceCount * Self.blockByteCount
    }

    /// Returns a slot for a block, which may have been another one's. The lock is held.
    private func freeSlot() -> Int? {
        lock.assertHeld()
        let limit = isFull.load(ordering: .relaxed) ? blockLimit : Self.leastCount
        if keys.count < limit {
            let slot = keys.count
            guard slot < pieces.count * Self.pieceCount || addPiece() else { return replacedSlot() }
            keys.append(nil)
            isUsed.append(false)
            return slot
        }
        return replacedSlot()
    }

    private func replacedSlot() -> Int? {
        guard !keys.isEmpty else { return nil }
        while true {
            let slot = hand
            hand = (hand + 1) % keys.count
            if isUsed[slot] {
                isUsed[slot] = false
                continue
            }
            if let key = keys[slot] { slots[key] = nil }
            keys[slot] = nil
            return slot
        }
    }

    /// Adds memory for more blocks. Returns false if there is none.
    private func addPiece() -> Bool {
        let byteCount = Self.pieceCount * Self.blockByteCount
        do throws(StorageError) {
            let piece = try ReservedMemory(byteCount: byteCount, alignment: ReservedMemory.alignment)
            try piece.fill(length: byteCount, at: 0)
            // What is decrypted is on no disk, and a core dump must not bring it there.
            firn_exclude_from_dumps(piece.base, byteCount)
            pieces.append(piece)
            return true
        } catch {
            // Without memory for more blocks, blocks are replaced earlier, and reading is slower.
            return false
        }
    }
}

#if DEBUG
    /// What the tests change if the environment has `FIRN_TEST_MEMORY`, to notice the use of a copy that is gone.
    ///
    /// Stores compact themselves all the time, nothing that is decrypted is kept, and threads have as few copies of
    /// nodes as possible.
    enum TestedMemory {
        static let isScarce: Bool = {
            guard hasEnvironmentVariable("FIRN_TEST_MEMORY") else { return false }
            firn_scratch_set_test_count(3)
            return true
        }()
    }
#endif
