import FirnStorage

extension SegmentReader {
    /// Checks, before a part of a sealed segment is read, that the segment ends with the frame that its manifest entry
    /// names. Does so once for each opener, and only in encrypted stores.
    ///
    /// A copy of a store has the same keys. So the frames of a segment that comes from a copy are authentic, and each
    /// of them follows the one before it. Only the last one is not the one that the manifest names.
    ///
    /// Cost: the first time, O(bytes of the segment).
    ///
    /// - Throws: `.damage`, also if a frame behind the part is damaged.
    func checkEnd(_ entry: Manifest.Segment) throws(LogError) {
        guard folder.needsEndCheck(of: entry) else { return }
        try readToEnd(of: entry, from: header.byteCount, after: chain)
        folder.keyRing?.setEndChecked(of: entry)
    }

    /// Reads the frames from an offset to the end of a sealed segment. The last of them must be the one that the
    /// segment's manifest entry names.
    ///
    /// - Parameters:
    ///   - offset: at most the length in the entry.
    ///   - chain: what the frame at the offset follows.
    func readToEnd(of entry: Manifest.Segment, from offset: Int, after chain: FrameChain) throws(LogError) {
        var offset = offset
        var chain = chain
        while offset < entry.byteCount {
            guard case .frame(let frame, let next) = try item(at: offset, after: chain),
                frame.version <= entry.lastVersion
            else {
                throw LogError(
                    .damage, path: path, offset: offset,
                    detail: "there is no intact frame, so no frame of the segment is known to be the store's own")
            }
            offset = frame.end
            chain = next
        }
        guard entry.endsWith(chain) else {
            throw LogError(
                .damage, path: path, offset: offset,
                detail: "the segment's last frame is not the one that the manifest names")
        }
    }
}
