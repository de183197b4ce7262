import FirnBytes
import FirnStorage
import Synchronization

/// The end of the log, where frames are written.
///
/// At any time at most one **appender** owns the tail: the commit that is being written, or the mark that an idle log
/// writes. `begin` acquires the tail, `endAppending` releases it.
///
/// The state that changes:
/// - `chain`, `lastTime`, `ages`, `isReserveGone`, `markWritten`: owned by the appender. In a commit of many parts, the
///   thread that writes a part owns them; the part queue passes them on from part to part.
/// - `end`: the same, but atomic, because any thread may read it as an estimate (`extent`).
/// - `file`, `cipher`, `manifest`, `schema`, `isWriter`: changed by the appender, under `lock`. So the appender may
///   read them without the lock, and any thread with it (`snapshot`).
/// - `isAppending`, `filled`, `filling`, `mayFill`: guarded by `lock`. Another thread preallocates space, by writing
///   zeros, while the appender writes. So each write first makes sure that no zeros overwrite it, and nothing is
///   preallocated while the file is cut or sealed.
final class LogTail: @unchecked Sendable {
    let folder: StoreFolder
    let options: LogOptions
    let clock: any Clock
    let group: GroupCommit
    let page: SharedPage?

    // Owned by the appender.
    private(set) var file: any StorageFile
    /// The cipher of the open segment, if the store is encrypted.
    private(set) var cipher: SealingCipher?
    private(set) var manifest: Manifest
    private let endOffset: Atomic<Int>
    var end: Int {
        get { endOffset.load(ordering: .relaxed) }
        set { endOffset.store(newValue, ordering: .relaxed) }
    }
    var chain: FrameChain
    var lastTime: Int64
    /// The ages of the log's frames, as far as they are known. While this process writes, the page has the same record.
    private(set) var ages: AgeRecord
    /// A change of the system's clock that the store has yet to take and report.
    let clockChange = PendingClockChange()
    private(set) var schema: [UInt8]
    var isReserveGone: Bool
    /// The history retention that this process asks for (`RetentionWord`). The next replacement of the manifest
    /// contains it. Atomic.
    private let wantedRetention = Atomic<UInt64>(0)
    /// The durable mark in the newest frame.
    var markWritten: UInt64 = 0

    private let lock = Lock(.innermost)
    private let changed = Condition()
    private var isAppending = false
    #if DEBUG
        /// A copy of `isAppending` that `assertAppending` reads without the lock, which its caller may hold.
        private let hasAppender = Atomic<Bool>(false)
    #endif
    /// Whether this process is the one that writes. Otherwise the tail is the position up to which it has read.
    /// Changed by the appender, under `lock`.
    private(set) var isWriter: Bool
    /// The offset up to which zeros have been written, or at which the file ends.
    private var filled: Int
    private var filling: Range<Int>?
    /// False while the end of the file moves back, or the file is replaced by another one.
    private var mayFill = true

    init(
        folder: StoreFolder, options: LogOptions, clock: any Clock, group: GroupCommit, page: SharedPage?,
        file: any StorageFile, cipher: SealingCipher?, manifest: Manifest, end: Int, filled: Int, chain: FrameChain,
        lastTime: Int64, schema: [UInt8], isReserveGone: Bool, isWriter: Bool = true
    ) {
        ages = AgeRecord(clock.reading(), after: group.writtenVersion > 0 ? lastTime : nil)
        self.isWriter = isWriter
        self.folder = folder
        self.options = options
        self.clock = clock
        self.group = group
        self.page = page
        self.file = file
        self.cipher = cipher
        self.manifest = manifest
        endOffset = Atomic(end)
        self.filled = filled
        self.chain = chain
        self.lastTime = lastTime
        self.schema = schema
        self.isReserveGone = isReserveGone
        if isWriter { adoptAges() }
    }

    /// Whether the store is encrypted.
    var isEncrypting: Bool { folder.isEncrypted }

    // MARK: Owning the tail

    /// Makes the caller the appender. Waits while a mark is being written.
    func begin() {
        lock.lock()
        while isAppending { changed.wait(lock) }
        setAppending(true)
        lock.unlock()
    }

    /// Like `begin`, but returns false if there is an appender.
    func tryBegin() -> Bool {
        lock.withLock {
            if isAppending { return false }
            setAppending(true)
            return true
        }
    }

