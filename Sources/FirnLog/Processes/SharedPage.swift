import FirnBytes
import FirnStorage

/// The page that all processes with a store open share: the file `shared`, mapped. It holds no data. If no process has
/// the store open, the next writer makes the page again.
///
/// ```
/// byte   0                       8           12          16
///        ┌───────────────────────┬───────────┬───────────┐
///        │ FIRNPAGE              │ format    │ epoch     │
///     16 ├───────────────────────┼───────────┼───────────┤
///        │ store id high         │ CRC of    │ zero      │
///        │                       │ 0 ..< 24  │           │
///     32 ├───────────────────────┼───────────┴───────────┤
///        │ durable mark, even    │ its check             │
///     48 ├───────────────────────┼───────────────────────┤
///        │ durable mark, odd     │ its check             │
///     64 ├───────────────────────┼───────────────────────┤
///        │ published version     │ failure mark          │
///     80 ├───────────┬───────────┼───────────────────────┤
///        │ wake word │ sleeping  │ manifest generation   │
///     96 ├───────────┴───────────┼───────────┬───────────┤
///        │ writer's process id   │ wanted    │ handovers │
///    112 ├───────────────────────┼───────────┴───────────┤
///        │ slots used            │ session               │
///    128 ├───────────────────────┴───────────────────────┤
///        │ how long ago frames were written              │
///        │ (SharedPage+Ages)                             │
///    240 ├───────────────────────┬───────────────────────┤
///        │ device                │ inode                 │
///    256 ├───────────────────────────────────────────────┤
///        │ 60 slots of 64 bytes, one per opener          │
///        │ (SharedPage+Slots)                            │
///   4096 └───────────────────────────────────────────────┘
/// ```
///
/// **slots used** says how many slots, from the first on, may ever have been taken; it only rises. **session** rises
/// whenever the page is made again. A reader that finds no process with the store open for writing remembers the
/// session. Until the session changes, no process maintains the page. The page may then be from before a power cut, and
/// name versions that the disk never had.
///
/// **writer's process id** identifies the process that holds the writer lock and has begun to write. It is set to 0
/// before the lock is released. So a process that gets the lock and finds an id there knows that the former holder
/// died. **wanted** is 1 if another opener waits for that lock; the opener that releases the lock clears it.
/// **handovers** counts how often the lock has passed to an opener.
///
/// **device** and **inode** identify the page's own file. A page that was copied with the store's folder has the same
/// values, which do not match its own file. So it is recognised as a copy. They are 0 if they are not known.
///
/// Each word of eight bytes is read and written in one piece (atomically). A mark's check is `mark ^ store id high
/// ^ 0x4D41524B` ("MARK"). The two marks are written alternately, mark before check, so that at least one of the
/// two pairs is consistent whenever the writer is stopped.
///
/// **Why no waiter misses a commit.** A waiter (W) reads the wake word, sets *sleeping*, and checks what is published.
/// It sleeps if the wake word is still what it read. A publisher (P) stores the version and, if *sleeping* is set,
/// clears it, then increments the wake word, then wakes all. All of this is sequentially consistent.
/// 1. If W's check misses P's version, W had set the flag before P checked it. So P found it set, or another
///    publisher had cleared it since W set it.
/// 2. Only P and publishers before it clear the flag, and each increments the wake word afterwards and before it
///    publishes anything else. W read the wake word before it set the flag, so the word changes after W read it. W
///    either does not fall asleep, or is asleep and woken.
/// 3. If the flag is cleared for another waiter, W's flag is lost, too. But then the wake word is incremented after W
///    read it, as in 2. A flag that is set although nobody waits costs the next publisher one system call. A count of
///    waiters could stay too high forever if a process dies while it waits.
/// 4. A publisher may die between these steps. The process that gets the writer lock next makes the page again, which
///    wakes all. The wake word and the flag keep their values then.
/// 5. The process that writes does not set the flag. When it stops writing, it changes its state and then wakes all
///    (`WriterLock.release`). Its own waiters read the wake word before they read that state, so they either see the
///    new state or do not fall asleep.
///
/// **Why a stale or torn page can't mislead recovery.** Recovery learns only one thing about commits from the page: the
/// durable mark. The mark is a lower bound of what was durable. The writer's process id and the failure mark only make
/// recovery more careful.
/// 1. The mark is stored only after the sync that made it true, and within one epoch what is durable stays durable. So
///    each value that the mark ever had is true forever in that epoch. A page that is too old has a mark that is too
///    low, which is as harmless as a missing page.
/// 2. After a power cut the file may hold any of the page's states, or parts of several. A pair that is consistent
///    was written as a pair, except with a chance of 2^-64 per torn pair; an inconsistent pair is ignored. A page
///    of zeros has no magic. A page of another store or epoch fails the comparison of its header, whose CRC covers
///    both, and is ignored.
/// 3. Only a mark that is too high could do harm, and the harm would be a refusal to open, never a loss. There is one
///    way to get such a mark: a store's folder is copied while it is written, the log before the page. Then the copy
///    does lack acknowledged commits, and the refusal is right. The error also says why, because the page names another
///    file than its own.
///
/// So it does not matter which boot of the system wrote the page.
final class SharedPage: @unchecked Sendable {
    // Sendable: all access goes through atomic words, except that `isValid` reads the header's bytes for their CRC.
    static let byteCount = slotsStart + LogLimits.openerCount * slotByteCount
    static let magic: UInt64 = 0x4547_4150_4E52_4946  // "FIRNPAGE"
    private static let checkSalt: UInt64 = 0x4D41_524B

