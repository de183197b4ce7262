import FirnBytes
import FirnStorage

/// Walks the log of a store frame by frame, in order, checks each, and judges what it meets by the rules of recovery.
///
/// - Sealed segments were synced before the manifest said so: what is wrong with one is damage.
/// - In the last one, B is the first place where no good frame of the chain stands. If a durable mark (in any frame's head, before or behind B, in the
///   segment's head, or in the shared page) has reached the version at B, that version was durable: damage. Otherwise all from B on is a torn tail.
/// - Beside a running writer, the last segment is read to the version that the writer has published and no further: what follows is work in progress.
struct LogWalk {
    enum Event {
        /// A segment begins.
        case segment(SegmentHeader, path: String)
        /// The next frame of the chain, and its payload as it is stored. Valid during the call.
        case frame(FrameHeader, UnsafeRawBufferPointer, path: String)
        /// The commit of this frame, its last, is whole.
        case commit(FrameHeader, path: String)
        case finding(Finding)
        /// Behind damage: reading goes on with the version after this one; what it builds on is not known.
        case resumed(after: UInt64)
    }

    /// What the walk came to.
    struct Summary {
        /// The last whole version, and its time.
        var lastVersion: UInt64 = 0
        var lastTime: Int64 = 0
        /// The highest version that is known to be durable.
        var durable: UInt64 = 0
        var isDamaged = false
        /// The visitor ended it.
        var wasStopped = false
        var tornTail: Finding?
    }

    /// Where the walk stands in the chain.
    struct State {
        /// The checksum that the next frame must repeat; nil where it is not known.
        var chain: UInt32?
        /// The last whole version.
        var version: UInt64
        var time: Int64 = .min
        /// Parts seen of the commit that has begun.
        var nextPart: UInt32 = 0
        /// The highest durable mark met.
        var mark: UInt64 = 0
        /// The highest one behind a break of this segment.
        var markBehind: UInt64 = 0
        /// Something between the last whole version and what comes could not be read.
        var isBroken = false

        var next: UInt64 { version &+ 1 }
    }

    let store: OpenedStore
    /// Go on behind damage, at the next good frame.
    var goesOn = false
    /// Begin with the segment that holds this version.
    var from: UInt64 = 1

    /// Thrown through the walk by a visitor that has seen enough.
    private struct Enough: Error {}

    /// Calls `visit` with each event, in order, until it returns false.
    func run(_ visit: (Event) throws -> Bool) throws -> Summary {
        var summary = Summary()
        let segments = store.manifest.segments
        let first = segments.lastIndex { $0.firstVersion <= max(from, 1) } ?? 0
        var state = State(
            chain: first > 0 ? segments[first - 1].seal?.chainEnd : segments[first].number == 1 ? 0 : nil,
            version: segments[first].firstVersion - 1)
        func call(_ event: Event) throws {
            if case .finding(let finding) = event {
                if finding.kind == .damage { summary.isDamaged = true }
                if finding.kind == .tornTail { summary.tornTail = finding }
            }
            if try !visit(event) { throw Enough() }
        }
        do {
            for index in first..<segments.count {
                if try !segment(index, &state, call) { break }
            }
        } catch is Enough {
            summary.wasStopped = true
        } catch let error as StorageError {
            throw ToolError(error)
        }
        summary.lastVersion = state.version
        summary.lastTime = max(state.time, 0)
        summary.durable = min(state.version, max(state.mark, store.page?.durable ?? 0))
        return summary
    }

    /// Walks one segment; false where the walk ends there.
    private func segment(_ index: Int, _ state: inout State, _ call: (Event) throws -> Void) throws -> Bool {
        let entry = store.manifest.segments[index]
        let isLast = index == store.manifest.segments.count - 1
        guard let (file, head) = try open(entry, &state, call) else { return goesOn }
        try call(.segment(head, path: file.path))
        if state.isBroken || head.firstVersion != state.next {
            state.version = head.firstVersion - 1
            state.isBroken = false
            try call(.resumed(after: state.version))
        }
        state.chain = head.crc
        state.nextPart = 0
        state.markBehind = 0
        state.mark = max(state.mark, head.firstVersion - 1, head.mark)
        // Without a manifest that tells where a segment ends: what is behind the next one's first version was written again there.
        let end = entry.seal == nil && !isLast ? store.manifest.segments[index + 1].firstVersion : .max
        var offset = SegmentHeader.byteCount
        while true {
            if state.nextPart == 0 {
                if state.next >= end { return true }
                if isLast, let limit = store.limit, state.version >= limit { return false }
            }
            let problem: String
            switch try step(&state, &offset, file, head, isSealed: !isLast, call) {
            case .passed: continue
            case .ended:
                return try finish(state, offset, file, entry, isLast: isLast, call)
            case .problem(let text): problem = text
            }
            let finding = try judge(problem, &state, offset, file, head, isLast: isLast)
            try call(.finding(finding))
            guard finding.kind == .damage, goesOn else { return false }
            state.isBroken = true
            state.chain = nil
            state.nextPart = 0
            guard try resume(&state, &offset, file, head, call) else { return true }
        }
    }

