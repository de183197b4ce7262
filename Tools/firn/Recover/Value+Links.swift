import FirnCore

extension Value {
    /// Calls `visit` with each object that the value links to.
    ///
    /// A link without a table leads to the column's target.
    func forEachLink(_ visit: (TableID?, _ key: Int64) -> Void) {
        switch self {
        case .link(let key): visit(nil, key)
        case .typedLink(let table, let key): visit(table, key)
        case .list(let elements), .set(let elements): for element in elements { element.forEachLink(visit) }
        case .map(let entries): for entry in entries { entry.value.forEachLink(visit) }
        default: break
        }
    }

    /// The value with only those links for which `isKept` is true. Any other link becomes nil, or leaves its list or
    /// set.
    func keepingLinks(_ isKept: (TableID?, _ key: Int64) -> Bool) -> Value {
        switch self {
        case .link, .typedLink: leads(isKept) ? self : .null
        case .list(let elements): .list(elements.filter { $0.leads(isKept) }.map { $0.keepingLinks(isKept) })
        case .set(let elements): .set(elements.filter { $0.leads(isKept) }.map { $0.keepingLinks(isKept) })
        case .map(let entries):
            .map(entries.map { Value.MapEntry(key: $0.key, value: $0.value.keepingLinks(isKept)) })
        default: self
        }
    }

    /// False for a link that is not kept.
    private func leads(_ isKept: (TableID?, _ key: Int64) -> Bool) -> Bool {
        switch self {
        case .link(let key): isKept(nil, key)
        case .typedLink(let table, let key): isKept(table, key)
        default: true
        }
    }
}