    private let memory: any SharedMemory
    let storeHigh: UInt64
    /// The pair that is written next. Used by the leader of a sync, and by `prepare`.
    private var nextPair = 0

    /// Maps the page of a store, for an opener that may write.
    ///
    /// - Parameter mayCreate: whether the opener makes the page if there is none. True only for the first opener for
    ///   writing, which keeps all others out. Any other opener would make a second page beside the page in use.
    /// - Throws: `.replaced` if the opener may not make the page, and the page is missing or is a copy of another file.
    init(_ folder: StoreFolder, _ storeID: StoreID, mayCreate: Bool) throws(LogError) {
        storeHigh = storeID.high
        let path = folder.path(of: folder.shared)
        do throws(StorageError) {
            memory = try folder.root.sharedMemory(
                folder.shared.name, byteCount: Self.byteCount, mayCreate ? .create(folder.fileMode) : .writable)
        } catch {
            guard !mayCreate, error.code == .notFound else { throw LogError(error) }
            throw .replaced(path, "it is missing, although other openers have the store open")
        }
        if !mayCreate, isCopied {
            throw .replaced(path, "it is another file than the one that the openers of the store share")
        }
    }

    init(memory: any SharedMemory, storeHigh: UInt64) {
        self.memory = memory
        self.storeHigh = storeHigh
    }

    /// Maps the page for a reader, which creates nothing. If there is no page, or this user may not open it, the reader
    /// gets its own page of zeros, which is never valid.
    init(reading folder: StoreFolder, _ storeID: StoreID) throws(LogError) {
        storeHigh = storeID.high
        do throws(StorageError) {
            memory = try folder.root.sharedMemory(folder.shared.name, byteCount: Self.byteCount, .existing)
        } catch  where error.code == .notFound || error.code == .permissionDenied {
            memory = NoSharedMemory(byteCount: Self.byteCount)
        } catch {
            throw LogError(error)
        }
    }

    /// False for a reader that has no page.
    var isMapped: Bool { !(memory is NoSharedMemory) }

    /// Whether this process may write to the page: to wake others, and to take a slot.
    var isWritable: Bool { memory.isWritable }

    func address(_ offset: Int) -> UnsafeMutableRawPointer { memory.bytes.baseAddress! + offset }

    private func word(_ offset: Int) -> SharedLongWord { SharedLongWord(address(offset)) }

    func load(_ offset: Int) -> UInt64 { word(offset).load() }
    func store(_ value: UInt64, _ offset: Int) { word(offset).store(value) }

    /// True if the page is this store's, of any epoch.
    var isValid: Bool { isValid(epoch: UInt32(truncatingIfNeeded: load(8) >> 32)) }

