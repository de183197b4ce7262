import FirnBytes
import FirnLog

/// Passes the parts of a commit from the encoder to the log.
///
/// The only part of a small commit is written on this thread, straight from the encoder's memory. The parts of a larger
/// one go through the log's workers, which compress and write while the next part is encoded.
final class PartSink {
    let log: Log
    let version: UInt64
    let mayUseReserve: Bool
    @exclusivity(unchecked) private var appender: CommitAppender?
    @exclusivity(unchecked) private var position: FramePosition?
    @exclusivity(unchecked) private(set) var failure: LogError?

    init(_ log: Log, _ version: UInt64, mayUseReserve: Bool) {
        self.log = log
        self.version = version
        self.mayUseReserve = mayUseReserve
    }

    /// Makes an encoder whose parts this sink takes.
    func makeEncoder(
        workspace: ChangesetEncoder.Workspace = ChangesetEncoder.Workspace(), hasOldValues: Bool = true
    ) -> ChangesetEncoder {
        ChangesetEncoder(part: log.takeBuffer(), workspace: workspace, hasOldValues: hasOldValues) { part, isLast in
            self.take(part, isLast: isLast)
        }
    }

    func add(_ kind: LogPartKind, _ part: consuming ByteWriter) {
        guard failure == nil else { return }
        do throws(LogError) {
            var begun =
                if let begun = appender.take() { begun } else {
                    try log.beginCommit(version: version, mayUseReserve: mayUseReserve)
                }
            try begun.add(kind, part)
            appender = consume begun
        } catch {
            failure = error
        }
    }

    /// Takes a part, and returns memory for the next one.
    private func take(_ part: consuming ByteWriter, isLast: Bool) -> ByteWriter {
        // Encoding may be the first read of some old values, so it may meet damage. The last part is then not written,
        // so there is no commit.
        if let met = DamageRecord.met, failure == nil {
            failure = LogError(.damage, path: log.options.folder, detail: met.text)
        }
        if isLast, appender == nil, failure == nil {
            do throws(LogError) {
                position = try log.beginCommit(version: version, mayUseReserve: mayUseReserve)
                    .seal(.changes, part.bytes)
            } catch {
                failure = error
            }
            part.removeAll()
            return part
        }
        add(.changes, part)
        return isLast ? ByteWriter(capacity: 16) : log.takeBuffer()
    }

    /// Aborts the commit and leaves the log as it was.
    func abandon() {
        if let begun = appender.take() { begun.abort() }
    }

    /// Ends the commit in the log.
    ///
    /// - Returns: the commit's time.
    func seal() throws(LogError) -> Int64 {
        if let failure {
            abandon()
            throw failure
        }
        if let begun = appender.take() { position = try begun.seal() }
        guard let position else { preconditionFailure("Firn: a commit has no part") }
        return position.time
    }
}
