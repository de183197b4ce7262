@testable import FirnCore

// In a file of its own, as FirnCore and the tool call many things by the same names.
extension Store {
    /// Writes a checkpoint of everything, or of what has changed alone, however much of the one before is garbage.
    func compact(wholly isWhole: Bool) throws -> CompactionReport? { try compact(garbageShare: isWhole ? -1 : 10) }
}
