import FirnBytes
import FirnLog
import FirnStorage

/// An error of a store: a call that it refuses, or a failure. The text says what happened, where, and what to do.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// The log or its files failed: see the error inside.
        case log(LogError)
        /// Something in the files contradicts itself although its checksums are right.
        case damage
        /// An object with that primary key already exists.
        case primaryKeyTaken
        /// The requested schema does not fit the schema of the store, or contradicts itself.
        case schema
        /// Another process has changed the schema in a way that this process can't follow.
        case schemaChangedElsewhere
        /// A limit of `Limits` was exceeded.
        case limit
        /// A setting is not possible for this kind of store.
        case unsupported
        /// More is held than `StoreOptions.maximumNumberOfActiveVersions` or `maximumRetainedByteCount` allows. The
        /// text lists the holders.
        case tooManyActiveVersions
        /// The store is read-only.
        case readOnly
        /// The version is not retained, and nothing holds it.
        case versionNotRetained
        /// The version does not exist yet.
        case versionNotYet
        /// The store has been closed, or its process was forked.
        case closed
    }

    package let code: Code
    private let text: String

    init(_ code: Code, _ text: String) {
        self.code = code
        self.text = DisplayText.lines(text)
    }

    init(_ error: LogError) {
        code = .log(error)
        text = error.description
    }

    init(_ error: StorageError) { self.init(LogError(error)) }

    /// A failed storage call. It is not reported as a full disk, even if the disk is full.
    init(lasting error: StorageError) { self.init(LogError(lasting: error)) }

    /// Whether the disk was full. If so, nothing has changed.
    var isDiskFull: Bool {
        if case .log(let error) = code { error.code == .diskFull } else { false }
    }

    package var description: String { text }
}

/// Calls the log, and turns its error into a `StoreError`.
@inline(__always)
func logged<T>(_ call: @autoclosure () throws(LogError) -> T) throws(StoreError) -> T {
    do { return try call() } catch { throw StoreError(error) }
}

/// Makes several calls of the log. If one fails, turns its error into a `StoreError`.
@inline(__always)
func logged<T>(_ calls: () throws(LogError) -> T) throws(StoreError) -> T {
    do { return try calls() } catch { throw StoreError(error) }
}
