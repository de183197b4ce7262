import CFirn

extension Actor {
    /// Whether the caller runs on this actor, so that what belongs to it may be used.
    ///
    /// Swift's own check of an ordinary actor stops the program by itself, with a text that says nothing of realms. So
    /// Swift's runtime is asked where it can be. An actor with an executor of its own is checked by Swift, because the
    /// executor may know a caller that the runtime does not.
    nonisolated var isRunningCaller: Bool {
        let executor = unownedExecutor
        if MemoryLayout.size(ofValue: executor) == 2 * MemoryLayout<UInt>.size {
            let words = unsafeBitCast(executor, to: (identity: UInt, implementation: UInt).self)
            let answer = firn_is_current_executor(words.identity, words.implementation)
            if answer > 0 || answer == 0 && words.implementation == 0 { return answer > 0 }
        }
        preconditionIsolated(
            "Firn: a realm of an actor, or an object or collection of it, was used outside of the actor.")
        return true
    }
}
