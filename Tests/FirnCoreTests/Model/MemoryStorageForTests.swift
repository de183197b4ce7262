import FirnStorage

/// A store's files in memory.
enum MemoryStorageForTests {
    static func make() -> any Storage { MemoryStorage() }
}
