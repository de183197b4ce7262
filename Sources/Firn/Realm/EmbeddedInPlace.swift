import FirnCore

/// The embedded objects that a property of an existing object leads to, which an update with `.modified` changes in
/// place: those of a list by their indices, those of a map by their keys.
struct EmbeddedInPlace {
    private var byIndex: [Int64?] = []
    private var byKey: [MapKeyBytes: Int64] = [:]

    /// The objects of a link, list or map.
    init(_ value: Value?) {
        switch value {
        case .list(let elements): byIndex = elements.map(\.linkedKey)
        case .map(let entries):
            for entry in entries { byKey[MapKeyBytes(entry.key)] = entry.value.linkedKey }
        case let link?: byIndex = [link.linkedKey]
        case nil: break
        }
    }

    /// The key of the object with a key in the map, or at an index if `mapKey` is nil; nil if there is none.
    func key(at index: Int, orOf mapKey: String?) -> Int64? {
        if let mapKey { return byKey[MapKeyBytes(mapKey)] }
        return index < byIndex.count ? byIndex[index] : nil
    }
}
