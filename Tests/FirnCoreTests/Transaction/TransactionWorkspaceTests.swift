import Testing

@testable import FirnCore

@Suite(.timeLimit(.minutes(20))) struct TransactionWorkspaceTests {
    /// In its own process, because memory that is freed twice ends the process.
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

    /// Each table has a mark of its own: the keys that a cancelled transaction has used are used by no other.
    @Test func theMarkOfATableOutlivesTheOthers() {
        let workspace = TransactionWorkspace()
        workspace.keepKeys(below: 5, of: 1)
        workspace.keepKeys(below: 7, of: 3)
        workspace.keepKeys(below: 6, of: 1)
        workspace.dropKeyMark(of: 1, upTo: 5)
        #expect(workspace.keyMarks == [0, 6, 0, 7])
        for table in [1, 1, 0, 9] { workspace.dropKeyMark(of: table, upTo: 6) }
        #expect(workspace.keyMarks == [0, 0, 0, 7])
        workspace.dropKeyMark(of: 3, upTo: 9)
        #expect(workspace.keyMarks.isEmpty)
    }
}