    private func setAppending(_ isAppending: Bool) {
        lock.assertHeld()
        self.isAppending = isAppending
        #if DEBUG
            hasAppender.store(isAppending, ordering: .relaxed)
        #endif
    }

    /// Stops a debug build if the tail has no appender. Call it in whatever only the appender may do. It does not
    /// compare threads, because other threads write the parts of a commit for the appender.
    @inline(__always) func assertAppending() {
        #if DEBUG
            if !hasAppender.load(ordering: .relaxed) {
                fatalError("Firn: the end of the log is used by a thread that has not acquired it.")
            }
        #endif
    }

    /// The state that any thread may read, also while the appender changes it.
    func snapshot() -> (manifest: Manifest, schema: [UInt8]) { lock.withLock { (manifest, schema) } }

    /// Sets the schema that new segments begin with. Called by the appender.
    func setSchema(_ bytes: [UInt8]) {
        assertAppending()
        lock.withLock { schema = bytes }
    }

    /// Releases the tail.
    func endAppending() {
        lock.lock()
        setAppending(false)
        changed.broadcast()
        lock.unlock()
    }

    /// The bytes of the live checkpoint's files. Atomic: used as an estimate.
    let checkpointByteCount = Atomic<Int>(0)

    /// Approximately the number of bytes of the store's files. Called by the appender.
    var storeByteCount: Int {
        assertAppending()
        return manifest.segments.dropLast().reduce(end + checkpointByteCount.load(ordering: .relaxed)) {
            $0 + Int($1.byteCount)
        }
    }

    /// The manifest, and an estimate of the end of the open segment, which must not be used to read frames.
    var extent: (manifest: Manifest, end: Int) { lock.withLock { (manifest, min(filled, end)) } }

    /// Whether a commit has been written to the open segment. Called by the appender.
    var holdsCommits: Bool {
        assertAppending()
        return group.writtenVersion >= manifest.openSegment.firstVersion
    }

    /// Replaces the manifest. Called by the appender.
    ///
    /// If it throws an error that `isTransient`, or `.damage` because the manifest's numbers are used up, nothing has
    /// changed. After any other error it is unknown which of the two manifests is in force, and the log takes no more
    /// writes.
    func replaceManifest(_ wanted: Manifest) throws(LogError) {
        assertAppending()
        var next = wanted
        next.generation = manifest.generation + 1
        setRetention(&next)
        try folder.checkNumbers(of: next)
        do throws(LogError) {
            try group.names?.check(file)
            try folder.replaceManifest(manifest, with: next)
        } catch {
            if !error.isTransient { group.fail(error) }
            throw error
        }
        page?.setGeneration(next.generation)
        lock.withLock { manifest = next }
    }

    // MARK: Time

    /// Returns the time of a new frame: the clock's time, but never before the time of the frame that was written last.
    func nextTime() -> Int64 {
        assertAppending()
        let now = clock.reading()
        lastTime = ages.timeIfUneventful(now, after: lastTime) ?? note(now)
        return lastTime
    }

    /// Takes a reading of the clocks, so that the ages of frames are known as well as they can be. Called by the
    /// appender of the process that writes.
    func readClock() {
        assertAppending()
        _ = note(clock.reading())
    }

    /// Reads from the page what other processes know of the ages of frames. Called by the appender of the process that
    /// begins to write.
    private func adoptAges() {
        if let known = page?.ages {
            ages = known
            ages.forget(after: lastTime)
        } else {
            ages = AgeRecord(clock.reading(), after: group.writtenVersion > 0 ? lastTime : nil)
        }
        _ = note(clock.reading())
    }

    private func note(_ now: ClockReading) -> Int64 {
        let before = ages
        let time = ages.read(now, after: lastTime)
        clockChange.note(now, time, since: before)
        page?.setAges(ages)
        return time
    }

    // MARK: Retention

    func retain(_ retention: RetentionWord) { wantedRetention.store(retention.raw, ordering: .relaxed) }

    var ownRetention: RetentionWord { RetentionWord(raw: wantedRetention.load(ordering: .relaxed)) }

    private func setRetention(_ manifest: inout Manifest) {
        if ownRetention != RetentionWord() { manifest.retention = ownRetention }
    }

