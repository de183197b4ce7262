import FirnBytes
import FirnStorage
import Synchronization

/// The end of the log, where frames are written.
///
/// At any time one **appender** at most owns the tail: the commit that is being written, or the mark that an idle log writes. `begin` takes it, `end` gives it back.
/// What changes:
/// - `chain`, `lastTime`, `isReserveGone`, `markWritten`, `commitStart`: owned by the appender. (In a commit of many
///   parts the thread that writes a part owns them; the parts' queue hands them on, one part after another.)
/// - `end`: the same, but atomic, since anybody may ask for it as a figure (`extent`).
/// - `file`, `manifest`, `schema`, `isOurs`, `sector`, `wantedSector`: changed by the appender, under `lock`, so that the appender may read them without it and anybody with it (`snapshot`).
/// - `isAppending`, `filled`, `filling`, `mayFill`: guarded by `lock`. Room is filled with zeros by another thread while the appender
///   writes, so each write first makes sure that the zeros don't come down on it; and nothing is filled while the file is cut or sealed.
final class LogTail: @unchecked Sendable {
    let folder: StoreFolder
    let options: LogOptions
    let clock: any Clock
    let group: GroupCommit
    let page: SharedPage?

    // Owned by the appender.
    private(set) var file: any StorageFile
    private(set) var manifest: Manifest
    private let endOffset: Atomic<Int>
    var end: Int {
        get { endOffset.load(ordering: .relaxed) }
        set { endOffset.store(newValue, ordering: .relaxed) }
    }
    var chain: UInt32
    var lastTime: Int64
    private(set) var schema: [UInt8]
    var isReserveGone: Bool
    /// What this process asks to be retained; the manifest says so from its next replacement on. Atomic.
    private let wantedRetention = Atomic<UInt64>(0)
    /// The durable mark that the newest frame bears.
    var markWritten: UInt64 = 0
    /// The sector of the open segment, and the one that the next is to have: at least what this process was asked for, and what
    /// other processes that write beside it were. 0: none.
    private(set) var sector: Int
    private(set) var wantedSector: Int
    /// Where the first frame of the commit that was written last begins; behind `end` of that time, if it began a sector.
    private var commitStart = 0

    private let lock = Lock(.innermost)
    private let changed = Condition()
    private var isAppending = false
    /// Whether this process is the one that writes; else the tail is the place up to which it has read. Changed by the appender, under `lock`.
    private(set) var isOurs: Bool
    /// Zeros have been written up to here, or the file ends here.
    private var filled: Int
    private var filling: Range<Int>?
    /// False while the end of the file moves back, or another file takes its place.
    private var mayFill = true

    init(
        folder: StoreFolder, options: LogOptions, clock: any Clock, group: GroupCommit, page: SharedPage?,
        file: any StorageFile, manifest: Manifest, end: Int, filled: Int, chain: UInt32, lastTime: Int64,
        schema: [UInt8], sector: Int, isReserveGone: Bool, isOurs: Bool = true
    ) {
        self.sector = sector
        wantedSector = isOurs ? options.sectorByteCount : max(options.sectorByteCount, sector)
        self.isOurs = isOurs
        self.folder = folder
        self.options = options
        self.clock = clock
        self.group = group
        self.page = page
        self.file = file
        self.manifest = manifest
        endOffset = Atomic(end)
        self.filled = filled
        self.chain = chain
        self.lastTime = lastTime
        self.schema = schema
        self.isReserveGone = isReserveGone
    }

    // MARK: Owning the tail

    /// Becomes the appender; waits while a mark is being written.
    func begin() {
        lock.lock()
        while isAppending { changed.wait(lock) }
        isAppending = true
        lock.unlock()
    }

    /// As `begin`, but false where there is an appender.
    func tryBegin() -> Bool {
        lock.withLock {
            if isAppending { return false }
            isAppending = true
            return true
        }
    }

