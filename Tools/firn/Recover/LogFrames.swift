import FirnBytes
import FirnStorage

/// Every whole frame of a log, whatever lies between them.
///
/// A frame counts if its checksums are right and it says that it belongs at its offset in this segment of this store.
/// It need not follow the frame before it, because that frame may be damaged.
struct LogFrames {
    /// A frame as it lies in its segment.
    struct Frame {
        let header: FrameHeader
        /// The payload as it is stored. Valid while the frame is visited.
        let payload: UnsafeRawBufferPointer
        /// The segment's path.
        let path: String
        /// Whether something between the frame before it and this frame can't be read.
        let followsDamage: Bool
    }

    /// The store. Its manifest is completed by the segments that it did not list.
    let store: OpenedStore
    var segments: [Manifest.Segment] { store.manifest.segments }
    /// The first version that the log should hold.
    var firstVersion: UInt64 { store.manifest.firstVersion }

    init(_ store: OpenedStore) throws {
        var store = store
        store.manifest.segments = try Self.segments(store)
        self.store = store
    }

    // MARK: Segments

    /// The segments that the manifest lists, and others of the same store. If the manifest is an old one that was
    /// restored, the others come after its own. If it was pieced together, the others have damaged headers.
    private static func segments(_ store: OpenedStore) throws -> [Manifest.Segment] {
        let listed = store.manifest.segments
        var segments = listed
        for number in try store.files.segmentNumbers() where !listed.contains(where: { $0.number == number }) {
            guard store.isSalvaged || number > listed.last?.number ?? 0,
                let found = try? segment(number, store)
            else { continue }
            segments.append(found)
        }
        segments.sort { $0.number < $1.number }
        // A segment that does not follow the segments before it is left out.
        var highest: UInt64 = 0
        return segments.filter { segment in
            guard segment.firstVersion >= highest else { return false }
            highest = segment.firstVersion
            return true
        }
    }

    /// A segment of this store that the manifest does not list, read from its header or, if that is damaged, from its
    /// first part. Nil if it is no such segment.
    private static func segment(_ number: UInt32, _ store: OpenedStore) throws -> Manifest.Segment? {
        let file = try SegmentFile(store.files.segment(number), store.files.storage)
        let start = try file.bytes(at: 0, count: SegmentHeader.byteCount)
        if let header = try? SegmentHeader.read(start) {
            guard header.segment == number, header.storeHigh == store.manifest.storeHigh,
                store.isSalvaged || header.storeLow == store.manifest.storeLow
            else { return nil }
            return Manifest.Segment(number: number, epoch: header.epoch, firstVersion: header.firstVersion)
        }
        var offset = SegmentHeader.byteCount
        while true {
            try Interrupts.check()
            let bytes = try file.bytes(at: offset, count: FrameHeader.byteCount)
            if let frame = try? FrameHeader.read(bytes), frame.storeHigh == store.manifest.storeHigh,
                frame.segment == number, frame.offset == UInt64(offset), frame.kind.isPart,
                frame.version > 0, frame.version <= FormatNumbers.number
            {
                return Manifest.Segment(number: number, epoch: frame.epoch, firstVersion: frame.version)
            }
            guard let next = try file.nextCandidate(behind: offset) else { return nil }
            offset = next
        }
    }

    /// Whether the last segment is missing, or another file has its name.
    ///
    /// - Parameter hasFrames: whether any frame of the last segment is whole.
    func isLastSegmentLost(hasFrames: Bool) throws -> Bool {
        guard let segment = segments.last,
            let file = try? SegmentFile(store.files.segment(segment.number), store.files.storage)
        else { return true }
        let start = try file.bytes(at: 0, count: SegmentHeader.byteCount)
        guard let header = try? SegmentHeader.read(start) else { return !hasFrames }
        return header.storeHigh != store.manifest.storeHigh || header.segment != segment.number
    }

    // MARK: Frames

    /// Calls `visit` with each whole frame, in order. Returns what is wrong with the segments.
    @discardableResult func forEachFrame(_ visit: (Frame) throws -> Void) throws -> [Finding] {
        var findings: [Finding] = []
        for (index, segment) in segments.enumerated() {
            let end = index + 1 < segments.count ? segments[index + 1].firstVersion : .max
            let path = store.files.segment(segment.number)
            do {
                let file = try SegmentFile(path, store.files.storage)
                if let seal = segment.seal { file.limit(to: seal.byteCount) }
                let header = try header(of: file, segment, findings: &findings)
                try forEachFrame(of: file, header, before: end, findings: &findings, visit)
            } catch let error as StorageError {
                // A file that may be readable another time is not given up.
                if [.permissionDenied, .tooManyOpenFiles, .outOfMemory].contains(error.code) { throw ToolError(error) }
                // A disk that fails in one segment is no reason to give up the others.
                findings.append(
                    Finding(
                        kind: .damage, file: path, offset: nil,
                        text: error.code == .notFound
                            ? "the manifest lists this segment, but it is missing" : "it can't be read: \(error)"))
            }
        }
        return findings
    }

    /// The header of a segment, or one made from the manifest if it is damaged.
    private func header(
        of file: SegmentFile, _ segment: Manifest.Segment, findings: inout [Finding]
    ) throws(StorageError) -> SegmentHeader {
        let start = try file.bytes(at: 0, count: SegmentHeader.byteCount)
        var header = SegmentHeader(
            segment: segment.number, storeHigh: store.manifest.storeHigh, storeLow: store.manifest.storeLow,
            epoch: segment.epoch, chain: 0, firstVersion: segment.firstVersion, mark: 0,
            hasSalt: store.files.keys != nil)
        do throws(Damage) {
            let found = try SegmentHeader.read(start)
            guard found.storeHigh == store.manifest.storeHigh, found.segment == segment.number else {
                throw Damage("the segment's header is not that of this segment")
            }
            header = found
        } catch {
            findings.append(Finding(kind: .damage, file: file.path, offset: 0, text: error.text))
        }
        if let problem = try file.unlock(header, store.files.keys) {
            findings.append(
                Finding(kind: .damage, file: file.path, offset: SegmentHeader.byteCount, text: problem))
        }
        return header
    }

    private func forEachFrame(
        of file: SegmentFile, _ header: SegmentHeader, before end: UInt64, findings: inout [Finding],
        _ visit: (Frame) throws -> Void
    ) throws {
        var offset = header.end
        var damage: Int?
        var version: UInt64 = 0
        while true {
            try Interrupts.check()
            switch try file.itemBehind(at: offset, of: header) {
            case .end, .zeros: return
            case .bad(let reason, _):
                if damage == nil {
                    findings.append(Finding(kind: .damage, file: file.path, offset: offset, text: reason))
                }
                damage = damage ?? offset
                guard let next = try file.nextCandidate(behind: offset) else { return }
                offset = next
            case .frame(let frame):
                offset = frame.end
                // Skips what a crash left behind the segment's end, and what was rewritten to a later segment.
                if frame.version >= end && frame.kind.isPart || frame.version < version { continue }
                if frame.kind.isPart && frame.version == 0 || frame.version > FormatNumbers.number { continue }
                version = frame.version
                try visit(
                    Frame(
                        header: frame, payload: try file.payload(of: frame), path: file.path,
                        followsDamage: damage != nil))
                damage = nil
            }
        }
    }
}
