import FirnCore

extension Realm {
    /// What opening the store found after its last use, and what it did about it: see `Realm.recovery`.
    public struct Recovery: Sendable, Equatable, CustomStringConvertible {
        /// The state in which the log was found.
        public enum Outcome: Sendable, Equatable {
            /// There was no store; one was created.
            case created
            /// The log was intact.
            case clean
            /// The log ended in a commit that was never acknowledged as durable. Its remains were cut off. A read-only
            /// realm leaves them in the file, and does not read them.
            case tornTail
        }

        /// The state in which the log was found.
        public let outcome: Outcome
        /// The last version that was found; 0 for a store without a commit.
        public let lastVersion: UInt64
        /// Bytes that were cut off, or left out by a read-only realm; 0 unless the outcome is `.tornTail`.
        public let cutByteCount: Int
        /// Complete commits that no durable mark covered, and that were therefore rewritten.
        public let rewrittenCommits: Int
        /// A text about what was found and done; for a torn tail, with the file and the offset.
        public let description: String

        init(_ report: RecoveryReport) {
            lastVersion = report.lastVersion
            rewrittenCommits = report.rewrittenCommits
            var text: String
            switch report.outcome {
            case .created:
                (outcome, cutByteCount) = (.created, 0)
                text = "The store was created."
            case .clean:
                (outcome, cutByteCount) = (.clean, 0)
                text = "The log was intact up to version \(report.lastVersion)."
            case .tornTail(let tail):
                (outcome, cutByteCount) = (.tornTail, tail.byteCount)
                text = tail.description.prefix(1).uppercased() + tail.description.dropFirst()
            }
            if report.rewrittenCommits > 0 {
                let what = report.rewrittenCommits == 1 ? "1 whole commit" : "\(report.rewrittenCommits) whole commits"
                text += " Rewrote \(what) at the end, which might not have been on the disk."
            }
            if let missing = report.missingFromLog {
                text += " The log ended before the checkpoint: the disk lost versions \(missing.lowerBound) to "
                text += "\(missing.upperBound) of it after it had synced them. No object is missing; "
                text += "earlier versions can't be opened."
            }
            description = text
        }
    }

    /// What recovery did when this process opened the store; nil for a realm in memory. O(1). May be read on any
    /// thread.
    public var recovery: Recovery? { instance.store.recovery.map(Recovery.init) }
}
