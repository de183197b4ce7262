/// Memory that one transaction leaves to the next, so that a small one allocates next to nothing. It belongs to whoever holds the write lock.
final class TransactionWorkspace {
    @exclusivity(unchecked) private var writer: NodeWriter.Memory?
    @exclusivity(unchecked) private var encoder: ChangesetEncoder.Workspace?
    @exclusivity(unchecked) var differ = RowTree.Differ()

    deinit { if let writer { writer.deallocate() } }

    func takeWriter() -> NodeWriter.Memory? {
        // Not `Optional.take`: Swift 6.3.1 without optimisation finds a value in `writer?.deallocate()` after it, and so
        // freed the memory a second time (swiftc -Onone: a struct of pointers, set to nil by generic code).
        let taken = writer
        writer = nil
        return taken
    }

    func keep(_ memory: NodeWriter.Memory) {
        if memory.isLarge || writer != nil { memory.deallocate() } else { writer = memory }
    }

    func takeEncoder() -> ChangesetEncoder.Workspace { encoder.take() ?? ChangesetEncoder.Workspace() }

    func keep(_ workspace: ChangesetEncoder.Workspace) {
        workspace.removeAll()
        encoder = workspace
    }
}
