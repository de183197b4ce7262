import FirnBytes
import FirnStorage

extension LogTail {
    /// Repeats the durable mark in a frame of its own, and syncs it. So the last commit, too, is protected by a mark
    /// behind it. Does nothing if the newest frame has the mark already.
    func writeMark() throws(LogError) {
        guard isWriter, group.durableVersion > markWritten else { return }
        let flags: FrameHeader.Flags = isEncrypting ? [.last, .encrypted] : .last
        var buffer = ByteWriter(capacity: 128)
        buffer.appendZeros(FrameHeader.frameByteCount(stored: flags.sealByteCount))
        let part = EncodedPart(
            kind: .mark, flags: flags, version: group.writtenVersion, part: 0, rawCount: 0,
            storedCount: UInt32(flags.sealByteCount), payloadCRC: 0)
        let start = end
        let chain = self.chain
        do {
            try write(&buffer, part, time: nextTime())
        } catch  where error.code == .noSpace {
            // A mark is a precaution; without space for it the log continues.
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
        try group.syncAll()
    }
}
