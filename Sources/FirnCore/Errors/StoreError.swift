import FirnBytes
import FirnLog

/// What a store refuses, or what befell it: what happened, where, and what to do.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    public enum Code: Sendable, Equatable {
        /// The log or its files: see the error within.
        case log(LogError)
        /// Something in the files contradicts itself although its checksums are right.
        case damage
        /// An object with that primary key exists.
        case primaryKeyTaken
        /// The schema asked for does not fit the store's, or itself.
        case schema
        /// Another process has changed the schema in a way that this one can't go on with.
        case schemaChangedElsewhere
        /// A limit of `Limits` was passed.
        case limit
        /// More is held than `StoreOptions.maximumNumberOfActiveVersions` or `maximumRetainedByteCount` allows; the text lists the holders.
        case tooManyActiveVersions
        /// The store is read-only.
        case readOnly
        /// The version is not retained, and nothing holds it.
        case versionNotRetained
        /// There is no such version yet.
        case versionNotYet
        /// The store has been closed, or its process was forked.
        case closed
    }

    public let code: Code
    private let text: String

    init(_ code: Code, _ text: String) {
        self.code = code
        self.text = DisplayText.lines(text)
    }

    init(_ error: LogError) {
        code = .log(error)
        text = error.description
    }

    public var description: String { text }
}
