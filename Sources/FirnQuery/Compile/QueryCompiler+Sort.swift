import FirnCore

extension QueryCompiler {
    /// Binds a path that is used for sorting or for distinct values. The path must lead to a single value, through
    /// to-one links.
    func singleValuePath(_ path: PropertyPath, from table: TableID, _ purpose: String) throws(QueryError)
        -> BoundPath
    {
        let bound = try bind(path, from: table)
        let followsLinksOnly = bound.steps.allSatisfy { if case .link = $0 { true } else { false } }
        guard path.aggregate == nil, path.variable == nil, followsLinksOnly, case .value = bound.end,
            bound.inner.isEmpty
        else {
            throw QueryError(
                .type, "'\(path.text)' does not lead to a single value to \(purpose) by.",
                advice: "Name a property that holds one value, through to-one links.", at: path.position)
        }
        return bound
    }

    func sortKey(_ descriptor: SortDescriptor, from table: TableID) throws(QueryError) -> SortKey {
        let bound = try singleValuePath(descriptor.path, from: table, "sort")
        guard bound.type != .link else {
            throw QueryError(
                .type, "Objects can't be sorted by '\(descriptor.path.text)', which is a link.",
                advice: "Name a property of the linked object.", at: descriptor.path.position)
        }
        return SortKey(path: bound, isAscending: descriptor.isAscending)
    }
}
