import FirnSimulation
import FirnTestSupport
import Testing

/// Runs `Simulation` with a few seeds. `Tools/simulate` runs more of them, and longer.
@Suite(.timeLimit(.minutes(20))) struct SimulationTests {
    private func options(_ operations: Int) -> Simulation.Options {
        var options = Simulation.Options()
        options.operations = operations
        return options
    }

    /// The number of operations per seed. `FIRN_SIMULATED_OPERATIONS` raises it for nightly runs.
    private static var operations: Int {
        Int(TestEnvironment.value("FIRN_SIMULATED_OPERATIONS") ?? "") ?? 1500
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func crashesAndPowerCutsLoseNothingThatWasAcknowledged(seed: UInt64) throws {
        let report = try Simulation.run(seed: seed, options(Self.operations))
        #expect(
            report.commits > 50 && report.powerCuts > 0 && report.crashes > 0 && report.doubleStops > 0, "\(report)")
    }

    @Test func aSeedAlwaysDoesTheSame() throws {
        let first = try Simulation.run(seed: 9, options(1000))
        let second = try Simulation.run(seed: 9, options(1000))
        #expect(first.hash.value == second.hash.value && first.operations == second.operations)
        #expect(try Simulation.run(seed: 10, options(1000)).hash.value != first.hash.value)
    }

    /// Without faults no commit may be lost, and no call may fail, whatever the durability.
    @Test func withoutDisturbancesNothingFails() throws {
        var calm = options(1500)
        calm.powerCuts = false
        calm.crashes = false
        calm.faults = false
        let report = try Simulation.run(seed: 20, calm)
        #expect(report.crashes == 0 && report.faults == 0 && report.commits > 100)
    }
}

/// Runs `OperatorDay` with a few seeds. `Tools/simulate --operators` runs more of them, and longer.
@Suite(.timeLimit(.minutes(20))) struct OperatorDayTests {
    private static var operations: Int {
        Int(TestEnvironment.value("FIRN_OPERATOR_OPERATIONS") ?? "") ?? 1500
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func operatorsLoseNothingThatWasAcknowledgedAndNoStoreTouchesAnother(seed: UInt64) throws {
        let report = try OperatorDay.run(seed: seed, operations: Self.operations)
        #expect(
            report.commits > 100 && report.moves > 30 && report.spoiled > 1 && report.refusals > 1, "\(report)")
    }
}
