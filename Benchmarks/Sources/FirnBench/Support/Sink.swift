/// Where results go, so that the optimiser can't drop the work that made them. It is written by one thread at a time:
/// each worker passes its sum to the harness, which adds it here.
nonisolated(unsafe) private var sink: UInt64 = 0

@inline(never)
func escape(_ value: UInt64) { sink &+= value }

@inline(never)
func escape(_ value: Int) { sink &+= UInt64(bitPattern: Int64(value)) }

/// A failure in a benchmark, described for the person who runs it.
struct BenchError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Thrown by an engine that has no such operation: the report shows a dash.
struct Unsupported: Error {}