    /// True if the page is this store's and of this epoch.
    func isValid(epoch: UInt32) -> Bool {
        let header = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory.bytes)[0..<24])
        return load(0) == Self.magic && load(8) == UInt64(LogLimits.format) | UInt64(epoch) << 32
            && load(16) == storeHigh
            && load(24) == UInt64(CRC32C.checksum(header))
    }

    /// The highest durable mark in a consistent pair; 0 if neither pair is consistent.
    var durableMark: UInt64 {
        var highest: UInt64 = 0
        for pair in [32, 48] {
            let mark = load(pair)
            guard mark <= LogLimits.number, load(pair + 8) == mark ^ storeHigh ^ Self.checkSalt else { continue }
            highest = max(highest, mark)
        }
        return highest
    }

    /// The version that readers may see: a durable one or, if the durability asks for no more, a written one.
    var published: UInt64 { min(load(64), LogLimits.number) }

    /// 0 if nothing has failed. `unsyncedName` if only the sync of the manifest's name has failed. If a write or sync
    /// of the log has failed, one more than the last version that was durable before.
    var failureMark: UInt64 { load(72) }
    /// The failure mark if the sync of the manifest's name failed, but none of the log.
    private static let unsyncedName = UInt64.max
    /// Whether a writer must not trust a sync before it has rewritten what it builds on. The failure mark counts in
    /// every epoch and in an invalid page, because the process that wrote the page may have got no further.
    var hasFailed: Bool { failureMark != 0 }
    /// Whether the log may lack commits that no durable mark covers, even if a sync of it succeeds.
    var hasLogFailed: Bool { hasFailed && failureMark != Self.unsyncedName }

    var generation: UInt64 { load(88) }

    static let identityOffset = 240
    private static let extentOffset = 112
    private static let sessionOffset = 120
    private static let wakeOffset = 80
    /// Whether a word is kept when the page is made again. The counters among these words may start anywhere, but must
    /// only rise, because other processes may have the page mapped already. The ages have a check of their own.
    private static func isKept(_ offset: Int) -> Bool {
        [wakeOffset, extentOffset, sessionOffset].contains(offset) || agesRange.contains(offset)
    }

    /// The file in which the page was last made, as the page itself says; nil if it does not say. A copy of the page
    /// still names the file that it was copied from.
    var named: FileIdentity? {
        let identity = FileIdentity(device: load(Self.identityOffset), number: load(Self.identityOffset + 8))
        return identity.number == 0 ? nil : identity
    }

    /// Whether the page is in another file than the one in which it was made. Then somebody has copied the store's
    /// folder, or its device has got another number when the system was started.
    var isCopied: Bool {
        guard let identity = memory.identity, let named else { return false }
        return named != identity
    }

    /// Whether the page was certainly copied. A device may have another number after each start of the system, but a
    /// copy has another inode.
    var isCertainlyCopied: Bool {
        guard let identity = memory.identity, let named else { return false }
        return named.number != identity.number
    }

    /// Rises whenever the page is made again.
    var session: UInt64 { load(Self.sessionOffset) }

    /// The slots from this index on are free.
    var slotExtent: Int { Int(min(load(Self.extentOffset), UInt64(LogLimits.openerCount))) }

    func raiseSlotExtent(to count: UInt64) {
        var seen = load(Self.extentOffset)
        while seen < count {
            let result = word(Self.extentOffset).compareExchange(expected: seen, desired: count)
            if result.exchanged { return }
            seen = result.original
        }
    }

    /// The process that writes; 0 if there is none.
    var writerProcess: UInt64 {
        get { load(96) }
        set { store(newValue, 96) }
    }

    /// Makes the page valid for an epoch. `fresh` is true if no other process has the store open. Then everything is
    /// cleared first, except the slots, which are already free, and the words that are kept.
    func prepare(epoch: UInt32, durable: UInt64, published: UInt64, generation: UInt64, fresh: Bool) {
        store(0, 0)  // no reader believes the page meanwhile
        if fresh {
            for offset in stride(from: 8, to: Self.slotsStart, by: 8) where !Self.isKept(offset) {
                store(0, offset)
            }
        }
        store(session &+ 1, Self.sessionOffset)
        store(UInt64(LogLimits.format) | UInt64(epoch) << 32, 8)
        store(storeHigh, 16)
        store(memory.identity?.device ?? 0, Self.identityOffset)
        store(memory.identity?.number ?? 0, Self.identityOffset + 8)
        store(0, 40)
        store(0, 56)
        store(0, 72)
        setDurable(durable)
        setDurable(durable)
        store(published, 64)
        store(generation, 88)
        var header = ByteWriter(capacity: 24)
        header.append(Self.magic)
        header.append(UInt64(LogLimits.format) | UInt64(epoch) << 32)
        header.append(storeHigh)
        store(UInt64(CRC32C.checksum(header.bytes)), 24)
        store(Self.magic, 0)
        wakeAll()
    }

    /// Called after the sync that made `mark` durable.
    func setDurable(_ mark: UInt64) {
        let pair = nextPair == 0 ? 32 : 48
        nextPair ^= 1
        store(mark, pair)
        store(mark ^ storeHigh ^ Self.checkSalt, pair + 8)
    }

    // MARK: Waiting and waking

    /// Incremented before waiters are woken; they sleep on it.
    private var wakeWord: SharedWord { SharedWord(memory.bytes.baseAddress! + Self.wakeOffset) }
    /// 1 if some process may be waiting for commits.
    private var sleeping: SharedWord { SharedWord(memory.bytes.baseAddress! + Self.wakeOffset + 4) }

    /// A ticket for `waitForWake`. The caller takes it *before* it checks whether there is anything to wait for;
    /// then `waitForWake` misses nothing.
    ///
    /// - Parameter countsCommits: whether commits wake the waiter. False for the process that writes, which avoids a
    ///   system call at each of its own commits: only `wakeAll` wakes it. Evaluated after the wake word was read. The
    ///   code that makes the value true calls `wakeAll` afterwards.
    func wakeTicket(countsCommits: @autoclosure () -> Bool) -> UInt32 {
        let ticket = wakeWord.load()
        if countsCommits(), isWritable { sleeping.store(1) }
        return ticket
    }

    /// Waits until something was published or `wakeAll` was called since the ticket was taken, for `nanoseconds` at
    /// most. May return early.
    func waitForWake(_ ticket: UInt32, nanoseconds: Int64? = nil) {
        _ = wakeWord.wait(expected: ticket, timeout: nanoseconds)
    }

    /// The nanoseconds after which a reader checks again if it can't set *sleeping*, because it may not write to
    /// the page.
    private static let pollInterval: Int64 = 5_000_000

    /// Wakes all waiters, in every process.
    func wakeAll() {
        guard isWritable else { return }
        wakeWord.add(1)
        wakeWord.wakeAll()
    }

    private var wanted: SharedWord { SharedWord(memory.bytes.baseAddress! + 104) }
    private var handoverWord: SharedWord { SharedWord(memory.bytes.baseAddress! + 108) }

    /// Whether another opener waits for the writer lock. One load, because each commit checks it.
    var isWriterWanted: Bool { wanted.load() != 0 }

    /// Asks the process that holds the writer lock to release it. If another opener has asked already, the holder is
    /// woken again only if `isUrgent`.
    func requestWriter(isUrgent: Bool) {
        if wanted.exchange(1) == 0 || isUrgent { wakeAll() }
    }

    func clearWriterRequest() { wanted.store(0) }

    /// How often the writer lock has passed to an opener.
    var handovers: UInt32 { handoverWord.load() }
    func countHandover() { handoverWord.add(1) }

    /// Waits until `isMet` returns true, for `nanoseconds` at most. `isMet` is called whenever something is published.
    func wait(nanoseconds: Int64, until isMet: () -> Bool) {
        let deadline = SystemClock.shared.monotonic() + nanoseconds
        while true {
            let ticket = wakeTicket(countsCommits: true)
            let left = deadline - SystemClock.shared.monotonic()
            if isMet() || left <= 0 { return }
            waitForWake(ticket, nanoseconds: isWritable ? left : min(left, Self.pollInterval))
        }
    }

    /// The process that writes, read from the page's file without mapping it; nil if none is known.
    static func writerProcess(_ folder: StoreFolder) -> Int32? {
        guard let file = try? folder.open(folder.shared, .read) else { return nil }
        defer { file.close() }
        var process: UInt64 = 0
        let count = withUnsafeMutableBytes(of: &process) { try? file.read(into: $0, at: 96) }
        guard count == 8, process != 0 else { return nil }
        return Int32(exactly: UInt64(littleEndian: process))
    }

    /// Costs one store and one load if nobody waits.
    func setPublished(_ version: UInt64) {
        store(version, 64)
        // The flag is cleared before the wake word is incremented: see "Why no waiter misses a commit".
        if sleeping.load() != 0, sleeping.exchange(0) != 0 { wakeAll() }
    }
    func setFailure(durable: UInt64) { store(durable &+ 1, 72) }
    /// Records that the sync failed that makes the manifest's new name durable, unless another failure is recorded.
    /// Called during recovery.
    func setUnsyncedName() { if !hasFailed { store(Self.unsyncedName, 72) } }
    func setGeneration(_ generation: UInt64) { store(generation, 88) }
}

/// The memory of a reader that can't map the store's page: zeros, which are never valid.
private final class NoSharedMemory: SharedMemory, @unchecked Sendable {
    // Sendable: nothing writes to it.
    let bytes: UnsafeMutableRawBufferPointer
    var isWritable: Bool { false }

    init(byteCount: Int) {
        bytes = .allocate(byteCount: byteCount, alignment: 64)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { bytes.deallocate() }
}
