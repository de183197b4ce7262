import FirnStorage

/// Another process that has the store open (or another opener in this one), as described by its slot of the shared
/// page.
package struct OtherProcess: Sendable, Equatable {
    package var processID: Int32
    /// When it opened the store, in nanoseconds since 1970. Distinguishes processes that had the same process id.
    package var openedAt: Int64
    /// The version up to which it has read the log. It needs the versions after that one. 0 while the process is
    /// opening the store. The greatest number if the process reads no further: it has opened the store read-only, has
    /// failed, or has ceased reading (`Log.ceaseReading`).
    package var version: UInt64
    /// The oldest version that something in it holds.
    package var oldestVersion: UInt64
    /// How many versions are active in it: its newest version, and the versions that something holds.
    package var activeVersionCount: Int
    /// The bytes of memory that the held versions retain besides its newest. It may be 0 if no process has asked for
    /// it.
    package var retainedByteCount: Int
    /// Whether it writes out held versions if another opener asks for that (`.spill`), so that they no longer count.
    package var writesOut = false
    /// The history retention that it asks for.
    var retention: RetentionWord

    /// How many versions it holds besides its newest.
    package var heldVersionCount: Int { max(activeVersionCount - 1, 0) }
}

/// What all other openers hold together.
package struct HeldByOthers: Sendable {
    /// The versions besides each process's newest. A version that two processes hold counts twice, because it takes
    /// memory in each.
    package private(set) var versionCount = 0
    package private(set) var byteCount = 0

    package init() {}

    package init(_ processes: [OtherProcess]) {
        for process in processes { add(process.heldVersionCount, process.retainedByteCount) }
    }

    mutating func add(_ versions: Int, _ bytes: Int) {
        versionCount += versions
        byteCount += bytes
    }
}

/// What the owner of a slot asks of the other openers, and what it does if they ask.
struct SlotFlags: OptionSet {
    var rawValue: UInt64
    /// The owner asks the other openers how many bytes they retain.
    static let asksForBytes = SlotFlags(rawValue: 1)
    /// The owner writes out what it holds if another opener asks for it.
    static let writesOut = SlotFlags(rawValue: 2)
    /// The owner asks the other openers to write out what they hold, because its own write waits for that.
    static let asksForWritingOut = SlotFlags(rawValue: 4)
}

/// The slots of the shared page: one per opener, at byte 256 + 64 n. The owner of slot n holds byte 64 + n of the file
/// `lock`. So a slot is free as soon as its owner has died, whatever its words say.
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
///        │ flags                 │ retention             │
///     64 └───────────────────────┴───────────────────────┘
/// ```
///
/// **flags** (`SlotFlags`) are what the owner asks of the others, and what it does if they ask. Counting retained bytes
/// takes a while. So an opener counts them only if another opener asks, because that one limits them.
///
/// Only the slot's owner writes its words, each of them in one piece (atomically). A reader of several words gets
/// values of about the same moment, which suffices.
extension SharedPage {
    static let slotsStart = 256
    static let slotByteCount = 64
    /// More versions and bytes than a process can hold. Greater numbers in a page are replaced by this one.
    private static let heldLimit: UInt64 = 1 << 48

    private func offset(_ slot: Int) -> Int { Self.slotsStart + slot * Self.slotByteCount }

    /// Takes a free slot; nil if there is none. The new slot says that nothing was read yet.
    func takeSlot(_ locks: StoreLocks, processID: Int32, now: Int64) throws(LogError) -> Int? {
        guard isWritable else { return nil }
        for slot in 0..<LogLimits.openerCount where try locks.tryLockSlot(slot) {
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

    /// Sets or clears flags in a slot. Any thread of its owner may call this. Others may check the flags only when they
    /// are woken (`wakeAll`).
    func setFlags(_ slot: Int, flags: SlotFlags, isSet: Bool = true) {
        let word = SharedLongWord(address(offset(slot) + Self.flagsOffset))
        var seen = word.load()
        while true {
            let wanted = isSet ? seen | flags.rawValue : seen & ~flags.rawValue
            let result = word.compareExchange(expected: seen, desired: wanted)
            if result.exchanged { return }
            seen = result.original
        }
    }

    private static let flagsOffset = 48

    private func flags(_ slot: Int) -> SlotFlags { SlotFlags(rawValue: load(offset(slot) + Self.flagsOffset)) }

    /// Whether an opener other than `own` has a flag set. Costs one load if there never was another opener.
    ///
    /// The flags of a process that was killed stay set until another opener gets its slot.
    ///
    /// - Parameter locks: if given, only living openers count; this costs a system call for each with that flag.
    func isAnySet(_ flag: SlotFlags, but own: Int?, _ locks: StoreLocks? = nil) -> Bool {
        (0..<slotExtent).contains { slot in
            slot != own && load(offset(slot)) != 0 && flags(slot).contains(flag)
                && (locks.map { isTaken(slot, $0) } ?? true)
        }
    }

    /// What all other living openers hold. Costs one load if there never was another opener, and a system call for
    /// each one that holds anything.
    func heldByOthers(_ locks: StoreLocks, but own: Int?) -> HeldByOthers {
        var result = HeldByOthers()
        for slot in 0..<slotExtent where slot != own && load(offset(slot)) != 0 {
            let versions = max(heldCount(slot, 32) - 1, 0)
            let bytes = heldCount(slot, 40)
            if versions > 0 || bytes > 0, isTaken(slot, locks) { result.add(versions, bytes) }
        }
        return result
    }

    private func heldCount(_ slot: Int, _ word: Int) -> Int { Int(min(load(offset(slot) + word), Self.heldLimit)) }

    /// If the lock can't be checked, the slot counts as taken, which does no harm.
    private func isTaken(_ slot: Int, _ locks: StoreLocks) -> Bool { (try? locks.isSlotLocked(slot)) ?? true }

    /// What the slots of all other living openers say.
    func others(_ locks: StoreLocks, but own: Int?) -> [OtherProcess] {
        (0..<slotExtent).compactMap { slot in
            let start = offset(slot)
            let process = load(start)
            guard slot != own, process != 0, isTaken(slot, locks) else { return nil }
            return OtherProcess(
                processID: Int32(truncatingIfNeeded: process), openedAt: Int64(bitPattern: load(start + 8)),
                version: load(start + 16), oldestVersion: load(start + 24),
                activeVersionCount: heldCount(slot, 32), retainedByteCount: heldCount(slot, 40),
                writesOut: flags(slot).contains(.writesOut), retention: RetentionWord(raw: load(start + 56)))
        }
    }
}
