import CFirn

extension Actor {
    /// Whether the caller runs on this actor, so that what belongs to it may be used.
    ///
    /// Swift's own check of an ordinary actor stops the program by itself, with a text that does not mention realms. So
    /// Swift's runtime is queried directly where that is possible. An actor with an executor of its own is checked by
    /// Swift, because the executor may know a caller that the runtime does not.
    nonisolated var isRunningCaller: Bool {
        if let words = ExecutorWords(unownedExecutor) {
            if words == ExecutorWords(MainActor.sharedUnownedExecutor) { return Scheduler.isOnMain }
            let answer = firn_is_current_executor(words.identity, words.implementation)
            if answer > 0 || answer == 0 && words.implementation == 0 { return answer > 0 }
        }
        preconditionIsolated(
            "Firn: a realm of an actor, or an object or collection of it, was used outside of the actor.")
        return true
    }
}

/// The two words in an `UnownedSerialExecutor` of Swift, which is frozen and so keeps its layout.
private struct ExecutorWords: Equatable {
    let identity: UInt
    /// 0 for an ordinary actor, which has no executor of its own.
    let implementation: UInt

    /// Nil if an executor consists of something else.
    init?(_ executor: UnownedSerialExecutor) {
        guard MemoryLayout<UnownedSerialExecutor>.size == MemoryLayout<ExecutorWords>.size else { return nil }
        self = unsafeBitCast(executor, to: ExecutorWords.self)
    }
}
