/// Memory that one transaction leaves to the next, so that a small one allocates next to nothing. Only the holder of
/// the write lock uses it.
final class TransactionWorkspace {
    @exclusivity(unchecked) private var writer: NodeWriter.Memory?
    @exclusivity(unchecked) private var encoder: ChangesetEncoder.Workspace?
    @exclusivity(unchecked) var differ = RowTree.Differ()
    /// A mark for each table: the first key that no transaction has used, if a cancelled transaction has used keys of
    /// the table; otherwise 0. Empty if no table has a mark.
    ///
    /// A mark keeps new objects from getting the keys of cancelled ones, whose accessors may still exist. Both the
    /// marks and these accessors exist in this process alone.
    @exclusivity(unchecked) private(set) var keyMarks: [Int64] = []
    /// The number of tables that have a mark.
    @exclusivity(unchecked) private var markCount = 0

    deinit { if let writer { writer.deallocate() } }

    /// - Parameter mark: the first unused key, above 0.
    func keepKeys(below mark: Int64, of table: Int) {
        while keyMarks.count <= table { keyMarks.append(0) }
        if keyMarks[table] == 0 { markCount += 1 }
        keyMarks[table] = max(keyMarks[table], mark)
    }

    /// Removes the mark of a table if it is not above the table's next key.
    func dropKeyMark(of table: Int, upTo nextKey: Int64) {
        guard table < keyMarks.count, keyMarks[table] > 0, keyMarks[table] <= nextKey else { return }
        keyMarks[table] = 0
        markCount -= 1
        if markCount == 0 { keyMarks = [] }
    }

    func takeWriter() -> NodeWriter.Memory? {
        // Not `Optional.take`: without optimisation, Swift 6.3.1 still finds a value in `writer?.deallocate()` after
        // it. So the memory was freed a second time (swiftc -Onone: a struct of pointers, set to nil by generic code).
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
