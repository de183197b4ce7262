/// Backlinks from objects of any class, for code that does not know the class.
protocol AnyLinkingObjects {
    /// The name of the property whose links lead here.
    var originProperty: String { get }
}
