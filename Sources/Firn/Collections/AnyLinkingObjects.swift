/// Backlinks of whatever class.
protocol AnyLinkingObjects {
    /// The name of the property whose links lead here.
    var originProperty: String { get }
    var originType: ObjectBase.Type { get }
}
