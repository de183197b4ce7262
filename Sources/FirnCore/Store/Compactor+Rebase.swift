extension Compactor {
    /// How many stamps the writer may take while a rebase runs.
    private static let rebaseStampCount: UInt64 = 1 << 32
    /// A round that copies fewer nodes than this leaves so few that the rest may be done under the write lock.
    private static let smallRebaseRound = 1000
    private static let rebaseRounds = 16

    /// The stamp of the next rebase. It is above all stamps that the writer takes meanwhile.
    var rebaseStamp: UInt64 { context.stamps.load(ordering: .relaxed) + Compactor.rebaseStampCount }

    /// Runs a complete rebase. If it throws, the tip is unchanged.
    func run(_ rebase: inout Rebase) throws(StoreError) {
        // These pins are held to the end: the rebase identifies nodes by their addresses, so no node may be freed and
        // its address used again.
        var rounds: [Pin] = []
        do throws(StoreError) {
            for _ in 0..<Compactor.rebaseRounds {
                let pin = versions.pinForStore(.published)
                rounds.append(pin)
                if try rebase.catchUp(to: pin) < Compactor.smallRebaseRound { break }
            }
            guard store.acquireForCheckpoint() else { throw Store.endsBesideTransaction }
        } catch {
            rebase.discard()
            throw error
        }
        let before: Pin
        let after: Pin
        do throws(StoreError) {
            defer { store.queue.release() }
            before = versions.pinForStore(.tip)
            // If the tip is not durable yet, a failure may still undo it.
            try store.waitUntilPublished(before.version)
            precondition(
                context.stamps.load(ordering: .relaxed) < rebase.stamp, "Firn: a rebase ran out of stamps")
            after = try rebase.finish(before)
            context.stamps.store(rebase.stamp, ordering: .relaxed)
        } catch {
            rebase.discard()
            throw error
        }
        withExtendedLifetime(rounds) {}
        rebase.release(before, after)
        context.checkpointGarbage.wrappingAdd(rebase.noteDead(before), ordering: .relaxed)
    }
}
