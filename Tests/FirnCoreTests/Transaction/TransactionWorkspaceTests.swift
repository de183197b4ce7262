import Testing

@testable import FirnCore

/// Each test runs in its own process, because memory that is freed twice ends the process.
@Suite(.timeLimit(.minutes(20))) struct TransactionWorkspaceTests {
    @Test func memoryMovedOutOfTheWorkspaceIsNotFreedWithIt() async {
        await #expect(processExitsWith: .success) {
            for _ in 0..<100 {
                let workspace = TransactionWorkspace()
                workspace.keep(NodeWriter(stamp: 1).dispose())
                guard let memory = workspace.takeWriter() else { fatalError("nothing was kept") }
                if workspace.takeWriter() != nil { fatalError("it was given twice") }
                memory.deallocate()
                withExtendedLifetime(workspace) {}
            }
        }
    }
}
