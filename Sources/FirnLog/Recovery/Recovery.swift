import FirnBytes
import FirnStorage

/// What opening a store found.
package struct RecoveryReport: Sendable, Equatable {
    /// A tail that was never acknowledged as durable. An opener for writing cuts it off.
    package struct TornTail: Sendable, Equatable, CustomStringConvertible {
        /// The segment's file.
        package var path: String
        package var segment: UInt32
        /// The offset at which the log was broken.
        package var offset: Int
        /// The version that was being committed there.
        package var version: UInt64
        /// The number of bytes behind the break, not counting padding and preallocated zeros at the end.
        package var byteCount: Int
        /// The number of whole frames among these bytes, and of the commits that these frames end.
        package var wholeFrames: Int
        package var wholeCommits: Int
        package var reason: String
        /// Whether the bytes were cut off. A read-only opener leaves them in the file, and does not read them.
        package var isCut = true

        /// The same tail, left in the file.
        var leftInPlace: TornTail {
            var tail = self
            tail.isCut = false
            return tail
        }

        package var description: String {
            "the log's tail was torn at \(path), byte \(offset), while version \(version) was being committed (\(reason)): "
                + "\(byteCount) bytes with \(wholeFrames) whole frames \(isCut ? "were cut off" : "were left out"). No durable mark in the log covers any of it."
        }
    }

    package enum Outcome: Sendable, Equatable {
        case created
        case clean
        case tornTail(TornTail)
    }

    package var outcome: Outcome
    /// The last version of the log; 0 in a store without a commit.
    package var lastVersion: UInt64
    /// When it was committed, in nanoseconds since 1970; 0 if no frame says so.
    package var lastTime: Int64
    package var storeID: StoreID
    package var epoch: UInt32
    /// The number of whole commits that no durable mark covered, and that were therefore rewritten to a new segment
    /// and synced.
    package var rewrittenCommits: Int = 0
    /// The versions that the live checkpoint covers although the log ends before them. Their data is in the checkpoint,
    /// but they can't be opened as past versions. Nil unless the disk has lost what it had synced.
    package var missingFromLog: ClosedRange<UInt64>?
}

/// Recovery at open: reads the log and decides what state it is in.
///
/// 1. The manifest lists the segments. All but the last are sealed: they were synced before the manifest said so,
///    and anything wrong with one is damage. The last is read to the first offset B at which no good frame follows
///    in the chain.
/// 2. D, the durable mark, is the highest of these:
///    - the marks in all frames of the last segment, including those behind B;
///    - the mark in its header;
///    - the version before the segment's first one, which a sealed segment holds;
///    - the mark in the shared page, if the page belongs to this store and epoch (`SharedPage` argues why that is
///      safe).
/// 3. The version at B is the one after the last whole commit. If D has reached that version, B was durable:
///    **damage**. Opening throws, and nothing is changed. A log that simply ends before D is damage, too.
/// 4. Otherwise everything from B on was never acknowledged as durable: a **torn tail**. With `relaxed` and `none` it
///    may have been acknowledged as written. Zeros up to the end of the file are not a torn tail, but preallocated
///    space. Anything else there, even a single bit, is a torn tail, which is reported and cut.
/// 5. The whole commits between D and B can be read, but the disk may lack them. If a sync failed, the system shows
///    pages that never reached the disk, and treats them as clean. So if there are such commits, or a tail is to be
///    cut, a new segment under a new epoch is made. Those commits are rewritten to it, and it is synced. Then the
///    manifest is replaced, which seals the old segment at the end of what D covers. Only then is the log used. Until
///    the manifest is replaced, the old state is untouched, so a crash on the way leads to the same decision again. A
///    checkpoint's version is durable before the manifest names the checkpoint. If the log nevertheless ends before
///    that version, because a disk lost what it had synced, no data is missing. The log continues behind the checkpoint
///    in a new segment. The older segments no longer lead up to it and are dropped, and the report names the missing
///    versions.
/// 6. Once the new manifest is durable, the old segment is cut. A crash before that leaves bytes behind its sealed
///    length, which are ignored and are cut at the next open.
struct Recovery {
    let folder: StoreFolder
    var manifest: Manifest
    /// The scan of the last segment.
    var scan: SegmentScan
    /// The highest version known to be durable.
    var durable: UInt64
    var tornTail: RecoveryReport.TornTail?
    /// The checkpoints that the store lists. The last is the live one, from which the log continues.
    private(set) var checkpoints: [Checkpoint]
    var checkpoint: Checkpoint? { checkpoints.last }
    /// The versions that the checkpoint covers and the log lacks.
    private(set) var missing: ClosedRange<UInt64>?

