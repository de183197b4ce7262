import FirnBytes
import FirnStorage

/// Why a subcommand could not do its work: what, where, and what to do. The exit status is part of the tool's promise.
struct ToolError: Error, CustomStringConvertible {
    enum Status: Int32 {
        case fine = 0
        /// Bytes that were durable are not what was written.
        case damage = 1
        /// The call makes no sense: a wrong option, a version that the store does not hold, an output that exists.
        case usage = 2
        /// The system refused, or what stands there is no store that this tool can read.
        case input = 3
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

/// Runs a call of the storage and says its failure in the tool's words.
@inline(__always)
func stored<T>(_ body: () throws(StorageError) -> T) throws(ToolError) -> T {
    do {
        return try body()
    } catch {
        throw ToolError(error)
    }
}
