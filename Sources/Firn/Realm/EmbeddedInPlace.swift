import FirnCore

/// The embedded objects that a property leads to, which an update with `.modified` changes in place. In a list they are
/// found by their indices, in a map by their keys. `Embedded` is the key of a row, or an instance.
struct EmbeddedInPlace<Embedded> {
    private var byIndex: [Embedded?] = []
    private var byKey: [MapKeyBytes: Embedded] = [:]

    /// The object with a key in the map, or at an index if `mapKey` is nil; nil if there is none.
    func object(at index: Int, orOf mapKey: String?) -> Embedded? {
        if let mapKey { return byKey[MapKeyBytes(mapKey)] }
        return index < byIndex.count ? byIndex[index] : nil
    }
}

extension EmbeddedInPlace<Int64> {
    /// The objects that a link, list or map leads to in the store.
    init(_ value: Value?) {
        switch value {
        case .list(let elements): byIndex = elements.map(\.linkedKey)
        case .map(let entries):
            for entry in entries { byKey[MapKeyBytes(entry.key)] = entry.value.linkedKey }
        case let link?: byIndex = [link.linkedKey]
        case nil: break
        }
    }
}

extension EmbeddedInPlace<ObjectBase> {
    /// The objects that are assigned to a property.
    init(_ elements: [LinkedElement]) {
        for element in elements {
            if let key = element.key {
                byKey[MapKeyBytes(key)] = element.object
            } else {
                byIndex.append(element.object)
            }
        }
    }
}