    var lastVersion: UInt64 { scan.lastVersion }
    var needsRewrite: Bool { tornTail != nil || lastVersion > durable || missing != nil }

    /// Reads and decides (steps 1 to 4), changing nothing.
    ///
    /// - Parameters:
    ///   - pageMark: the shared page's durable mark, or 0 if the page is not valid.
    ///   - isCopied: whether the page says that it was copied with the store's folder. If so, an error for missing
    ///     versions names that cause.
    static func read(
        _ folder: StoreFolder, _ manifest: Manifest, pageMark: UInt64, isCopied: Bool = false, verify: VerifyOnOpen
    ) throws(LogError) -> Recovery {
        let checkpoints = try folder.readCheckpoints(manifest)
        let checkpoint = checkpoints.last
        guard manifest.segments[0].firstVersion <= (checkpoint?.version ?? 0) + 1 else {
            throw LogError(
                .damage, path: folder.path(of: folder.manifest),
                detail:
                    "the log begins with version \(manifest.segments[0].firstVersion), but the checkpoint ends with \(checkpoint?.version ?? 0)"
            )
        }
        // The first segment of a store follows nothing. If the first listed segment is a later one, its own header says
        // which frame it follows.
        var chain: UInt32? = manifest.segments[0].segment == 1 ? 0 : nil
        var time: Int64 = 0
        var schema: [UInt8]?
        let readsAll = verify.includes(manifest.segments.reduce(0) { $0 + Int($1.byteCount) })
        for entry in manifest.segments.dropLast() {
            let reader = try SegmentReader(folder, entry, storeID: manifest.storeID)
            if readsAll {
                let scan = try SegmentScan.scan(reader, chainStart: chain, previousTime: time)
                if let broken = scan.broken {
                    throw LogError(.damage, path: reader.path, offset: broken.offset, detail: broken.reason)
                }
                if let damage = scan.contradiction(to: entry) { throw LogError(damage, path: reader.path) }
                time = scan.lastTime
                schema = scan.schema
            } else if let chain, chain != reader.header.chain {
                throw LogError(
                    .damage, path: reader.path, offset: 0,
                    detail: "the segment's header does not follow the segment before")
            }
            chain = entry.chainEnd
        }

        let open = manifest.openSegment
        let reader = try SegmentReader(folder, open, storeID: manifest.storeID)
        var scan = try SegmentScan.scan(
            reader, chainStart: chain, previousTime: time, sought: checkpoint?.version)
        if scan.schema == nil { scan.schema = schema }
        // If the last segment has no frame, an earlier segment gives the time and the schema.
        for entry in manifest.segments.dropLast().reversed() where scan.lastTime == 0 {
            let reader = try SegmentReader(folder, entry, storeID: manifest.storeID)
            let before = try SegmentScan.scan(reader, chainStart: nil, previousTime: 0)
            // A segment that comes from a copy of an encrypted store would pass for the store's own (`checkEnd`).
            if folder.isEncrypted, let damage = before.contradiction(to: entry) {
                throw LogError(damage, path: reader.path)
            }
            scan.lastTime = before.lastTime
            if scan.schema == nil { scan.schema = before.schema }
        }
        // A new frame's time is not before the checkpoint's time either.
        if let checkpoint { scan.lastTime = max(scan.lastTime, checkpoint.time) }
        // Everything in sealed segments is durable.
        let durable = max(scan.mark, scan.markBehind, pageMark, open.firstVersion - 1)
        scan.unconfirmed.removeAll { $0.version <= durable }
        if durable > scan.lastVersion {
            var detail =
                scan.broken.map { "\($0.reason), and version \($0.version) was durable" }
                ?? "the log ends with version \(scan.lastVersion), but version \(durable) was durable"
            if isCopied {
                detail +=
                    "; this folder was copied while the store was written: \(lost(after: scan.lastVersion, durable)) durable"
                    + " there and not in this copy. `firn recover` makes a store without them, and `firn copy` copies a"
                    + " store that is open"
            }
            throw LogError(.damage, path: reader.path, offset: scan.broken?.offset ?? scan.end, detail: detail)
        }
        var torn: RecoveryReport.TornTail?
        if let broken = scan.broken {
            torn = RecoveryReport.TornTail(
                path: reader.path, segment: open.segment, offset: broken.offset, version: broken.version,
                byteCount: scan.writtenEnd - scan.end, wholeFrames: scan.framesBehind,
                wholeCommits: scan.commitsBehind, reason: broken.reason)
        }
        var recovery = Recovery(
            folder: folder, manifest: manifest, scan: scan, durable: durable, tornTail: torn, checkpoints: checkpoints)
        if let checkpoint, checkpoint.version > scan.lastVersion { recovery.continueLog(after: checkpoint) }
        return recovery
    }