    /// What anybody may ask for, beside the appender.
    func snapshot() -> (manifest: Manifest, schema: [UInt8]) { lock.withLock { (manifest, schema) } }

    /// By the appender.
    func setSchema(_ bytes: [UInt8]) { lock.withLock { schema = bytes } }

    func endAppending() {
        if sector > 0 { group.endJoin() }
        lock.lock()
        isAppending = false
        changed.broadcast()
        lock.unlock()
    }

    /// The time of a new frame: the clock's, but never before the frame that was written last.
    func nextTime() -> Int64 {
        lastTime = max(lastTime, clock.now())
        return lastTime
    }

    /// The segments, and how far the open one is written; for a figure, not for reading them.
    var extent: (manifest: Manifest, end: Int) { lock.withLock { (manifest, min(filled, end)) } }

    /// Whether a commit has been written to the open segment. By the appender.
    var holdsCommits: Bool { group.writtenVersion >= manifest.openSegment.firstVersion }

    /// Puts another manifest in the place of the present one. By the appender. Where it throws what `isPassing`, or
    /// `.damage` as its numbers have come to their end, nothing has changed; after any other error which of the two
    /// stands is not known, and the log takes no more writes.
    func replaceManifest(_ wanted: Manifest) throws(LogError) {
        var next = wanted
        next.generation = manifest.generation + 1
        setRetention(&next)
        try folder.checkNumbers(of: next)
        do throws(LogError) {
            try folder.replaceManifest(manifest, with: next)
        } catch {
            if !error.isPassing { group.fail(error) }
            throw error
        }
        page?.setGeneration(next.generation)
        lock.withLock { manifest = next }
    }

    // MARK: Retention

    func retain(_ retention: RetentionWord) { wantedRetention.store(retention.raw, ordering: .relaxed) }

    var ownRetention: RetentionWord { RetentionWord(raw: wantedRetention.load(ordering: .relaxed)) }

    private func setRetention(_ manifest: inout Manifest) {
        if ownRetention != RetentionWord() { manifest.retention = ownRetention }
    }

    /// Writes down what this process asks to be retained, unless the manifest says so already. By the appender.
    func rememberRetention() throws(LogError) {
        var next = manifest
        setRetention(&next)
        if next != manifest { try replaceManifest(next) }
    }

    // MARK: Writing

    /// Completes the frame that `buffer` holds (80 bytes of room, payload, padding) and writes it at the end of the log, which it moves.
    func write(_ buffer: inout ByteWriter, _ part: EncodedPart, time: Int64) throws(StorageError) {
        let open = manifest.openSegment
        let mark = group.durableVersion
        var start = end
        if part.part == 0 {
            // A long commit would keep a leader waiting, so it joins nobody.
            if sector > 0, !part.flags.contains(.last) || !group.join() {
                start = SegmentHeader.roundUp(end, toSector: sector)
            }
            commitStart = start
        }
        let header = FrameHeader(
            kind: part.kind, flags: part.flags, storeHigh: manifest.storeID.high, epoch: open.epoch,
            segment: open.segment, offset: UInt64(start), version: part.version, time: time, mark: mark,
            part: part.part,
            rawCount: part.rawCount, storedCount: part.storedCount, payloadCRC: part.payloadCRC, chain: chain)
        let crc = header.encode(at: buffer.mutableBytes.baseAddress!)
        let count = buffer.count
        claim(end..<(start + count))
        try file.write(buffer.bytes, at: start)
        if count >= LogLimits.unfilledPartByteCount { file.startWriteback(start..<(start + count)) }
        end = start + count
        chain = crc
        markWritten = mark
    }

    /// Waits until no zeros are being written to the range, and keeps later ones away from it.
    private func claim(_ range: Range<Int>) {
        lock.lock()
        while let filling, filling.lowerBound < range.upperBound { changed.wait(lock) }
        filled = max(filled, range.upperBound)
        lock.unlock()
    }

