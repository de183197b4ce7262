import FirnCore

/// Changes the data of a store when the application's classes have changed. The parameters are the migration and the
/// schema version that the store had.
///
/// See `Realm.Configuration.migrationBlock`.
public typealias MigrationBlock = @Sendable (_ migration: Migration, _ oldSchemaVersion: UInt64) -> Void

/// An object as a migration shows it.
public typealias MigrationObject = DynamicObject

/// Called for each object of a class, with the object as it was before the migration, and as it will be after it. The
/// new object is nil if it has been deleted, or if the realm does not have the class any more.
public typealias MigrationObjectEnumerateBlock = (_ oldObject: MigrationObject?, _ newObject: MigrationObject?) -> Void

/// A running migration, as its block sees it: the objects as they were, and as they will be.
///
/// ```swift
/// configuration.schemaVersion = 3
/// configuration.migrationBlock = { migration, oldVersion in
///     if oldVersion < 2 { migration.renameProperty(onType: "Dog", from: "title", to: "name") }
///     if oldVersion < 3 {
///         migration.enumerateObjects(ofType: "Person") { old, new in
///             new?["fullName"] = "\(old!["firstName"]!) \(old!["lastName"]!)"
///         }
///     }
/// }
/// ```
///
/// Old objects are frozen and have the properties that the store had, by their stored names; they may be kept. New
/// objects are objects of the classes. They, and the migration itself, belong to the thread that runs the block, and
/// end with the block. To use them later stops the program.
///
/// A link that is set to an old object leads to the new form of that object. If the new form was deleted, the link
/// becomes nil, and a list or set omits the object. Embedded objects are copied, and so are objects of classes that
/// become embedded.
///
/// An operation that can't be done stops the program. Nothing has been changed then: the store keeps its old version
/// until the block has returned, and then everything is committed at once.
public final class Migration {
    private let run: MigrationRun

    init(_ run: MigrationRun) { self.run = run }

    /// The classes as the store had them. Their class is `DynamicObject`.
    public var oldSchema: Schema { Schema(run.old.schema) }

    /// The realm's classes.
    public var newSchema: Schema { Schema(run.new.schema) }

    /// Calls a block with each object that a class had before the migration, in the order of their creation.
    ///
    /// It may change, create and delete objects. Objects that the migration has created are not among them. Does
    /// nothing if the store did not have the class. O(objects).
    public func enumerateObjects(ofType typeName: String, _ block: MigrationObjectEnumerateBlock) {
        run.enumerate(typeName, block)
    }

    /// Creates an object of a class: `Realm.dynamicCreate(_:value:update:)` for the new classes. Stops the program for
    /// the same reasons.
    @discardableResult
    public func create(_ typeName: String, value: Any = [String: Any]()) -> MigrationObject {
        Realm(run.new).dynamicCreate(typeName, value: value)
    }

    /// Deletes a new object. Stops the program if it is an old one, or was deleted already.
    public func delete(_ object: MigrationObject) { Realm(run.new).delete(object) }

    /// Deletes all objects of a class, and the class itself if the realm does not have it any more. O(objects).
    ///
    /// - Returns: whether the store had the class.
    @discardableResult
    public func deleteData(forType typeName: String) -> Bool { run.deleteData(typeName) }

    /// Renames a property of a class, so that its values stay. O(objects), without reading the values: nil becomes a
    /// blank value if the property is no longer optional.
    ///
    /// A property can be renamed several times. If the class does not have its last name, opening throws
    /// `.schemaMismatch`, and nothing was changed. Values that the block has already set in the new property are
    /// replaced. New objects that the block has already read can't be used any more.
    ///
    /// Stops the program if:
    ///
    /// - the store lacks the class or the old property;
    /// - the class still has the old property;
    /// - the types differ;
    /// - it is called in `enumerateObjects`, or after the block has created objects of the class.
    ///
    /// - Parameter typeName: the class.
    /// - Parameter oldName: the name under which the property was stored.
    /// - Parameter newName: the name of the property in Swift.
    public func renameProperty(onType typeName: String, from oldName: String, to newName: String) {
        run.rename(typeName, from: oldName, to: newName)
    }
}

@available(*, unavailable, message: "a migration belongs to the thread that runs its block")
extension Migration: Sendable {}