    private static func lost(after last: UInt64, _ durable: UInt64) -> String {
        durable == last + 1 ? "version \(durable) was" : "versions \(last + 1) to \(durable) were"
    }

    /// For a log that ends before the checkpoint: continues it behind the checkpoint.
    private mutating func continueLog(after checkpoint: Checkpoint) {
        missing = scan.lastVersion + 1...checkpoint.version
        scan.lastVersion = checkpoint.version
        scan.unconfirmed = []
        // The missing commits may have set another schema. The checkpoint knows that schema.
        scan.schema = nil
        durable = checkpoint.version
    }

    /// Makes it durable that this manifest is in force. A process that died, or whose sync failed, may have replaced
    /// the manifest without completing the sync of its folder. A power cut would then take away everything that is
    /// committed to a segment that only this manifest lists.
    ///
    /// So the manifest is replaced by an equal one. Syncing the folder once more would prove nothing. After a failed
    /// sync the next one succeeds, and the name may still be missing on the disk. The name is only synced if there is
    /// no space for another manifest, and the page records no failure. So a store on a full disk can be opened, and
    /// space can be freed. For a store without a version, the error is thrown. Such a store has nothing to free, and
    /// may have been made by a process that could not sync its name.
    ///
    /// - Parameter location: where the folder was found; nil if the store has been open for a while, so that its folder
    ///   may have moved.
    mutating func renewManifest(_ page: SharedPage, _ location: StoreLocation?) throws(LogError) {
        try stored(folder.sync(.log))
        if checkpoint != nil { try stored(folder.sync(.checkpoints)) }
        do throws(LogError) {
            try usingReserve { recovery throws(LogError) in
                var next = recovery.manifest
                next.generation += 1
                try recovery.replaceManifest(with: next, page)
            }
        } catch  where error.code == .diskFull && !page.hasFailed && lastVersion > 0 {
            do throws(LogError) { try folder.syncName() } catch {
                if !error.markedUnchanged.isTransient { page.setUnsyncedName() }
                throw error
            }
        }
        // The process that made the store may have died before the folder's name was durable. A store with a version
        // was opened by its name before. So it is not refused because the folder above it can't be synced.
        do throws(LogError) { try location?.syncParent() } catch {
            if lastVersion == 0 { throw error }
        }
    }

