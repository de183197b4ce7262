import FirnStorage

/// Another process that has the store open (or another opener in this one), as its slot of the shared page tells.
public struct OtherProcess: Sendable, Equatable {
    public var processID: Int32
    /// When it opened the store, in nanoseconds since 1970: tells processes apart that had the same number.
    public var openedAt: Int64
    /// The version up to which it has read the log: it needs what comes behind. 0 where it is just opening the store,
    /// and the greatest number where it reads no further, as one that has opened the store to read it.
    public var version: UInt64
    /// The oldest version that something in it holds.
    public var oldestVersion: UInt64
    /// How many versions are active in it: its newest, and those that something holds.
    public var activeVersionCount: Int
    /// Bytes of memory that the held ones retain beyond its newest, where some process has asked for that.
    public var retainedByteCount: Int
    /// What of the past it retains.
    var retention: RetentionWord

    /// Versions that it holds besides its newest.
    public var heldVersionCount: Int { max(activeVersionCount - 1, 0) }
}

/// What other processes hold, together.
public struct HeldByOthers: Sendable {
    /// Versions besides each one's newest. One that two processes hold counts in each, as it takes memory in each.
    public private(set) var versionCount = 0
    public private(set) var byteCount = 0

    public init() {}

    public init(_ processes: [OtherProcess]) {
        for process in processes { add(process.heldVersionCount, process.retainedByteCount) }
    }

    mutating func add(_ versions: Int, _ bytes: Int) {
        versionCount += versions
        byteCount += bytes
    }
}

/// The slots of the shared page: one per opener, at byte 256 + 64 n. Its owner holds byte 64 + n of the file `lock`, so that a slot is free as soon as its owner has died,
/// whatever it says.
///
/// ```
/// byte   0                       8                       16
///        ┌───────────────────────┬───────────────────────┐
///        │ process id (0: free)  │ opened, ns since 1970 │
///     16 ├───────────────────────┼───────────────────────┤
///        │ version read up to    │ oldest active version │
///     32 ├───────────────────────┼───────────────────────┤
///        │ active versions       │ bytes they retain     │
///     48 ├───────────────────────┼───────────────────────┤
///        │ 1: asks for bytes     │ retention             │
///     64 └───────────────────────┴───────────────────────┘
/// ```
///
/// Counting retained bytes takes a while, so it is done only where another opener asks for it: one that limits them.
///
/// Each word is written by the slot's owner alone, in one piece; who reads several gets them from about the same moment, which is all that is asked of them.
extension SharedPage {
    static let slotsStart = 256
    static let slotByteCount = 64
    static let slotCount = (byteCount - slotsStart) / slotByteCount
    /// More than a process has versions, and bytes: a page that tells of more is not believed.
    private static let mostHeld: UInt64 = 1 << 48

    private func offset(_ slot: Int) -> Int { Self.slotsStart + slot * Self.slotByteCount }

    /// Takes a free slot; nil where there is none. It says that nothing was read yet.
    func takeSlot(_ locks: StoreLocks, processID: Int32, now: Int64) throws(LogError) -> Int? {
        guard isWritable else { return nil }
        for slot in 0..<Self.slotCount where try locks.tryLockSlot(slot) {
            let start = offset(slot)
            store(0, start)
            store(UInt64(bitPattern: now), start + 8)
            for word in stride(from: 16, to: Self.slotByteCount, by: 8) { store(0, start + word) }
            store(UInt64(UInt32(bitPattern: processID)), start)
            raiseSlotExtent(to: UInt64(slot) + 1)
            return slot
        }
        return nil
    }

    func freeSlot(_ slot: Int) { store(0, offset(slot)) }

    func setSlot(_ slot: Int, version: UInt64, oldest: UInt64, activeCount: Int, retainedByteCount: Int) {
        let start = offset(slot)
        store(version, start + 16)
        store(oldest, start + 24)
        store(UInt64(activeCount), start + 32)
        store(UInt64(retainedByteCount), start + 40)
    }

    func setRetention(_ slot: Int, _ retention: RetentionWord) { store(retention.raw, offset(slot) + 56) }

    /// Asks the others for the bytes that they retain, from now on. `wakeAll` tells them.
    func askForBytes(_ slot: Int) { store(1, offset(slot) + 48) }

    /// Whether an opener beside `own` wants to know the bytes. A load where there was never another.
    func isAskedForBytes(but own: Int?) -> Bool {
        (0..<slotExtent).contains { $0 != own && load(offset($0)) != 0 && load(offset($0) + 48) != 0 }
    }

    /// What those who live hold, but for one's own. A load where there was never another; a system call for each who holds anything.
    func heldByOthers(_ locks: StoreLocks, but own: Int?) -> HeldByOthers {
        var result = HeldByOthers()
        for slot in 0..<slotExtent where slot != own && load(offset(slot)) != 0 {
            let versions = max(heldCount(slot, 32) - 1, 0)
            let bytes = heldCount(slot, 40)
            if versions > 0 || bytes > 0, isTaken(slot, locks) { result.add(versions, bytes) }
        }
        return result
    }

    private func heldCount(_ slot: Int, _ word: Int) -> Int { Int(min(load(offset(slot) + word), Self.mostHeld)) }

    /// Where the lock can't be asked, the slot counts as taken: that harms nobody.
    private func isTaken(_ slot: Int, _ locks: StoreLocks) -> Bool { (try? locks.isSlotLocked(slot)) ?? true }

    /// What the slots of those who live say, but for one's own.
    func others(_ locks: StoreLocks, but own: Int?) -> [OtherProcess] {
        (0..<slotExtent).compactMap { slot in
            let start = offset(slot)
            let process = load(start)
            guard slot != own, process != 0, isTaken(slot, locks) else { return nil }
            return OtherProcess(
                processID: Int32(truncatingIfNeeded: process), openedAt: Int64(bitPattern: load(start + 8)),
                version: load(start + 16), oldestVersion: load(start + 24),
                activeVersionCount: heldCount(slot, 32), retainedByteCount: heldCount(slot, 40),
                retention: RetentionWord(raw: load(start + 56)))
        }
    }
}
