import FirnBytes
import FirnStorage

/// Walks the log of a store frame by frame, in order, and checks each frame. The rules of recovery decide whether a
/// problem is damage:
///
/// - A sealed segment was synced before the manifest called it sealed: any problem in it is damage.
/// - In the last segment, B is the first offset without a good frame of the chain. Durable marks are in the headers of
///   all frames, before and behind B, in the segment's header, and in the shared page. If one of them has reached the
///   version at B, that version was durable, and the break is damage. Otherwise everything from B on is a torn tail.
/// - If a writer is running, the last segment is read up to the version that the writer has published and no further.
///   What follows is not finished.
struct LogWalk {
    enum Event {
        /// A segment begins.
        case segment(SegmentHeader, path: String)
        /// The next frame of the chain, and its payload as it is stored. Valid during the call.
        case frame(FrameHeader, UnsafeRawBufferPointer, path: String)
        /// The commit is complete: this frame is its last.
        case commit(FrameHeader, path: String)
        case finding(Finding)
        /// Reading continues behind damage, with the version after this one. The state before that version is not
        /// known.
        case resumed(after: UInt64)
    }

    /// The result of a walk.
    struct Summary {
        /// The last complete version, and its time.
        var lastVersion: UInt64 = 0
        var lastTime: Int64 = 0
        /// The highest version that is known to be durable.
        var durable: UInt64 = 0
        var isDamaged = false
        /// Whether the visitor ended the walk.
        var wasStopped = false
        var tornTail: Finding?
        /// Where another walk may go on: behind the last complete version.
        var end: Position?
    }

    /// A position between two commits.
    struct Position {
        fileprivate var segment: Manifest.Segment
        fileprivate var state: State
        var version: UInt64 { state.version }
    }

    /// The walk's position in the chain.
    struct State {
        /// The checksum that the next frame must repeat; nil if it is not known.
        var chain: UInt32?
        /// The last complete version.
        var version: UInt64
        var time: Int64 = .min
        /// How many parts of the current commit have been read.
        var nextPart: UInt32 = 0
        /// Where the current commit begins: the end of the last frame that was not followed by more parts.
        var commitStart = SegmentHeader.byteCount
        /// The highest durable mark so far.
        var mark: UInt64 = 0
        /// The highest durable mark behind a break of this segment.
        var markBehind: UInt64 = 0
        /// Whether something after the last complete version could not be read.
        var isBroken = false

        var next: UInt64 { version &+ 1 }
    }

    let store: OpenedStore
    /// Whether the walk continues behind damage, at the next good frame.
    var continuesAfterDamage = false
    /// The walk begins with the segment that holds this version.
    var from: UInt64 = 1
    /// Where the walk begins instead, if the position still exists: recovery and compaction may remove it.
    var position: Position?

    /// Thrown through the walk when the visitor asks to stop.
    private struct VisitorStopped: Error {}

    /// Calls `visit` with each event, in order, until it returns false.
    func run(_ visit: (Event) throws -> Bool) throws -> Summary {
        var summary = Summary()
        let segments = store.manifest.segments
        // Only a store that is being recovered has no segment.
        guard !segments.isEmpty else { return summary }
        let resumed = position.flatMap(index)
        let first = resumed ?? segments.lastIndex { $0.firstVersion <= max(from, 1) } ?? 0
        var state = State(
            chain: first > 0 ? segments[first - 1].seal?.chainEnd : segments[first].number == 1 ? 0 : nil,
            version: segments[first].firstVersion - 1)
        if resumed != nil, let position { state = position.state }
        var end = resumed == nil ? nil : position
        func call(_ event: Event) throws {
            if case .finding(let finding) = event {
                if finding.kind == .damage { summary.isDamaged = true }
                if finding.kind == .tornTail { summary.tornTail = finding }
            }
            if try !visit(event) { throw VisitorStopped() }
        }
        var current = first
        do {
            for index in first..<segments.count {
                current = index
                if try !segment(index, state: &state, end: &end, resumes: index == resumed, call) { break }
            }
        } catch is VisitorStopped {
            summary.wasStopped = true
            if let finding = try damage(inSealed: current) {
                summary.isDamaged = true
                _ = try visit(.finding(finding))
            }
        } catch let error as StorageError {
            throw ToolError(error)
        }
        summary.end = end
        summary.lastVersion = state.version
        summary.lastTime = max(state.time, 0)
        summary.durable = min(state.version, max(state.mark, store.page?.durable ?? 0))
        return summary
    }

    /// What is wrong with a sealed segment of an encrypted store in which the visitor has stopped; nil if nothing is.
    ///
    /// A copy of the store has the same keys. That a segment is the store's own is seen by its last frame alone, which
    /// the manifest names.
    private func damage(inSealed index: Int) throws -> Finding? {
        let entry = store.manifest.segments[index]
        guard let seal = entry.seal, seal.endTag != 0 else { return nil }
        var state = State(chain: nil, version: entry.firstVersion - 1)
        var end: Position?
        var found: Finding?
        _ = try segment(index, state: &state, end: &end, resumes: false) { event in
            if case .finding(let finding) = event, finding.kind == .damage { found = found ?? finding }
        }
        return found
    }

