/// Some objects of a class that follow each other in the file, with the leaves of their values.
///
/// It is valid until the body returns that gets it.
public struct ObjectBatch {
    enum Column {
        /// Values. The first object has the leaf's value at `offset`.
        case values(Leaf, offset: Int)
        /// Timestamps of a format up to 9: their seconds and nanoseconds are trees of their own.
        case timestamps(Leaf, offset: Int, nanoseconds: Leaf, nanosecondsOffset: Int)
        /// References of collections.
        case collections(FileNode, offset: Int, RealmFileCollection.Kind, ElementType, isSubtable: Bool)
        /// The leaf has no object.
        case missing
    }

    public let count: Int
    let keys: FileNodes.ClusterKeys
    let columns: [Column]
    let nodes: FileNodes

    /// The key of an object, by which links find it.
    public func key(_ index: Int) -> Int64 { keys[index] }

    /// The value of a property for an object.
    ///
    /// - Parameters:
    ///   - property: the index of the property in its class.
    ///   - index: the index of the object in the batch.
    public func value(_ property: Int, _ index: Int) throws(RealmFileError) -> RealmFileValue {
        switch columns[property] {
        case .values(let leaf, let offset): return try leaf.value(offset + index, nodes)
        case .timestamps(let seconds, let offset, let nanoseconds, let nanosecondsOffset):
            guard case .int(let value) = try seconds.value(offset + index, nodes),
                case .int(let rest) = try nanoseconds.value(nanosecondsOffset + index, nodes)
            else { return .null }
            return .timestamp(seconds: value, nanoseconds: rest)
        case .collections(let node, let offset, let kind, let element, let isSubtable):
            return .collection(
                RealmFileCollection(
                    kind: kind, element: element, reference: Int(node.signed(offset + index)), isSubtable: isSubtable))
        case .missing: throw .damage("objects lack the values of a property", at: 0)
        }
    }
}
