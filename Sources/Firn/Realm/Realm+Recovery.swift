import FirnCore
import FirnLog

extension Realm {
    /// What opening the store found, and did about it.
    public struct Recovery: Sendable, Equatable, CustomStringConvertible {
        public enum Outcome: Sendable, Equatable {
            /// There was no store; one was made.
            case created
            /// The log was whole.
            case clean
            /// The log ended in a commit that was never acknowledged as durable. What there was of it was cut off.
            case tornTail
        }

        public let outcome: Outcome
        /// The last version that was there; 0 in a store without a commit.
        public let lastVersion: UInt64
        /// Bytes that were cut off.
        public let cutByteCount: Int
        /// Whole commits that no mark in the log proved to be on the disk, and that were therefore written once more.
        public let rewrittenCommits: Int
        /// What was found and done, with the file and the place.
        public let description: String

        init(_ report: RecoveryReport) {
            lastVersion = report.lastVersion
            rewrittenCommits = report.rewrittenCommits
            var text: String
            switch report.outcome {
            case .created:
                (outcome, cutByteCount) = (.created, 0)
                text = "The store was made."
            case .clean:
                (outcome, cutByteCount) = (.clean, 0)
                text = "The log was whole up to version \(report.lastVersion)."
            case .tornTail(let tail):
                (outcome, cutByteCount) = (.tornTail, tail.byteCount)
                text = tail.description.prefix(1).uppercased() + tail.description.dropFirst()
            }
            if report.rewrittenCommits > 0 {
                let what = report.rewrittenCommits == 1 ? "1 whole commit" : "\(report.rewrittenCommits) whole commits"
                text += " \(what) at the end that the disk might not have had went there now."
            }
            if let missing = report.missingFromLog {
                text += " The log ended before the checkpoint: the disk lost versions \(missing.lowerBound) to "
                text += "\(missing.upperBound) of it after it had synced them. No object is missing; "
                text += "earlier versions can't be opened."
            }
            description = text
        }
    }

    /// What recovery did when this process opened the store; nil for a realm in memory.
    public var recovery: Recovery? { instance.store.recovery.map(Recovery.init) }
}