    /// Replaces the manifest in force. If the new manifest may be in force without being durable, the page records
    /// that. Then the next opener does not trust a sync of the manifest's name.
    private mutating func replaceManifest(with next: Manifest, _ page: SharedPage) throws(LogError) {
        do throws(LogError) { try folder.replaceManifest(manifest, with: next) } catch {
            if !error.isTransient { page.setUnsyncedName() }
            throw error
        }
        manifest = next
    }

    /// Takes steps 5 and 6, if needed, so that the log is durable and intact. Returns how many commits were rewritten.
    /// After a failed write or sync, which the page records, a new segment is begun in any case. Marks behind the last
    /// commit may then be missing on the disk.
    mutating func makeDurable(_ page: SharedPage) throws(LogError) -> Int {
        try removeUnlistedSegments()
        var rewritten = 0
        if needsRewrite || page.hasFailed {
            rewritten = try usingReserve { recovery throws(LogError) in try recovery.rewriteTail(page) }
        }
        // This is a step of its own, so that its retry does not repeat `rewriteTail`, whose manifest is already in
        // force.
        try usingReserve { recovery throws(LogError) in try recovery.trimSealedSegments() }
        return rewritten
    }

    /// Runs a step. If the step fails because the disk is full, it has changed nothing. Then the reserve is removed,
    /// and the step is run once more with that space. The reserve exists so that a store on a full disk can still be
    /// opened, and space can be freed.
    private mutating func usingReserve<Result>(
        _ step: (inout Recovery) throws(LogError) -> Result
    ) throws(LogError) -> Result {
        do throws(LogError) {
            return try step(&self)
        } catch  where error.code == .diskFull {
            try folder.removeIfPresent(folder.reserve)
            return try step(&self)
        } catch {
            // The disk was full at the sync of the manifest's name. The next opening begins with whichever manifest
            // is in force, and can use the reserve's space.
            if case .storage(let cause) = error.code, cause.code == .noSpace {
                try? folder.removeIfPresent(folder.reserve)
            }
            throw error
        }
    }

    /// Step 5: makes what was read durable in a new segment of a new epoch, in which the log continues. Returns how
    /// many commits were rewritten. If it throws `.diskFull`, the store is unchanged, and it may be called again. After
    /// any other error the new manifest may be in force and list the new segment. Then the store must be opened again,
    /// from whichever manifest is there.
    mutating func rewriteTail(_ page: SharedPage) throws(LogError) -> Int {
        let old = manifest.openSegment
        let reader = try SegmentReader(folder, old, storeID: manifest.storeID)
        let unconfirmed = scan.unconfirmed
        let keep = unconfirmed.first.map { $0.range.lowerBound } ?? scan.commitEnd
        let keptChain = unconfirmed.first?.chainBefore ?? scan.commitChain
        let epoch = manifest.epoch + 1
        let header = SegmentHeader(
            storeID: manifest.storeID, epoch: epoch, segment: old.segment + 1, chain: keptChain.crc,
            firstVersion: durable + 1, mark: durable, salt: folder.makeSalt())
        let cipher = folder.cipher(header)
        try removeUnlistedSegments()

        // The new segment.
        let name = folder.segment(header.segment)
        let file = try stored(folder.create(name))
        defer { file.close() }
        let schema = missing == nil ? try schema(before: keep, reader) ?? [] : []
        let (start, startChain) = SegmentPrologue.encode(
            header, schema: schema, time: unconfirmed.first?.timeBefore ?? scan.lastTime, cipher: cipher)
        var out = ByteWriter(capacity: 1 << 20)
        out.append(start)
        var chain = startChain
        var written = 0
        for commit in unconfirmed {
            var offset = commit.range.lowerBound
            var oldChain = commit.chainBefore
            while offset < commit.range.upperBound {
                guard case .frame(var frame, let next) = try reader.item(at: offset, after: oldChain) else {
                    throw LogError(
                        .damage, path: reader.path, offset: offset, detail: "the frame changed while it was read")
                }
                let payload = try reader.payload(of: frame)
                offset = frame.end
                oldChain = next
                if !frame.kind.isPart { continue }
                frame.epoch = epoch
                frame.segment = header.segment
                frame.offset = UInt64(written + out.count)
                frame.mark = durable
                let start = out.count
                out.appendZeros(FrameHeader.byteCount)
                out.append(payload)
                out.appendZeros(start + frame.frameByteCount - out.count)
                chain = FrameSealing.complete(
                    frame, in: UnsafeMutableRawBufferPointer(rebasing: out.mutableBytes[start...]), cipher: cipher,
                    after: chain)
                if out.count >= 1 << 20 {
                    try flush(&out, to: file, &written)
                }
            }
        }
        try flush(&out, to: file, &written)
        try stored(file.sync())
        try stored(folder.sync(.log))

        // The new manifest.
        var next = manifest
        next.generation += 1
        next.epoch = epoch
        if missing == nil {
            next.segments[next.segments.count - 1].seal(lastVersion: durable, byteCount: keep, keptChain)
        } else {
            next.segments = []
            next.earlier = []
        }
        next.segments.append(Manifest.Segment(header))
        try replaceManifest(with: next, page)
        durable = scan.lastVersion
        scan.chain = chain
        scan.end = written
        checkpoints.removeFirst(missing == nil ? 0 : checkpoints.count - 1)
        let rewritten = unconfirmed.count
        scan.unconfirmed = []
        scan.broken = nil
        return rewritten
    }

