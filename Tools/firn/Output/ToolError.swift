import FirnBytes
import FirnStorage

/// Why a subcommand failed: what happened, where, and what to do. The exit status is part of the tool's interface.
struct ToolError: Error, CustomStringConvertible {
    enum Status: Int32 {
        case fine = 0
        /// Bytes that were durable are no longer what was written.
        case damage = 1
        /// The call makes no sense: a wrong option, a version that the store does not hold, an output that exists.
        case usage = 2
        /// The system refused, or the path is not a store that this tool can read.
        case input = 3
        /// A signal has asked the process to end. It ends as the signal would have ended it.
        case interrupted = 130
    }

    var status: Status
    var description: String

    init(_ status: Status, _ description: String) {
        self.status = status
        self.description = description
    }

    init(_ error: StorageError) {
        self.init(.input, error.description)
    }

    init(_ finding: Finding) {
        self.init(.damage, finding.description)
    }
}

/// Calls the storage, and turns its error into a `ToolError`.
@inline(__always)
func stored<T>(_ call: @autoclosure () throws(StorageError) -> T) throws(ToolError) -> T {
    do { return try call() } catch { throw ToolError(error) }
}

/// Makes several calls of the storage, and turns an error of any of them into a `ToolError`.
@inline(__always)
func stored<T>(_ calls: () throws(StorageError) -> T) throws(ToolError) -> T {
    do { return try calls() } catch { throw ToolError(error) }
}
