import FirnStorage

/// Another process that has the store open (or another opener in this one), as its slot of the shared page tells.
public struct OtherProcess: Sendable, Equatable {
    public var processID: Int32
    /// When it opened the store, in nanoseconds since 1970: tells processes apart that had the same number.
    public var openedAt: Int64
    /// The version up to which it has read the log: it needs what comes behind.
    public var version: UInt64
    /// The oldest version that something in it holds.
    public var oldestVersion: UInt64
    /// How many versions are active in it, as of its last commit or refresh.
    public var activeVersionCount: Int
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
///        │ active versions       │ zero                  │
///     64 └───────────────────────┴───────────────────────┘
/// ```
///
/// Each word is written by the slot's owner alone, in one piece; who reads several gets them from about the same moment, which is all that is asked of them.
extension SharedPage {
    static let slotsStart = 256
    static let slotByteCount = 64
    static let slotCount = (byteCount - slotsStart) / slotByteCount

    private func offset(_ slot: Int) -> Int { Self.slotsStart + slot * Self.slotByteCount }

    /// Takes a free slot; nil where there is none. It says that nothing was read yet.
    func takeSlot(_ locks: StoreLocks, processID: Int32, now: Int64) throws(LogError) -> Int? {
        for slot in 0..<Self.slotCount where try locks.tryLockSlot(slot) {
            let start = offset(slot)
            store(0, start)
            store(UInt64(bitPattern: now), start + 8)
            for word in stride(from: 16, to: Self.slotByteCount, by: 8) { store(0, start + word) }
            store(UInt64(UInt32(bitPattern: processID)), start)
            return slot
        }
        return nil
    }

    func freeSlot(_ slot: Int) { store(0, offset(slot)) }

    func setSlot(_ slot: Int, version: UInt64, oldest: UInt64, activeCount: Int) {
        let start = offset(slot)
        store(version, start + 16)
        store(oldest, start + 24)
        store(UInt64(activeCount), start + 32)
    }

    /// What the slots of those who live say, but for one's own.
    func others(_ locks: StoreLocks, but own: Int?) -> [OtherProcess] {
        (0..<Self.slotCount).compactMap { slot in
            let start = offset(slot)
            let process = load(start)
            guard slot != own, process != 0 else { return nil }
            // Where the lock can't be asked, the slot counts as taken: that harms nobody.
            if (try? locks.isSlotLocked(slot)) == false { return nil }
            return OtherProcess(
                processID: Int32(truncatingIfNeeded: process), openedAt: Int64(bitPattern: load(start + 8)),
                version: load(start + 16), oldestVersion: load(start + 24),
                activeVersionCount: Int(truncatingIfNeeded: load(start + 32)))
        }
    }
}