    /// The index of the segment that a position lies in; nil if the segment, or what was read of it, is gone.
    private func index(of position: Position) -> Int? {
        let segments = store.manifest.segments
        guard
            let index = segments.firstIndex(where: {
                $0.number == position.segment.number && $0.epoch == position.segment.epoch
            })
        else { return nil }
        if let seal = segments[index].seal {
            return seal.lastVersion >= position.version && seal.byteCount >= position.state.commitStart ? index : nil
        }
        return index == segments.count - 1 || segments[index + 1].firstVersion > position.version ? index : nil
    }

    /// Walks one segment. Returns false if the walk ends there.
    ///
    /// - Parameters:
    ///   - end: is moved behind each complete version.
    ///   - resumes: whether the walk goes on within the segment, at `state`.
    private func segment(
        _ index: Int, state: inout State, end: inout Position?, resumes: Bool, _ call: (Event) throws -> Void
    ) throws -> Bool {
        let entry = store.manifest.segments[index]
        let isLast = index == store.manifest.segments.count - 1
        guard let (file, header) = try open(entry, chain: resumes ? nil : state.chain, state: &state, call) else {
            return continuesAfterDamage
        }
        try call(.segment(header, path: file.path))
        if resumes {
            state.markBehind = 0
        } else {
            try begin(header, state: &state, call)
        }
        // Without a seal, the next segment's first version says where this one ends. Frames behind that point were
        // rewritten to the next segment.
        let last = entry.seal == nil && !isLast ? store.manifest.segments[index + 1].firstVersion : .max
        var offset = state.commitStart
        while true {
            if state.nextPart == 0 {
                if state.version > end?.version ?? 0 { end = Position(segment: entry, state: state) }
                if state.next >= last { return true }
                if isLast, let limit = store.limit, state.version >= limit { return false }
            }
            try Interrupts.check()
            let problem: String
            switch try step(&state, offset: &offset, file: file, header: header, isSealed: !isLast, call) {
            case .passed: continue
            case .ended:
                return try finish(state, offset: offset, file: file, entry: entry, isLast: isLast, call)
            case .problem(let text): problem = text
            }
            let finding = try judge(problem, state: &state, offset: offset, file: file, header: header, isLast: isLast)
            try call(.finding(finding))
            guard finding.kind == .damage, continuesAfterDamage else { return false }
            state.isBroken = true
            state.chain = nil
            state.nextPart = 0
            guard try resume(&state, offset: &offset, file: file, header: header, call) else { return true }
        }
    }

    /// Moves to the beginning of a segment.
    private func begin(
        _ header: SegmentHeader, state: inout State, _ call: (Event) throws -> Void
    ) throws {
        if state.isBroken || header.firstVersion != state.next {
            state.version = header.firstVersion - 1
            state.isBroken = false
            try call(.resumed(after: state.version))
        }
        state.chain = header.crc
        state.nextPart = 0
        state.commitStart = header.end
        state.markBehind = 0
        state.mark = max(state.mark, header.firstVersion - 1, header.mark)
    }

    private enum Step {
        case passed
        case problem(String)
        case ended
    }

    /// Reads one frame and moves behind it.
    private func step(
        _ state: inout State, offset: inout Int, file: SegmentFile, header: SegmentHeader, isSealed: Bool,
        _ call: (Event) throws -> Void
    ) throws -> Step {
        let frame: FrameHeader
        switch try file.item(at: offset, of: header) {
        case .end, .zeros:
            if state.nextPart != 0 { return .problem("the log ends within the commit of version \(state.next)") }
            if isSealed, offset < file.byteCount { return .problem("there are zeros where a frame should be") }
            return .ended
        case .bad(let reason, _): return .problem(reason)
        case .frame(let found): frame = found
        }
        if let problem = check(frame, state: state, offset: offset, header: header) { return .problem(problem) }
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
        if state.nextPart == 0 { state.commitStart = offset }
        return .passed
    }

    /// Why a good frame does not belong at its offset; nil if it does.
    private func check(_ frame: FrameHeader, state: State, offset: Int, header: SegmentHeader) -> String? {
        if let chain = state.chain, frame.chain != chain {
            return "the frame does not follow the one before it (chain)"
        }
        if frame.kind.isPart {
            guard frame.version == state.next else {
                return "the frame is of version \(frame.version), but version \(state.next) should be here"
            }
            guard frame.part == state.nextPart else {
                return "the frame is part \(frame.part), but part \(state.nextPart) should be here"
            }
            guard frame.part == 0 || frame.time == state.time else {
                return "the frame's time differs from that of the part before it"
            }
        } else {
            let kind = frame.kind == .mark ? "mark" : "segment schema"
            guard state.nextPart == 0 else {
                return "a \(kind) lies within the commit of version \(state.next)"
            }
            guard frame.version == state.version else {
                return "a \(kind) is of version \(frame.version), but follows version \(state.version)"
            }
            guard frame.kind != .segmentSchema || offset == header.end else {
                return "a segment schema lies within a segment, not at its beginning"
            }
        }
        guard frame.mark <= state.version else {
            return "the frame says that version \(frame.mark) is durable, which is not written yet"
        }
        guard frame.time >= state.time else { return "the frame's time is before that of the frame before it" }
        return nil
    }
}