    /// Repeats the durable mark in a frame of its own, and syncs it, so that the last commit is protected by a mark behind it too. Nothing where
    /// the newest frame bears the mark already.
    func writeMark() throws(LogError) {
        guard isOurs, group.durableVersion > markWritten else { return }
        var buffer = ByteWriter(capacity: 128)
        buffer.appendZeros(FrameHeader.frameByteCount(stored: 0))
        let part = EncodedPart(
            kind: .mark, flags: .last, version: group.writtenVersion, part: 0, rawCount: 0, storedCount: 0,
            payloadCRC: 0)
        let start = end
        let chain = self.chain
        do {
            try write(&buffer, part, time: nextTime())
        } catch  where error.code == .noSpace {
            // A mark is a precaution; without room for it the log goes on.
            do {
                try cut(to: start, chain: chain)
            } catch {
                group.fail(LogError(error))
                throw LogError(error)
            }
            return
        } catch {
            group.fail(LogError(error))
            throw LogError(error)
        }
        group.endJoin()
        try group.syncAll()
    }

    /// Runs `body` while no zeros are being written, and none begin to be.
    private func withoutFilling<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        lock.lock()
        mayFill = false
        while filling != nil { changed.wait(lock) }
        lock.unlock()
        defer { lock.withLock { mayFill = true } }
        try body()
    }

    /// Takes the log back to where a commit began: what it wrote is cut off, so that no frame of it can be met behind the next one's.
    /// A sector that the commit did not begin in is not touched.
    func cut(to end: Int, chain: UInt32) throws(StorageError) {
        try withoutFilling { () throws(StorageError) in
            let start = max(end, commitStart)
            lock.withLock { filled = start }
            self.end = end
            self.chain = chain
            try file.truncate(to: start)
        }
    }

    /// Where the file may be cut behind the last frame: cutting within a sector writes it again.
    private var sectorEnd: Int { SegmentHeader.roundUp(end, toSector: sector) }

    // MARK: Room

    /// How much is filled at a time: half of what there is, so that the log of a store that is written little is no longer than it needs. `lock` is held.
    private var fillStep: Int {
        min(max(filled / 2, LogLimits.fillByteCount.first), LogLimits.fillByteCount.most)
    }

    /// True where the room filled with zeros is nearly used up.
    var wantsPreallocation: Bool {
        guard options.durability != .none else { return false }
        return lock.withLock { filling == nil && filled - end < fillStep / 2 && filled < options.segmentByteCount }
    }

    /// Fills the next step with zeros, so that commits into it need not lengthen the file. A full disk just ends that.
    func fill() {
        lock.lock()
        guard isOurs, mayFill, filling == nil, filled < options.segmentByteCount else {
            lock.unlock()
            return
        }
        // Zeros in the last sector would write the commits there again; what no write has reached reads as zeros anyway.
        let start = SegmentHeader.roundUp(filled, toSector: sector)
        let range = start..<max(start, min(start + fillStep, options.segmentByteCount))
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
            // Whatever was written is zeros. If the disk fails, the next commit meets that itself.
        }
        lock.lock()
        filled = reached
        filling = nil
        changed.broadcast()
        lock.unlock()
    }

    // MARK: Segments

    var wantsRoll: Bool { end >= options.segmentByteCount || sector < wantedSector }

    /// Seals the segment and goes on in a new one. Everything written so far is durable after it.
    ///
    /// Where the manifest's numbers have come to their end, nothing has changed, and the log goes on as it is.
    func roll() throws(LogError) {
        // Under the lead any failure but a passing one would be one for good.
        var next = manifest
        next.generation += 1
        next.segments.append(
            Manifest.Segment(
                segment: manifest.openSegment.segment + 1, epoch: manifest.epoch,
                firstVersion: group.writtenVersion + 1))
        try folder.checkNumbers(of: next)
        try withoutFilling { () throws(LogError) in try sealAndGoOn() }
    }

    private func sealAndGoOn() throws(LogError) {
        try group.lead { old throws(LogError) in
            // 1. All that is written becomes durable; the room behind it goes.
            try stored { () throws(StorageError) in try old.truncate(to: sectorEnd) }
            try synced(old)
            let version = group.writtenVersion
            var next = manifest
            if wantedSector > 0 { next.features.insert(.sectors) }
            // 2. The new segment, whole, before anything says that it is there.
            let header = SegmentHeader(
                storeID: manifest.storeID, epoch: manifest.epoch, segment: manifest.openSegment.segment + 1,
                chain: chain,
                firstVersion: version + 1, mark: version, sector: UInt32(wantedSector))
            let path = folder.segment(header.segment)
            try folder.removeIfPresent(path)
            let file: any StorageFile
            let (bytes, headerCRC) = SegmentPrologue.encode(header, schema: schema, time: lastTime)
            do throws(LogError) {
                do throws(LogError) {
                    file = try stored { () throws(StorageError) in try folder.create(path) }
                    try folder.write(bytes, to: file, at: 0)
                    try stored { () throws(StorageError) in
                        try file.sync()
                        try folder.storage.syncFolder(folder.log)
                    }
                } catch {
                    throw error.beforeAnyChange
                }
                // 3. The manifest says so.
                next.generation += 1
                setRetention(&next)
                next.segments[next.segments.count - 1].isSealed = true
                next.segments[next.segments.count - 1].chainEnd = chain
                next.segments[next.segments.count - 1].lastVersion = version
                next.segments[next.segments.count - 1].byteCount = UInt64(end)
                next.segments.append(
                    Manifest.Segment(segment: header.segment, epoch: header.epoch, firstVersion: header.firstVersion))
                try folder.replaceManifest(manifest, with: next)
            } catch  where error.isPassing {
                try? folder.removeIfPresent(path)
                throw error
            }
            old.close()
            page?.setGeneration(next.generation)
            commitStart = 0
            chain = headerCRC
            lock.withLock {
                sector = wantedSector
                self.file = file
                manifest = next
                end = bytes.count
                filled = bytes.count
            }
            return file
        }
    }

    /// Cuts the room off and syncs: the file ends with the last frame.
    func trim() throws(LogError) {
        try withoutFilling { () throws(LogError) in
            try group.lead { file throws(LogError) in
                try stored { () throws(StorageError) in try file.truncate(to: sectorEnd) }
                try synced(file)
                return file
            }
            lock.withLock { filled = sectorEnd }
        }
    }

    // MARK: Other processes

    /// Where the log ends for this process. By the appender.
    var place: LogReadPosition {
        let open = manifest.segments.last { $0.firstVersion <= group.writtenVersion + 1 } ?? manifest.openSegment
        return LogReadPosition(
            segment: open.segment, epoch: open.epoch, offset: end, chain: chain, version: group.writtenVersion,
            time: lastTime, mark: markWritten, sector: sector)
    }

    /// Another process has written: the log ends there now. By the appender.
    func move(to place: LogReadPosition, _ manifest: Manifest) {
        end = place.offset
        chain = place.chain
        lastTime = max(lastTime, place.time)
        markWritten = place.mark
        commitStart = 0
        lock.withLock {
            sector = place.sector
            wantedSector = max(wantedSector, sector)
            self.manifest = manifest
            if let schema = place.schema { self.schema = schema }
        }
        group.adopt(place.version)
    }

    /// From now on this process writes, to `file`, which holds `byteCount` bytes and nothing but zeros behind the tail. By the appender.
    func take(_ file: any StorageFile, byteCount: Int) {
        lock.withLock {
            self.file = file
            isOurs = true
            filled = max(byteCount, end)
        }
    }

    /// From now on another may write: nothing of this process touches the file any more. By the appender.
    func leave() {
        lock.lock()
        isOurs = false
        while filling != nil { changed.wait(lock) }
        lock.unlock()
    }
}