    private func flush(_ out: inout ByteWriter, to file: any StorageFile, _ written: inout Int) throws(LogError) {
        let bytes = out.bytes
        try stored(file.write(bytes, at: written))
        written += out.count
        out.removeAll()
    }

    /// The schema in force at `end`.
    private func schema(before end: Int, _ reader: SegmentReader) throws(LogError) -> [UInt8]? {
        if end == scan.end { return scan.schema }
        var schema: [UInt8]?
        var scratch = ByteWriter()
        var offset = reader.header.byteCount
        var chain = reader.chain
        while offset < end, case .frame(let frame, let next) = try reader.item(at: offset, after: chain) {
            chain = next
            if frame.kind == .schema || frame.kind == .segmentSchema {
                schema = [UInt8](try reader.rawPayload(of: frame, in: &scratch))
            }
            offset = frame.end
        }
        return schema
    }

    /// Removes segments that were left by a crash before the manifest listed them: they were never part of the store.
    func removeUnlistedSegments() throws(LogError) {
        let listed = Set(manifest.segments.map(\.segment))
        for name in try folder.list(.log) {
            if let number = StoreFolder.segmentNumber(of: name), !listed.contains(number),
                number > manifest.openSegment.segment
            {
                try folder.removeIfPresent(StoreFileName(name, in: .log))
            }
        }
    }

    /// The newest sealed segment if its file is longer than its sealed length: the file, and the length to which it is
    /// to be cut. It is cut once the manifest that seals it is durable. Nil if there is nothing to cut.
    func uncutSegment() throws(LogError) -> (name: StoreFileName, end: Int)? {
        guard let entry = manifest.segments.dropLast().last else { return nil }
        let name = folder.segment(entry.segment)
        guard let status = try stored(folder.status(name)),
            status.byteCount > Int(entry.byteCount)
        else { return nil }
        return (name, Int(entry.byteCount))
    }

    private func trimSealedSegments() throws(LogError) {
        guard let segment = try uncutSegment() else { return }
        try stored { () throws(StorageError) in
            let file = try folder.open(segment.name, .readWrite)
            defer { file.close() }
            try file.truncate(to: segment.end)
            try file.sync()
        }
    }
}
