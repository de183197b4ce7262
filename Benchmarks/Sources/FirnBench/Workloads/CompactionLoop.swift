import Synchronization

/// Compacts again and again, on a thread of its own, until it is stopped.
final class CompactionLoop: Sendable {
    private let worker: Worker<() throws -> Void>
    private let isStopping = Flag()
    private let rounds = Box(0)

    /// Nil if the engine has no compactor that can run beside writers.
    static func start(_ engine: any Engine) throws -> CompactionLoop? {
        do { return try CompactionLoop(engine) } catch is Unsupported { return nil }
    }

    private init(_ engine: any Engine) throws {
        worker = try Worker { try engine.makeCompactor() }
        let isStopping = isStopping
        let rounds = rounds
        worker.start { compact in
            // At least once more after the last change.
            while true {
                let isLast = isStopping.isSet
                try compact()
                rounds.value += 1
                if isLast { return }
            }
        }
    }

    /// Ends the loop after a last compaction that begins after this call. Returns how many there were.
    @discardableResult
    func stop() throws -> Int {
        isStopping.set()
        try worker.wait()
        worker.stop()
        return rounds.value
    }
}

/// A signal from one thread to another.
final class Flag: Sendable {
    private let value = Atomic<Bool>(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
}
