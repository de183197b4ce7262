/// What gives a class's static functions the class they are called on; `Object` is all that conforms.
public protocol ObjectKind: Object {}
extension Object: ObjectKind {}

// The entries of RLMObject that work on the default realm or on one that is given.
extension ObjectKind {
    /// Creates an object in the default realm, which must be in a write transaction on this thread.
    @discardableResult
    public static func createInDefaultRealm(withValue value: Any) -> Self { create(in: defaultRealm, withValue: value) }

    /// Creates an object in a realm that is in a write transaction.
    @discardableResult
    public static func create(in realm: Realm, withValue value: Any) -> Self { realm.create(Self.self, value: value) }

    /// Updates the object with the value's primary key in the default realm, or creates it.
    @discardableResult
    public static func createOrUpdateInDefaultRealm(withValue value: Any) -> Self {
        createOrUpdate(in: defaultRealm, withValue: value)
    }

    /// Updates the object with the value's primary key, setting all properties given, or creates it.
    @discardableResult
    public static func createOrUpdate(in realm: Realm, withValue value: Any) -> Self {
        realm.create(Self.self, value: value, update: .all)
    }

    /// As `createOrUpdateInDefaultRealm`, setting only properties whose values differ.
    @discardableResult
    public static func createOrUpdateModifiedInDefaultRealm(withValue value: Any) -> Self {
        createOrUpdateModified(in: defaultRealm, withValue: value)
    }

    /// As `createOrUpdate`, setting only properties whose values differ.
    @discardableResult
    public static func createOrUpdateModified(in realm: Realm, withValue value: Any) -> Self {
        realm.create(Self.self, value: value, update: .modified)
    }

    /// All objects of the class in the default realm.
    public static func allObjects() -> Results<Self> { defaultRealm.objects(Self.self) }

    /// All objects of the class in a realm.
    public static func allObjects(in realm: Realm) -> Results<Self> { realm.objects(Self.self) }

    /// The objects of the default realm for which the text holds.
    public static func objects(where predicateFormat: String, _ args: Any...) -> Results<Self> {
        allObjects().filtered(predicateFormat, args)
    }

    /// The objects of a realm for which the text holds.
    public static func objects(in realm: Realm, where predicateFormat: String, _ args: Any...) -> Results<Self> {
        allObjects(in: realm).filtered(predicateFormat, args)
    }

    /// The object of the default realm with a primary key; nil where there is none.
    public static func object(forPrimaryKey key: Any?) -> Self? { object(in: defaultRealm, forPrimaryKey: key) }

    /// The object of a realm with a primary key; nil where there is none.
    public static func object(in realm: Realm, forPrimaryKey key: Any?) -> Self? {
        realm.object(ofType: Self.self, forPrimaryKey: key)
    }

    private static var defaultRealm: Realm {
        do { return try Realm() } catch { fatalError("Firn: the default realm could not be opened: \(error)") }
    }
}
