import FirnBytes
import FirnStorage

/// The page that the processes which have a store open share: the file `shared`, mapped. It holds no data; when nobody has the store open,
/// the next writer makes it anew.
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
///        │ writer's process id   │ wish      │ turns     │
///    112 ├───────────────────────┼───────────┴───────────┤
///        │ slots used            │ session               │
///    128 ├───────────────────────┴───────────────────────┤
///        │ zero                                          │
///    256 ├───────────────────────────────────────────────┤
///        │ 60 slots of 64 bytes, one per opener          │
///        │ (SharedPage+Slots)                            │
///   4096 └───────────────────────────────────────────────┘
/// ```
///
/// **slots used** says how many slots, from the first on, may ever have been taken; it only rises. **session** rises whenever the page is made anew. A reader who finds nobody that has the store open for
/// writing remembers it: until it has moved, nobody has looked after the page, which may be of before a power cut and tell of versions that the disk never had.
///
/// **writer's process id** is that of the process that holds the writer's lock and has begun to write; it is set to 0 before the lock is given up. So who gets the lock and finds
/// it there knows that its holder died. **wish** is 1 where somebody waits for that lock, and cleared by whoever gives it up; **turns** counts how often the lock has gone over.
///
/// Each word of eight bytes is read and written in one piece (atomically). A mark's check is `mark ^ store id high ^ 0x4D41524B` ("MARK"). The marks are written in
/// turn, mark before check, so that one of the two pairs agrees whenever the writer is stopped.
///
/// **How nobody oversleeps a commit.** Who waits (W) reads the wake word, sets *sleeping*, looks at what is published, and sleeps if the wake word is still what it read.
/// Who publishes (P) stores the version, and if *sleeping* is set, clears it, then moves the wake word, then wakes all. All of it is sequentially consistent.
/// 1. If W's look misses P's version, W had set the flag before P looked at it. So P found it set, or somebody had cleared it since W set it.
/// 2. Only P and publishers before it clear the flag, and each moves the wake word afterwards and before it publishes anything else. W read the wake word before it set the flag: so it moves
///    after W read it. W does not fall asleep any more, or is asleep and woken.
/// 3. If the flag goes down for another that waits, W's is lost only with a move of the wake word after W's reading, as in 2. A flag that is set although nobody waits costs the next
///    publisher one call of the system. A count could stay too high for ever, when a process dies while it waits.
/// 4. A publisher may die between these steps. Who gets the writer's lock after it makes the page anew, which wakes all; the wake word and the flag stay as they are then.
/// 5. The process that writes does not set the flag. When it ceases to write it wakes all, after its state says so (`WriterLock.release`): its own waiters read the wake word before they ask for that state,
///    so they see the state or don't fall asleep.
///
/// **Why a stale or torn page can't mislead recovery.** Recovery takes from it the durable mark, as a lower bound of what was durable, and nothing else.
/// 1. The mark is stored only after the sync that made it true, and what is durable stays so within one epoch. So each value it ever
///    held is true for ever in that epoch; a page that is too old understates, which is what having no page does.
/// 2. After a power cut the file may hold any of the page's states, or parts of several. A pair that agrees was written as a pair, except with a chance of 2^-64
///    per torn pair; one that does not is ignored. A page of zeros has no magic. A page of another store or epoch fails the comparison of its head, whose
///    CRC covers both, and is ignored.
/// 3. A mark that overstates would be needed to do harm, and the harm would be a refusal to open, never a loss. It can only come about by copying
///    a store's folder while it is written, the log before the page: then the copy does lack acknowledged commits, and saying so is right.
/// Hence no question of which boot wrote the page arises.
final class SharedPage: @unchecked Sendable {
    // Sendable: all access after `prepare` is by atomic words.
    static let byteCount = 4096
    static let magic: UInt64 = 0x4547_4150_4E52_4946  // "FIRNPAGE"
    private static let checkSalt: UInt64 = 0x4D41_524B

    private let memory: any SharedMemory
    let storeHigh: UInt64
    /// Which of the two pairs is written next. Guarded by the one who publishes: the leader of a sync.
    private var turn = 0

    /// Maps the page of a store, for one who may write.
    init(_ folder: StoreFolder, _ storeID: StoreID) throws(LogError) {
        memory = try stored { () throws(StorageError) in
            try folder.storage.sharedMemory(folder.shared, byteCount: Self.byteCount, .create(folder.fileMode))
        }
        storeHigh = storeID.high
    }

