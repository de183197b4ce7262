import FirnCore
import FirnStorage

/// The protocol whose extensions have those static functions of `Object` that mention `Self`. Only `Object` and its
/// subclasses conform.
///
/// A static method of `Object` itself could not return `Results<Self>`; a protocol extension can.
public protocol ObjectKind: Object {}
extension Object: ObjectKind {}

// The functions of RLMObject that work on the default realm, or on a given one. Functions that use the default realm
// open it on the calling thread, and stop the program if it can't be opened. If something can fail because of data, use
// the throwing functions of `Realm` instead.
extension ObjectKind {
    /// Creates an object in the default realm, as `Realm.create(_:value:update:)` does.
    ///
    /// The default realm must be in a write transaction on the calling thread.
    ///
    /// ```swift
    /// try Realm().write { Dog.createInDefaultRealm(withValue: ["name": "Rex"]) }
    /// ```
    ///
    /// Stops the program if the default realm can't be opened, and outside a write transaction. Also stops it if a
    /// value does not fit its property, or if an object with the primary key exists.
    ///
    /// - Parameters:
    ///   - value: a dictionary, an array, an object, or a class or struct with properties of the same names.
    ///   - file: the call site's file, which messages about held versions name.
    ///   - line: the call site's line.
    @discardableResult
    public static func createInDefaultRealm(
        withValue value: Any, file: StaticString = #fileID, line: UInt = #line
    ) -> Self {
        create(in: defaultRealm(file, line), withValue: value)
    }

    /// Creates an object in a realm that is in a write transaction: `Realm.create(_:value:update:)`. Stops the program
    /// for the same reasons.
    @discardableResult
    public static func create(in realm: Realm, withValue value: Any) -> Self { realm.create(Self.self, value: value) }

    /// Updates the object of the default realm that has the value's primary key, or creates it:
    /// `createOrUpdate(in:withValue:)`.
    ///
    /// Stops the program if the default realm can't be opened, and for the reasons of `createOrUpdate(in:withValue:)`.
    @discardableResult
    public static func createOrUpdateInDefaultRealm(
        withValue value: Any, file: StaticString = #fileID, line: UInt = #line
    ) -> Self {
        createOrUpdate(in: defaultRealm(file, line), withValue: value)
    }

    /// Updates the object that has the value's primary key, or creates it: `Realm.create(_:value:update:)` with
    /// `.all`.
    ///
    /// Every property that the value gives is set and reported to observers, even if it already has that value. Stops
    /// the program if the class has no primary key, and for the reasons of `Realm.create(_:value:update:)`.
    @discardableResult
    public static func createOrUpdate(in realm: Realm, withValue value: Any) -> Self {
        realm.create(Self.self, value: value, update: .all)
    }

    /// Updates or creates an object in the default realm, setting only what differs:
    /// `createOrUpdateModified(in:withValue:)`.
    ///
    /// Stops the program if the default realm can't be opened, and for the reasons of
    /// `createOrUpdateModified(in:withValue:)`.
    @discardableResult
    public static func createOrUpdateModifiedInDefaultRealm(
        withValue value: Any, file: StaticString = #fileID, line: UInt = #line
    ) -> Self {
        createOrUpdateModified(in: defaultRealm(file, line), withValue: value)
    }

    /// Updates the object that has the value's primary key, or creates it: `Realm.create(_:value:update:)` with
    /// `.modified`.
    ///
    /// Only properties whose values differ are set and reported to observers; an object that has all the values is left
    /// alone. Stops the program if the class has no primary key, and for the reasons of
    /// `Realm.create(_:value:update:)`.
    @discardableResult
    public static func createOrUpdateModified(in realm: Realm, withValue value: Any) -> Self {
        realm.create(Self.self, value: value, update: .modified)
    }

    /// All objects of the class in the default realm, live, in the order of their creation. O(1).
    ///
    /// Stops the program if the default realm can't be opened or does not have the class.
    public static func allObjects(file: StaticString = #fileID, line: UInt = #line) -> Results<Self> {
        defaultRealm(file, line).objects(Self.self)
    }

    /// All objects of the class in a realm: the same as `realm.objects(Self.self)`, which stops the program for the
    /// same reasons. O(1).
    public static func allObjects(in realm: Realm) -> Results<Self> { realm.objects(Self.self) }

    /// The objects of the default realm that match a predicate, live.
    ///
    /// ```swift
    /// let old = Dog.objects(where: "age > %@ AND name BEGINSWITH %@", 7, "R")
    /// ```
    ///
    /// The query runs when the results are first read. Stops the program if the text is not a valid predicate for the
    /// class, or if the default realm can't be opened.
    public static func objects(
        where predicateFormat: String, _ args: Any..., file: StaticString = #fileID, line: UInt = #line
    ) -> Results<Self> {
        allObjects(file: file, line: line).filtered(predicateFormat, args)
    }

    /// The objects of a realm that match a predicate, live. The query runs when the results are first read. Stops the
    /// program if the text is not a valid predicate for the class. Also stops it if the realm does not have the class,
    /// and on the wrong thread.
    public static func objects(in realm: Realm, where predicateFormat: String, _ args: Any...) -> Results<Self> {
        allObjects(in: realm).filtered(predicateFormat, args)
    }

    /// The object of the default realm with this primary key; nil if there is none. O(log n).
    ///
    /// Stops the program if the class has no primary key, or if the key is not of its type. Also stops it if the
    /// default realm can't be opened.
    public static func object(
        forPrimaryKey key: Any?, file: StaticString = #fileID, line: UInt = #line
    ) -> Self? {
        object(in: defaultRealm(file, line), forPrimaryKey: key)
    }

    /// The object of a realm with this primary key; nil if there is none: `Realm.object(ofType:forPrimaryKey:)`. O(log
    /// n). Stops the program for the same reasons.
    public static func object(in realm: Realm, forPrimaryKey key: Any?) -> Self? {
        realm.object(ofType: Self.self, forPrimaryKey: key)
    }

    /// Opens the default realm on the calling thread. Stops the program if that is not possible.
    private static func defaultRealm(_ file: StaticString, _ line: UInt) -> Realm {
        do { return try Realm(file: file, line: line) } catch {
            stopProgram("the default realm could not be opened: \(error)", at: CallSite(file, line))
        }
    }
}