    /// Writes this process's retention to the manifest, unless it is there already. Called by the appender.
    func rememberRetention() throws(LogError) {
        var next = manifest
        setRetention(&next)
        if next != manifest { try replaceManifest(next) }
    }

    // MARK: Writing

    /// Completes the frame in `buffer` (80 bytes of space, payload, padding), appends it to the log, and moves the end.
    func write(_ buffer: inout ByteWriter, _ part: EncodedPart, time: Int64) throws(StorageError) {
        assertAppending()
        let open = manifest.openSegment
        let mark = group.durableVersion
        let start = end
        let header = FrameHeader(
            kind: part.kind, flags: part.flags, storeHigh: manifest.storeID.high, epoch: open.epoch,
            segment: open.segment, offset: UInt64(start), version: part.version, time: time, mark: mark,
            part: part.part,
            rawCount: part.rawCount, storedCount: part.storedCount, payloadCRC: part.payloadCRC, chain: chain.crc)
        let next = FrameSealing.complete(header, in: buffer.mutableBytes, cipher: cipher, after: chain)
        let count = buffer.count
        reserveRange(start..<(start + count))
        try file.write(buffer.bytes, at: start)
        if count >= LogLimits.writebackByteCount { file.startWriteback(start..<(start + count)) }
        end = start + count
        chain = next
        markWritten = mark
    }

    /// Waits until no zeros are being written to the range, and makes sure that none will be.
    private func reserveRange(_ range: Range<Int>) {
        lock.lock()
        while let filling, filling.lowerBound < range.upperBound { changed.wait(lock) }
        filled = max(filled, range.upperBound)
        lock.unlock()
    }