    /// Maps the page for a reader, who creates nothing. Where there is none, or not for this user, it is a page of its own that says nothing.
    init(reading folder: StoreFolder, _ storeID: StoreID) throws(LogError) {
        storeHigh = storeID.high
        do throws(StorageError) {
            memory = try folder.storage.sharedMemory(folder.shared, byteCount: Self.byteCount, .existing)
        } catch  where error.code == .notFound || error.code == .permissionDenied {
            memory = NoSharedMemory(byteCount: Self.byteCount)
        } catch {
            throw LogError(error)
        }
    }

    /// False for a reader who has no page.
    var isThere: Bool { !(memory is NoSharedMemory) }

    /// Whether this process may write to it: to wake others, and to take a slot.
    var isWritable: Bool { memory.isWritable }

    private func word(_ offset: Int) -> SharedLongWord { SharedLongWord(memory.bytes.baseAddress! + offset) }

    func load(_ offset: Int) -> UInt64 { word(offset).load() }
    func store(_ value: UInt64, _ offset: Int) { word(offset).store(value) }

    /// True where the page is this store's, of whatever epoch.
    var isValid: Bool { isValid(epoch: UInt32(truncatingIfNeeded: load(8) >> 32)) }

    /// True where the page is this store's and of this epoch.
    func isValid(epoch: UInt32) -> Bool {
        let head = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory.bytes)[0..<24])
        return load(0) == Self.magic && load(8) == UInt64(LogLimits.format) | UInt64(epoch) << 32
            && load(16) == storeHigh
            && load(24) == UInt64(CRC32C.checksum(head))
    }

    /// The highest durable mark that a pair which agrees holds; 0 where none does.
    var durableMark: UInt64 {
        var highest: UInt64 = 0
        for pair in [32, 48] {
            let mark = load(pair)
            guard mark <= LogLimits.number, load(pair + 8) == mark ^ storeHigh ^ Self.checkSalt else { continue }
            highest = max(highest, mark)
        }
        return highest
    }

    /// The version that readers may see: durable, or written where the durability asks for no more.
    var published: UInt64 { min(load(64), LogLimits.number) }

    /// 0; or one more than the last durable version before a write or sync of the log failed; or `unsyncedName`.
    var failureMark: UInt64 { load(72) }
    /// The sync of the manifest's name failed, and none of the log.
    private static let unsyncedName = UInt64.max
    /// Whether whoever writes must not believe a sync before it has written anew what it goes by. Of whatever epoch,
    /// and a page that is not valid counts, too: who wrote it may have come no further.
    var hasFailed: Bool { failureMark != 0 }
    /// Whether the log may lack what no durable mark covers, although a sync of it succeeds.
    var hasLogFailed: Bool { hasFailed && failureMark != Self.unsyncedName }

    var generation: UInt64 { load(88) }

    private static let extentOffset = 112
    private static let sessionOffset = 120
    private static let newsOffset = 80
    /// What is kept when the page is made anew: words that only rise, on which somebody may rely who has the page mapped already. Anything will do at the beginning.
    private static func isKept(_ offset: Int) -> Bool { [newsOffset, extentOffset, sessionOffset].contains(offset) }

    /// Rises whenever the page is made anew.
    var session: UInt64 { load(Self.sessionOffset) }

    /// Slots from here on are free.
    var slotExtent: Int { Int(min(load(Self.extentOffset), UInt64(Self.slotCount))) }

    func raiseSlotExtent(to count: UInt64) {
        var seen = load(Self.extentOffset)
        while seen < count {
            let result = word(Self.extentOffset).compareExchange(expected: seen, desired: count)
            if result.exchanged { return }
            seen = result.original
        }
    }

    /// The process that writes; 0 where there is none.
    var writerProcess: UInt64 {
        get { load(96) }
        set { store(newValue, 96) }
    }

    /// Makes the page this epoch's. `fresh` where nobody else has the store open: then all of it but the slots, which
    /// are free already, is cleared first.
    func prepare(epoch: UInt32, durable: UInt64, published: UInt64, generation: UInt64, fresh: Bool) {
        store(0, 0)  // no reader believes it meanwhile
        if fresh {
            for offset in stride(from: 8, to: Self.slotsStart, by: 8) where !Self.isKept(offset) {
                store(0, offset)
            }
        }
        store(session &+ 1, Self.sessionOffset)
        store(UInt64(LogLimits.format) | UInt64(epoch) << 32, 8)
        store(storeHigh, 16)
        store(0, 40)
        store(0, 56)
        store(0, 72)
        setDurable(durable)
        setDurable(durable)
        store(published, 64)
        store(generation, 88)
        var head = ByteWriter(capacity: 24)
        head.append(Self.magic)
        head.append(UInt64(LogLimits.format) | UInt64(epoch) << 32)
        head.append(storeHigh)
        store(UInt64(CRC32C.checksum(head.bytes)), 24)
        store(Self.magic, 0)
        wakeAll()
    }

    /// After the sync that made it true.
    func setDurable(_ mark: UInt64) {
        let pair = turn == 0 ? 32 : 48
        turn ^= 1
        store(mark, pair)
        store(mark ^ storeHigh ^ Self.checkSalt, pair + 8)
    }

    // MARK: News

    /// Rises before anybody is woken; who waits sleeps on it.
    private var wakeWord: SharedWord { SharedWord(memory.bytes.baseAddress! + Self.newsOffset) }
    /// 1 where somebody may be waiting for commits.
    private var sleeping: SharedWord { SharedWord(memory.bytes.baseAddress! + Self.newsOffset + 4) }

    /// To be taken *before* one looks whether there is anything to wait for; then `waitForNews` misses nothing.
    ///
    /// - Parameter countsCommits: false for the process that writes, which wants no system call at its own commits: only `wakeAll` wakes it. Asked after the
    ///   wake word was read: whoever makes it true calls `wakeAll` afterwards.
    func newsTicket(countsCommits: @autoclosure () -> Bool) -> UInt32 {
        let ticket = wakeWord.load()
        if countsCommits(), isWritable { sleeping.store(1) }
        return ticket
    }

    /// Waits until something has happened since the ticket was taken, for `nanoseconds` at most; it may return early.
    func waitForNews(_ ticket: UInt32, nanoseconds: Int64? = nil) {
        _ = wakeWord.wait(expected: ticket, timeout: nanoseconds)
    }

    /// Nanoseconds after which a reader looks again who can't say that it sleeps, as the page is not its to write.
    private static let unnoticedPatience: Int64 = 5_000_000

    /// Wakes everybody who waits for news, in every process.
    func wakeAll() {
        guard isWritable else { return }
        wakeWord.add(1)
        wakeWord.wakeAll()
    }

    private var wish: SharedWord { SharedWord(memory.bytes.baseAddress! + 104) }
    private var turnWord: SharedWord { SharedWord(memory.bytes.baseAddress! + 108) }

    /// Whether somebody waits for the writer's lock. One load: each commit asks.
    var isWriterWanted: Bool { wish.load() != 0 }

    /// Asks the process that holds the writer's lock for it. If somebody has asked already, it is woken only where `isUrgent`.
    func wishForWriter(isUrgent: Bool) {
        if wish.exchange(1) == 0 || isUrgent { wakeAll() }
    }

    func clearWish() { wish.store(0) }

    /// How often the writer's lock has gone over.
    var turns: UInt32 { turnWord.load() }
    func countTurn() { turnWord.add(1) }

    /// Waits until `isThere`, looked at whenever something is published, for `nanoseconds` at most.
    func wait(nanoseconds: Int64, until isThere: () -> Bool) {
        let deadline = SystemClock.shared.monotonic() + nanoseconds
        while true {
            let ticket = newsTicket(countsCommits: true)
            let left = deadline - SystemClock.shared.monotonic()
            if isThere() || left <= 0 { return }
            waitForNews(ticket, nanoseconds: isWritable ? left : min(left, Self.unnoticedPatience))
        }
    }

    /// The process that writes, read from the page's file without mapping it; nil where none is known.
    static func writerProcess(_ folder: StoreFolder) -> Int32? {
        guard let file = try? folder.storage.open(folder.shared, .read) else { return nil }
        defer { file.close() }
        var process: UInt64 = 0
        let count = withUnsafeMutableBytes(of: &process) { try? file.read(into: $0, at: 96) }
        guard count == 8, process != 0 else { return nil }
        return Int32(exactly: UInt64(littleEndian: process))
    }

    /// Costs a store and a load where nobody waits.
    func setPublished(_ version: UInt64) {
        store(version, 64)
        // The flag goes down before the wake word moves, see "How nobody oversleeps".
        if sleeping.load() != 0, sleeping.exchange(0) != 0 { wakeAll() }
    }
    func setFailure(durable: UInt64) { store(durable &+ 1, 72) }
    /// By who recovers.
    func setUnsyncedName() { if !hasFailed { store(Self.unsyncedName, 72) } }
    func setGeneration(_ generation: UInt64) { store(generation, 88) }
}

/// What a reader has that can't map the store's page: zeros, which nobody believes.
private final class NoSharedMemory: SharedMemory, @unchecked Sendable {
    // Sendable: nobody writes to it.
    let bytes: UnsafeMutableRawBufferPointer
    var isWritable: Bool { false }

    init(byteCount: Int) {
        bytes = .allocate(byteCount: byteCount, alignment: 64)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { bytes.deallocate() }
}
