import FirnBytes
import FirnStorage

extension LogWalk {
    /// Decides whether a break in the log is damage or a torn tail.
    ///
    /// `state.markBehind` is the highest mark found behind an earlier break. No later break has a higher one behind it.
    /// So if that mark makes the break damage, the bytes behind are not searched again.
    func judge(
        _ problem: String, state: inout State, offset: Int, file: SegmentFile, header: SegmentHeader,
        isLast: Bool
    ) throws -> Finding {
        let version = state.next
        guard isLast else {
            return Finding(
                kind: .damage, file: file.path, offset: offset, text: "\(problem); version \(version) should begin here"
            )
        }
        func damage() -> Finding {
            Finding(
                kind: .damage, file: file.path, offset: offset,
                text: "\(problem); version \(version), which should begin here, was durable")
        }
        if max(state.mark, state.markBehind, store.page?.durable ?? 0, store.limit ?? 0) >= version { return damage() }
        let behind = try lookBehind(offset, file: file, header: header)
        state.markBehind = max(state.markBehind, behind.mark)
        if behind.mark >= version { return damage() }
        // The commit's whole parts are cut off, too.
        let (byteCount, frames) = (behind.end - state.commitStart, behind.frames + Int(state.nextPart))
        let text =
            "\(problem) while version \(version) was being committed: \(byteCount) bytes with \(frames) intact frames. "
            + "No durable mark covers any of it; the next opening for writing cuts it off"
        return Finding(kind: .tornTail, file: file.path, offset: offset, text: text)
    }

    /// Searches the bytes behind a break. Returns the highest durable mark in the headers of frames, the number of
    /// intact frames, and the offset from which only zeros follow.
    private func lookBehind(
        _ start: Int, file: SegmentFile, header: SegmentHeader
    ) throws -> (mark: UInt64, frames: Int, end: Int) {
        var mark: UInt64 = 0
        var frames = 0
        var offset = start
        var end = start
        while true {
            switch try file.itemBehind(at: offset, of: header) {
            case .end, .zeros: return (mark, frames, end)
            case .frame(let frame):
                mark = max(mark, frame.mark)
                frames += 1
                offset = frame.end
                end = offset
            case .bad(_, let frame):
                if let frame { mark = max(mark, frame.mark) }
                let bytes = try file.bytes(at: offset, count: FormatNumbers.alignment)
                if !bytes.isAllZero { end = offset + bytes.count }
                guard let next = try file.nextCandidate(behind: offset) else { return (mark, frames, end) }
                offset = next
            }
        }
    }

    /// Finds the frame behind a break from which reading can continue: the first part of a commit, or a mark.
    func resume(
        _ state: inout State, offset: inout Int, file: SegmentFile, header: SegmentHeader,
        _ call: (Event) throws -> Void
    ) throws -> Bool {
        var candidate = try file.nextCandidate(behind: offset)
        while let at = candidate {
            switch try file.itemBehind(at: at, of: header) {
            case .end, .zeros: return false
            case .bad: candidate = try file.nextCandidate(behind: at)
            case .frame(let frame):
                let before = frame.kind.isPart ? frame.version &- 1 : frame.version
                guard frame.kind != .segmentSchema, !frame.kind.isPart || frame.part == 0, before >= state.version,
                    before <= FormatNumbers.number
                else {
                    candidate = frame.end
                    continue
                }
                if before > state.version {
                    let which =
                        before == state.next ? "version \(before)" : "versions \(state.next) to \(before)"
                    try call(
                        .finding(
                            Finding(kind: .damage, file: file.path, offset: offset, text: "\(which) can't be read")))
                }
                state.version = before
                state.isBroken = false
                offset = Int(frame.offset)
                state.commitStart = offset
                try call(.resumed(after: before))
                return true
            }
        }
        return false
    }

    /// Checks that a segment ends where it should. Returns true if the walk continues with the next one.
    func finish(
        _ state: State, offset: Int, file: SegmentFile, entry: Manifest.Segment, isLast: Bool,
        _ call: (Event) throws -> Void
    ) throws -> Bool {
        func damage(_ text: String) throws -> Bool {
            try call(.finding(Finding(kind: .damage, file: file.path, offset: offset, text: text)))
            return continuesAfterDamage
        }
        if let seal = entry.seal {
            guard state.version == seal.lastVersion else {
                return try damage(
                    "the segment ends with version \(state.version), but the manifest says \(seal.lastVersion)")
            }
            if let chain = state.chain, chain != seal.chainEnd || seal.endTag != file.endTag {
                return try damage("the segment's last frame is not the one that the manifest names")
            }
        } else if isLast {
            let durable = max(state.mark, store.page?.durable ?? 0, store.limit ?? 0)
            if durable > state.version {
                let isCopied = durable == store.page?.durable && store.page?.isCopied ?? false
                return try damage(
                    "the log ends with version \(state.version), but version \(durable) was durable"
                        + (isCopied
                            ? ": this folder was copied while the store was written, and lacks what was committed meanwhile"
                            : ""))
            }
        } else {
            return try damage("the segment ends with version \(state.version); the next one does not follow it")
        }
        return true
    }
}
