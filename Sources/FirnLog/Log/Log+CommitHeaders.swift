import FirnStorage

/// What the headers of a commit's frames say.
package struct CommitHeader: Sendable, Equatable {
    package let version: UInt64
    /// Nanoseconds since 1970.
    package let time: Int64
    /// The number of bytes of the commit's frames in the log.
    package let byteCount: Int
}

extension Log {
    /// When the store was made, in nanoseconds since 1970.
    package var created: Int64 { get throws(LogError) { try manifest().created } }

    /// The first version that the log holds, or will hold.
    package var firstVersion: UInt64 { get throws(LogError) { try manifest().segments[0].firstVersion } }

    /// Calls `body` with the header of each commit in some ranges of versions, in order; versions that the log does
    /// not hold are skipped.
    ///
    /// Cost: the headers of the segments that hold them, up to the last version asked for; no payload is
    /// decompressed or checked. In an encrypted store, the first time, all bytes of these segments.
    ///
    /// - Parameter versions: written versions, in order and without overlap.
    package func forEachHeader(
        of versions: [ClosedRange<UInt64>], _ body: (CommitHeader) -> Void
    ) throws(LogError) {
        try checkOpen()
        var cursor = LogCursor(folder: folder, manifest: try manifest())
        // The last version that `body` was called with, so that none is delivered twice if the log has changed and
        // is read again.
        var delivered: UInt64 = 0
        while true {
            do throws(LogError) {
                for entry in cursor.manifest.segments {
                    let wanted = versions.filter {
                        $0.upperBound > delivered && $0.upperBound >= entry.firstVersion
                            && (!entry.isSealed || $0.lowerBound <= entry.lastVersion)
                    }
                    guard let last = wanted.last?.upperBound else { continue }
                    try cursor.checkEnd(of: entry)
                    try cursor.forEachHeader(in: entry, through: last) { header in
                        if header.version > delivered, wanted.contains(where: { $0.contains(header.version) }) {
                            delivered = header.version
                            body(header)
                        }
                        return true
                    }
                }
                return
            } catch {
                guard try cursor.reloadManifest(after: error) else { throw error }
            }
        }
    }

    /// Runs `body` with the manifest in force. If `body` throws and the manifest has been replaced meanwhile, runs it
    /// again with the new one. Another process's compactor may have removed files that the old manifest lists.
    func readingOn<Result>(
        _ body: (Manifest) throws(LogError) -> Result
    ) throws(LogError) -> Result {
        var manifest = try manifest()
        while true {
            do throws(LogError) {
                return try body(manifest)
            } catch {
                let next = try folder.readManifest()
                if next.generation == manifest.generation { throw error }
                manifest = next
            }
        }
    }

    /// The newest version up to `through` whose time meets a condition; nil if there is none. The condition must be
    /// true up to some moment and false after it.
    ///
    /// Cost: one header of each segment that begins later, and the headers of one segment. In an encrypted store, the
    /// first time, all bytes of that segment and of the one behind it.
    package func newestVersion(
        through: UInt64, where isNotLater: (Int64) -> Bool
    ) throws(LogError) -> UInt64? {
        try checkOpen()
        var cursor = LogCursor(folder: folder, manifest: try manifest())
        while true {
            do throws(LogError) {
                // The segment behind: only its first commit's time was read. The segments behind that one are later.
                var behind: Manifest.Segment?
                for entry in cursor.manifest.segments.reversed() {
                    var found: UInt64?
                    var isRead = false
                    try cursor.forEachHeader(in: entry, through: through) { header in
                        isRead = true
                        guard isNotLater(header.time) else { return false }
                        found = header.version
                        return true
                    }
                    if let found {
                        try cursor.checkEnd(of: entry)
                        if let behind { try cursor.checkEnd(of: behind) }
                        return found
                    }
                    if isRead { behind = entry }
                }
                if let behind { try cursor.checkEnd(of: behind) }
                return nil
            } catch {
                guard try cursor.reloadManifest(after: error) else { throw error }
            }
        }
    }
}

extension LogCursor {
    /// Calls `body` with the header of each commit of a segment up to version `through`, until `body` returns false.
    /// `through` must be written. Headers are checked; whether the segment is the store's own is not (`checkEnd`).
    func forEachHeader(
        in entry: Manifest.Segment, through: UInt64, _ body: (CommitHeader) -> Bool
    ) throws(LogError) {
        let last = entry.isSealed ? min(through, entry.lastVersion) : through
        guard entry.firstVersion <= last else { return }
        let reader = try SegmentReader(folder, entry, storeID: manifest.storeID)
        var offset = reader.header.byteCount
        var chain = reader.chain
        var version = entry.firstVersion - 1
        // The bytes of the parts read so far of the commit that has begun.
        var byteCount = 0
        while version < last {
            guard let (frame, next) = try reader.frame(at: offset, after: chain),
                frame.version == version + (frame.kind.isPart ? 1 : 0)
            else {
                throw LogError(
                    .damage, path: reader.path, offset: offset,
                    detail: "version \(version + 1) was durable, but there is no intact header of it")
            }
            offset = frame.end
            chain = next
            guard frame.kind.isPart else { continue }
            byteCount += frame.frameByteCount
            guard frame.flags.contains(.last) else { continue }
            guard body(CommitHeader(version: version + 1, time: frame.time, byteCount: byteCount)) else { break }
            version += 1
            byteCount = 0
        }
    }

    /// Checks that a sealed segment of an encrypted store ends as the manifest says: see `SegmentReader.checkEnd`.
    func checkEnd(of entry: Manifest.Segment) throws(LogError) {
        guard folder.needsEndCheck(of: entry) else { return }
        try SegmentReader(folder, entry, storeID: manifest.storeID).checkEnd(entry)
    }
}
