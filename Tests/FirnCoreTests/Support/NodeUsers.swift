@testable import FirnCore

/// Counts how many of some versions reach each node of the heap. So it knows which nodes must be alive after any of
/// the versions goes.
struct NodeUsers {
    private var users: [UInt64: Int] = [:]

    /// Nodes that at least one of the versions reaches.
    var count: Int { users.count }

    /// Adds a version; returns its nodes, for `remove`.
    mutating func add(_ snapshot: Snapshot) -> Set<UInt64> {
        var nodes: Set<UInt64> = []
        snapshot.forEachHeapNode { nodes.insert(NodeRef($0).word) }
        for node in nodes { users[node, default: 0] += 1 }
        return nodes
    }

    mutating func remove(_ nodes: Set<UInt64>) {
        for node in nodes {
            users[node]! -= 1
            if users[node] == 0 { users[node] = nil }
        }
    }
}
