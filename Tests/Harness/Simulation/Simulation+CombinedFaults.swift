import FirnStorage
import FirnTestSupport

/// Combinations of faults that would hardly ever occur by chance.
extension Simulation {
    /// Ends two processes one after the other, and then cuts the power.
    ///
    /// The first process ends while names that it has changed are not durable. The next one that opens the store ends
    /// while it does so, perhaps after the disk was full. Then the power fails. So whatever the second process
    /// removes or writes must not depend on what the first has not synced.
    func endTwoProcesses(_ process: SimulatedProcess) throws {
        guard !process.isReadOnly else { return try transact(process) }
        recordStep("process \(process.number) and then the next one will end, and then the power will fail")
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
        let (callsBeforeFault, callsBeforeStop) = (Countdown(random.below(8)), Countdown(random.below(10)))
        armNextOpening = { storage in
            if isDiskFull {
                storage.inject(
                    SimulatedFault(.noSpace, number: 28, residue: .all) {
                        ($0.operation == .rename || $0.operation == .syncFolder) && callsBeforeFault.tick()
                    })
            }
            storage.crash {
                $0.changesNames && callsBeforeFault.isOver(ifNeeded: isDiskFull) && callsBeforeStop.tick()
            }
        }
        try open(process)
        try cutPower(random.below(2) == 0 ? .seeded : .probability(data: 1, names: 0.5))
    }

    /// Ends the process when a commit is written but not synced, so that the next opener rewrites it under a new epoch.
    private func endBeforeSync(_ process: SimulatedProcess) throws {
        process.storage.crash { $0.operation == .sync && $0.path.hasSuffix(".segment") }
        for _ in 0..<4 where process.store != nil { try transact(process) }
    }

    /// Ends the process before it syncs the folder in which it has replaced the manifest, or near any other change of
    /// names.
    private func endAmongNames(_ process: SimulatedProcess) throws {
        let isAtManifest = random.below(3) != 0
        let callsLeft = Countdown(random.below(isAtManifest ? 2 : 20))
        process.storage.crash { call in
            guard isAtManifest ? call.operation == .syncFolder && call.path == "/store" : call.changesNames else {
                return false
            }
            return callsLeft.tick()
        }
        try compact(process)
        if process.store != nil { try transact(process) }
        if process.store != nil { try close(process) }
    }
}

/// Counts calls down. For one thread at a time.
private final class Countdown: @unchecked Sendable {
    // The simulation has one thread.
    private var left: Int

    init(_ left: Int) { self.left = left }

    /// Counts a call. False for the first `left` calls, true for all later ones.
    func tick() -> Bool {
        left -= 1
        return left < 0
    }

    /// Whether `tick` has returned true, or need not.
    func isOver(ifNeeded isNeeded: Bool) -> Bool { !isNeeded || left < 0 }
}
