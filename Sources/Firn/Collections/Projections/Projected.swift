import FirnStorage

/// Makes a property of a `Projection` read and write a property of the projected object.
///
/// ```swift
/// class PersonCard: Projection<Person> {
///     @Projected(\Person.name) var name
///     @Projected(\Person.address?.city) var city
///     @Projected(\Person.name.count) var length
/// }
/// ```
///
/// Any key path of the class may be given: to a stored property, through links, or further to a computed property of
/// the value. An access to the property costs as much as an access to the key path. Setting the property needs a write
/// transaction if the object is managed. It stops the program if the key path can't be set.
///
/// An initial value has no effect, because the values are in the object.
@propertyWrapper
public struct Projected<T: ObjectBase, Value> {
    fileprivate let keyPath: KeyPath<T, Value>

    /// A property that shows the value that `keyPath` leads to.
    public init(_ keyPath: KeyPath<T, Value>) { self.keyPath = keyPath }

    /// A property that shows the value that `keyPath` leads to. The initial value is not used.
    public init(wrappedValue _: @autoclosure () -> Value, _ keyPath: KeyPath<T, Value>) { self.keyPath = keyPath }

    /// Not available: `@Projected` works on properties of `Projection` subclasses only.
    @available(*, unavailable, message: "@Projected works on properties of Projection subclasses only")
    public var wrappedValue: Value {
        get { stopProgram("@Projected works on properties of Projection subclasses only.") }
        set { stopProgram("@Projected works on properties of Projection subclasses only.") }
    }

    /// The value of the property. The compiler calls this subscript for each access to the property.
    public static subscript<Owner: Projection<T>>(
        _enclosingInstance projection: Owner,
        wrapped _: ReferenceWritableKeyPath<Owner, Value>,
        storage storage: ReferenceWritableKeyPath<Owner, Projected<T, Value>>
    ) -> Value {
        get {
            let root = projection.rootObject
            if root._row.leaf == nil, root._row.core != nil {
                // Two properties may have the same key path, but not the same address.
                let number = withUnsafePointer(to: &projection[keyPath: storage]) {
                    ProjectionInfo.number(of: $0, in: projection)
                }
                if let number { _KeyPathTracer.of(root).record(projected: number) }
            }
            return root[keyPath: projection[keyPath: storage].keyPath]
        }
        set {
            let keyPath = projection[keyPath: storage].keyPath
            guard let writable = keyPath as? ReferenceWritableKeyPath<T, Value> else {
                stopProgram(
                    "\(keyPath) can't be set in a projection. Project a property that is declared with var, without links on the way."
                )
            }
            projection.rootObject[keyPath: writable] = newValue
        }
    }
}

/// The parts of a projected property's wrapper that Firn uses.
protocol ProjectedWrapper: SendableMetatype {
    /// The paths to the stored properties that the key path reads. Each path begins with a property of the projected
    /// object.
    var _ways: [[PropertyInfo]] { get }
    /// The projected value for an object of the class.
    func _any(of root: ObjectBase) -> Any?
    /// Whether the wrapper's value is a collection.
    var _isCollection: Bool { get }
}

extension Projected: ProjectedWrapper {
    var _ways: [[PropertyInfo]] { ObservableKeyPath.of(keyPath).ways }
    func _any(of root: ObjectBase) -> Any? { unwrapped(unsafeDowncast(root, to: T.self)[keyPath: keyPath]) }
    var _isCollection: Bool { Value.self is any _SourcedCollection.Type || Value.self is any ProjectsElements.Type }
}
