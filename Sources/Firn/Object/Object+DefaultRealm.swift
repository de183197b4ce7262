/// What gives a class's static functions the class they are called on; `Object` is all that conforms.
public protocol ObjectKind: Object {}
extension Object: ObjectKind {}

// The entries of RLMObject that work on the default realm or on one that is given.
extension ObjectKind {
    /// Creates an object in the default realm, which must be in a write transaction on this thread.
    @discardableResult
    public static func createInDefaultRealm(
        withValue value: Any, file: StaticString = #fileID, line: UInt = #line
    ) -> Self {
        create(in: defaultRealm(file, line), withValue: value)
    }

    /// Creates an object in a realm that is in a write transaction.
    @discardableResult
    public static func create(in realm: Realm, withValue value: Any) -> Self { realm.create(Self.self, value: value) }

    /// Updates the object with the value's primary key in the default realm, or creates it.
    @discardableResult
    public static func createOrUpdateInDefaultRealm(
        withValue value: Any, file: StaticString = #fileID, line: UInt = #line
    ) -> Self {
        createOrUpdate(in: defaultRealm(file, line), withValue: value)
    }

    /// Updates the object with the value's primary key, setting all properties given, or creates it.
    @discardableResult
    public static func createOrUpdate(in realm: Realm, withValue value: Any) -> Self {
        realm.create(Self.self, value: value, update: .all)
    }

    /// As `createOrUpdateInDefaultRealm`, setting only properties whose values differ.
    @discardableResult
    public static func createOrUpdateModifiedInDefaultRealm(
        withValue value: Any, file: StaticString = #fileID, line: UInt = #line
    ) -> Self {
        createOrUpdateModified(in: defaultRealm(file, line), withValue: value)
    }

    /// As `createOrUpdate`, setting only properties whose values differ.
    @discardableResult
    public static func createOrUpdateModified(in realm: Realm, withValue value: Any) -> Self {
        realm.create(Self.self, value: value, update: .modified)
    }

    /// All objects of the class in the default realm.
    public static func allObjects(file: StaticString = #fileID, line: UInt = #line) -> Results<Self> {
        defaultRealm(file, line).objects(Self.self)
    }

    /// All objects of the class in a realm.
    public static func allObjects(in realm: Realm) -> Results<Self> { realm.objects(Self.self) }

    /// The objects of the default realm for which the text holds.
    public static func objects(
        where predicateFormat: String, _ args: Any..., file: StaticString = #fileID, line: UInt = #line
    ) -> Results<Self> {
        allObjects(file: file, line: line).filtered(predicateFormat, args)
    }

    /// The objects of a realm for which the text holds.
    public static func objects(in realm: Realm, where predicateFormat: String, _ args: Any...) -> Results<Self> {
        allObjects(in: realm).filtered(predicateFormat, args)
    }

    /// The object of the default realm with a primary key; nil where there is none.
    public static func object(
        forPrimaryKey key: Any?, file: StaticString = #fileID, line: UInt = #line
    ) -> Self? {
        object(in: defaultRealm(file, line), forPrimaryKey: key)
    }

    /// The object of a realm with a primary key; nil where there is none.
    public static func object(in realm: Realm, forPrimaryKey key: Any?) -> Self? {
        realm.object(ofType: Self.self, forPrimaryKey: key)
    }

    private static func defaultRealm(_ file: StaticString, _ line: UInt) -> Realm {
        do { return try Realm(file: file, line: line) } catch {
            fatalError("Firn: the default realm could not be opened: \(error)")
        }
    }
}