    /// Opens a segment and checks its head; nil (and `state` broken) where nothing in it can be read.
    private func open(
        _ entry: Manifest.Segment, _ state: inout State, _ call: (Event) throws -> Void
    ) throws -> (SegmentFile, SegmentHeader)? {
        let path = store.files.segment(entry.number)
        func damage(_ offset: Int?, _ text: String) throws {
            try call(.finding(Finding(.damage, path, offset, text)))
            state.isBroken = true
        }
        let file: SegmentFile
        do throws(StorageError) {
            file = try SegmentFile(path, store.files.storage)
        } catch {
            guard error.code == .notFound else { throw ToolError(error) }
            try damage(nil, "the manifest lists this segment, but it is missing")
            return nil
        }
        if file.isTooLong {
            try damage(file.fileByteCount, "the file is longer than any can be")
            return nil
        }
        if let seal = entry.seal {
            let size = file.fileByteCount
            if size < seal.byteCount {
                try damage(size, "the file ends here, but the manifest says that it has \(seal.byteCount) bytes")
                if !goesOn { return nil }
            } else if size > seal.byteCount {
                let text =
                    "\(size - seal.byteCount) bytes behind the segment's end count for nothing: a crash left them, and the next open "
                    + "for writing cuts them off"
                try call(.finding(Finding(.note, path, seal.byteCount, text)))
            }
            file.limit(to: seal.byteCount)
        }
        switch SegmentHeader.read(try file.bytes(at: 0, count: SegmentHeader.byteCount)) {
        case .refused(let reason):
            try damage(0, reason)
            return nil
        case .head(let head):
            guard head.storeHigh == store.manifest.storeHigh,
                store.isSalvaged || head.storeLow == store.manifest.storeLow
            else {
                try damage(0, "the segment belongs to another store")
                return nil
            }
            guard head.segment == entry.number, head.epoch == entry.epoch, head.firstVersion == entry.firstVersion
            else {
                try damage(
                    0,
                    "the segment's head (segment \(head.segment), epoch \(head.epoch), first version \(head.firstVersion)) is not the one that the manifest lists"
                )
                return nil
            }
            if let chain = state.chain, !state.isBroken, chain != head.chain {
                try damage(0, "the segment does not follow the one before it")
                if !goesOn { return nil }
            }
            return (file, head)
        }
    }

    private enum Step {
        case passed
        case problem(String)
        case ended
    }

    /// Passes one frame.
    private func step(
        _ state: inout State, _ offset: inout Int, _ file: SegmentFile, _ head: SegmentHeader, isSealed: Bool,
        _ call: (Event) throws -> Void
    ) throws -> Step {
        let frame: FrameHeader
        switch try file.item(at: offset, of: head) {
        case .end, .zeros:
            if state.nextPart != 0 { return .problem("the log ends within the commit of version \(state.next)") }
            if isSealed, offset < file.byteCount { return .problem("there are zeros where a frame should be") }
            return .ended
        case .bad(let reason, _): return .problem(reason)
        case .frame(let found): frame = found
        }
        if let problem = check(frame, state, offset) { return .problem(problem) }
        try call(.frame(frame, try file.payload(of: frame), path: file.path))
        offset = frame.end
        state.chain = frame.crc
        state.time = frame.time
        state.mark = max(state.mark, frame.mark)
        if frame.kind.isPart {
            state.nextPart = frame.isLast ? 0 : state.nextPart &+ 1
            if frame.isLast {
                state.version = frame.version
                try call(.commit(frame, path: file.path))
            }
        }
        return .passed
    }

    /// Why a good frame does not belong where it stands; nil where it does.
    private func check(_ frame: FrameHeader, _ state: State, _ offset: Int) -> String? {
        if let chain = state.chain, frame.chain != chain {
            return "the frame does not follow the one before it (chain)"
        }
        if frame.kind.isPart {
            guard frame.version == state.next else {
                return "the frame is of version \(frame.version), but version \(state.next) should stand here"
            }
            guard frame.part == state.nextPart else {
                return "the frame is part \(frame.part), but part \(state.nextPart) should stand here"
            }
            guard frame.part == 0 || frame.time == state.time else {
                return "the frame's time is another than that of the part before it"
            }
        } else {
            guard state.nextPart == 0 else {
                return "a \(frame.kind) stands within the commit of version \(state.next)"
            }
            guard frame.version == state.version else {
                return "a \(frame.kind) is of version \(frame.version), but stands behind version \(state.version)"
            }
            guard frame.kind != .opening || offset == SegmentHeader.byteCount else {
                return "an opening stands within a segment, not at its begin"
            }
        }
        guard frame.mark <= state.version else {
            return "the frame calls version \(frame.mark) durable, which is not written yet"
        }
        guard frame.time >= state.time else { return "the frame's time is before that of the frame before it" }
        return nil
    }
}
