import FirnCore

/// An element of a collection of mixed values.
struct MixedElement {
    /// The key in a map; nil in other collections.
    var key: String?
    var mixed: AnyRealmValue

    /// The element as the store keeps it. `link` gives the link of each object.
    func stored(_ link: (ObjectBase) throws -> Value) throws -> Value {
        let value = try mixed.stored(link)
        return key.map { .map([.init(key: $0, value: value)]) } ?? value
    }
}
