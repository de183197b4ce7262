@testable import FirnCore

// In a file of its own, since FirnCore and the tool use the same names for many things.
extension Store {
    /// Writes a checkpoint of everything, or only of what has changed, however much of the one before is garbage.
    func compact(wholly isWhole: Bool) throws -> CompactionReport? { try compact(garbageShare: isWhole ? -1 : 10) }
}
