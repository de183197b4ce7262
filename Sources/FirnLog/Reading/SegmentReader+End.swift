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
        guard entry.isSealed, let keyRing = folder.keyRing, !keyRing.hasCheckedEnd(of: entry) else { return }
        var offset = header.byteCount
        var chain = chain
        while offset < byteCount {
            guard let (frame, next) = try frame(at: offset, after: chain) else {
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
                detail: "the segment ends with another frame than the manifest says")
        }
        keyRing.setEndChecked(of: entry)
    }
}