    /// Runs `body` while nothing is preallocated.
    private func withoutFilling<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        lock.lock()
        mayFill = false
        while filling != nil { changed.wait(lock) }
        lock.unlock()
        defer { lock.withLock { mayFill = true } }
        try body()
    }

    /// Cuts off what a commit wrote, so that no frame of it can be found behind the frames of the next commit. `end`
    /// is where the log ended before the commit.
    func cut(to end: Int, chain: FrameChain) throws(StorageError) {
        assertAppending()
        try withoutFilling { () throws(StorageError) in
            lock.withLock { filled = end }
            self.end = end
            self.chain = chain
            try file.truncate(to: end)
        }
    }

    // MARK: Preallocation

    /// The number of bytes that are preallocated next. It is half of the length so far, within limits. So the log of a
    /// store to which little is written is no longer than necessary. `lock` is held.
    private var fillStep: Int {
        min(max(filled / 2, LogLimits.preallocationByteCount.first), LogLimits.preallocationByteCount.most)
    }

    /// Whether the preallocated space is nearly used up.
    var wantsPreallocation: Bool {
        guard options.durability != .none else { return false }
        return lock.withLock { filling == nil && filled - end < fillStep / 2 && filled < options.segmentByteCount }
    }

    /// Preallocates the next step by writing zeros, so that commits there need not make the file longer. On a full
    /// disk it just stops.
    func preallocate() {
        lock.lock()
        guard isWriter, mayFill, filling == nil, filled < options.segmentByteCount else {
            lock.unlock()
            return
        }
        let range = filled..<min(filled + fillStep, options.segmentByteCount)
        filling = range
        let file = self.file
        lock.unlock()
        var reached = range.lowerBound
        do {
            while reached < range.upperBound {
                let count = min(zeroBytes.count, range.upperBound - reached)
                try file.write(UnsafeRawBufferPointer(rebasing: zeroBytes[..<count]), at: reached)
                reached += count
            }
        } catch {
            // Whatever was written is zeros. If the disk has failed, the next commit meets the failure itself.
        }
        lock.lock()
        filled = reached
        filling = nil
        changed.broadcast()
        lock.unlock()
    }

    // MARK: Segments

    var wantsRoll: Bool { end >= options.segmentByteCount }

    /// Seals the segment and continues in a new one. Afterwards everything written so far is durable.
    ///
    /// If the manifest's numbers are used up, throws `.damage` and changes nothing.
    func roll() throws(LogError) {
        assertAppending()
        // This check comes first, because in `group.lead` every failure that is not transient ends the writing.
        var next = manifest
        next.generation += 1
        next.segments.append(
            Manifest.Segment(
                segment: manifest.openSegment.segment + 1, epoch: manifest.epoch,
                firstVersion: group.writtenVersion + 1))
        try folder.checkNumbers(of: next)
        try withoutFilling { () throws(LogError) in try sealAndContinue() }
    }

    private func sealAndContinue() throws(LogError) {
        try group.lead { old throws(LogError) in
            // Nothing is cut or removed in files that somebody else has put here.
            try group.names?.check(old)
            try folder.checkInForce(manifest)
            // 1. Everything written becomes durable; the preallocated space behind it is cut off.
            try stored(old.truncate(to: end))
            try synced(old.sync())
            // The names are checked again, because the manifest is about to say that this segment is complete.
            try group.names?.check(old)
            let version = group.writtenVersion
            var next = manifest
            // 2. The new segment is written completely, before anything refers to it.
            let header = SegmentHeader(
                storeID: manifest.storeID, epoch: manifest.epoch, segment: manifest.openSegment.segment + 1,
                chain: chain.crc, firstVersion: version + 1, mark: version, salt: folder.makeSalt())
            let nextCipher = folder.cipher(header)
            let name = folder.segment(header.segment)
            try folder.removeIfPresent(name)
            let file: any StorageFile
            let (bytes, nextChain) = SegmentPrologue.encode(header, schema: schema, time: lastTime, cipher: nextCipher)
            do throws(LogError) {
                do throws(LogError) {
                    file = try stored(folder.create(name))
                    try stored(file.write(bytes, at: 0))
                    try stored(file.sync())
                    try stored(folder.sync(.log))
                } catch {
                    throw error.markedUnchanged
                }
                // 3. The manifest lists the new segment.
                next.generation += 1
                setRetention(&next)
                next.segments[next.segments.count - 1].seal(lastVersion: version, byteCount: end, chain)
                next.segments.append(Manifest.Segment(header))
                try folder.replaceManifest(manifest, with: next)
            } catch  where error.isTransient {
                try? folder.removeIfPresent(name)
                throw error
            }
            old.close()
            page?.setGeneration(next.generation)
            chain = nextChain
            lock.withLock {
                self.file = file
                cipher = nextCipher
                manifest = next
                end = bytes.count
                filled = bytes.count
            }
            return file
        }
    }

    /// Cuts the preallocated space off and syncs, so that the file ends with the last frame.
    func trim() throws(LogError) {
        assertAppending()
        try withoutFilling { () throws(LogError) in
            try group.lead { file throws(LogError) in
                try group.names?.check(file)
                try folder.checkInForce(manifest)
                try stored(file.truncate(to: end))
                try synced(file.sync())
                return file
            }
            lock.withLock { filled = end }
        }
    }

    // MARK: Other processes

    /// The position of the log's end, as far as this process knows. Called by the appender or, while another process
    /// writes, by the thread that reads the commits of that process.
    var position: LogReadPosition {
        if isWriter { assertAppending() }
        let open = manifest.segments.last { $0.firstVersion <= group.writtenVersion + 1 } ?? manifest.openSegment
        return LogReadPosition(
            segment: open.segment, epoch: open.epoch, offset: end, chain: chain, version: group.writtenVersion,
            time: lastTime, mark: markWritten)
    }

    /// Moves the end of the log to where this process has read the commits of others. Called by the appender.
    func move(to position: LogReadPosition, _ manifest: Manifest) {
        assertAppending()
        end = position.offset
        chain = position.chain
        lastTime = max(lastTime, position.time)
        markWritten = position.mark
        lock.withLock {
            self.manifest = manifest
            if let schema = position.schema { self.schema = schema }
        }
        group.adopt(position.version)
    }

    /// Makes this process the one that writes, to `file`, which has `byteCount` bytes and nothing but zeros behind
    /// the tail. Called by the appender.
    func startWriting(_ file: any StorageFile, cipher: SealingCipher?, byteCount: Int) {
        assertAppending()
        lock.withLock {
            self.file = file
            self.cipher = cipher
            isWriter = true
            filled = max(byteCount, end)
        }
        adoptAges()
    }

    /// Lets another process write: from now on no thread of this process changes the file. Called by the appender.
    func stopWriting() {
        assertAppending()
        lock.lock()
        isWriter = false
        while filling != nil { changed.wait(lock) }
        lock.unlock()
    }
}
