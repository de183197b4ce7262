import FirnStorage
import FirnTestSupport

/// Misfortunes that chance alone would hardly ever bring together.
extension Simulation {
    /// A process ends while names that it has changed are not durable. The next one that opens the store ends while it does so, perhaps after the disk was full. Then the power goes. So whatever the second one
    /// removes or writes must not rely on what the first has not synced.
    func strikeTwice(_ process: SimulatedProcess) throws {
        guard !process.isReadOnly else { return try transact(process) }
        tell("process \(process.number), the next one, and then the power will end")
        report.doubleStops += 1
        let isDiskFull = random.below(3) == 0
        if isDiskFull {
            try endBeforeSync(process)
        } else {
            try endAmongNames(process)
        }
        if process.store != nil { end(process) }
        // Nobody else has the store open, so the next opener cleans up, and recovers the log.
        for other in processes where other.store != nil && random.below(8) != 0 {
            disk.kill(other.storage)
            end(other)
        }
        let (callsBeforeFault, callsBeforeStop) = (CallCount(random.below(8)), CallCount(random.below(10)))
        besetsOpening = { storage in
            if isDiskFull {
                storage.inject(
                    SimulatedFault(.noSpace, number: 28, residue: .all) {
                        ($0.operation == .rename || $0.operation == .syncFolder) && callsBeforeFault.isOver()
                    })
            }
            storage.crash {
                $0.isOfNames && callsBeforeFault.hasSaidYes(ifNeeded: isDiskFull) && callsBeforeStop.isOver()
            }
        }
        try open(process)
        try cutPower(random.below(2) == 0 ? .seeded : .probability(data: 1, names: 0.5))
    }

    /// A commit is written and not synced, so the next opener writes it again under a new epoch.
    private func endBeforeSync(_ process: SimulatedProcess) throws {
        process.storage.crash { $0.operation == .sync && $0.path.hasSuffix(".segment") }
        for _ in 0..<4 where process.store != nil { try transact(process) }
    }

    /// It ends before it syncs the folder in which it has replaced the manifest, or near any other change of names.
    private func endAmongNames(_ process: SimulatedProcess) throws {
        let isAtManifest = random.below(3) != 0
        let left = CallCount(random.below(isAtManifest ? 2 : 20))
        process.storage.crash { call in
            guard isAtManifest ? call.operation == .syncFolder && call.path == "/store" : call.isOfNames else {
                return false
            }
            return left.isOver()
        }
        try compact(process)
        if process.store != nil { try transact(process) }
        if process.store != nil { try close(process) }
    }
}

/// Says no a number of times, then yes. For one thread at a time.
private final class CallCount: @unchecked Sendable {
    // The simulation has one thread.
    private var left: Int

    init(_ left: Int) { self.left = left }

    func isOver() -> Bool {
        left -= 1
        return left < 0
    }

    /// Whether it has said yes, or need not.
    func hasSaidYes(ifNeeded isNeeded: Bool) -> Bool { !isNeeded || left < 0 }
}
