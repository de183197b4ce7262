/// A class of a Realm file.
public struct RealmFileClass: Sendable {
    public enum Kind: Sendable, Equatable {
        case object
        case embedded
        /// For a server's use only: such a class has no objects in the file.
        case asymmetric
    }

    public let name: String
    public let kind: Kind
    /// In the file's order.
    public let properties: [RealmFileProperty]
    /// The index of the primary key's property.
    public let primaryKey: Int?
    /// What links to the class name: see `RealmFileValue.link`.
    public let table: UInt32
    /// Where the objects begin; 0 if there are none.
    let objects: Int

    /// The offset in the decrypted file at which the objects begin.
    package var objectsOffset: Int { objects }
}

/// A property of a class of a Realm file.
public struct RealmFileProperty: Sendable {
    public enum Index: Sendable, Equatable {
        case none
        case general
        case fullText
    }

    /// The name in the file, which may differ from the one in the program.
    public let name: String
    /// The type of the values, or of the collection's elements.
    public let type: ElementType
    public let collection: RealmFileCollection.Kind?
    public let index: Index
    /// The class that links lead to. Nil if values are no links.
    public let target: String?
    let column: FileColumn

    /// Whether a value may be null. If the property is a collection, whether its elements may.
    public var isOptional: Bool { type.isOptional }
}

/// Where the values of a property are, and how they are read.
struct FileColumn: Sendable {
    /// The index of the column's values among the elements of a leaf of objects, or, in the formats up to 9, of the
    /// table's columns.
    var leafIndex: Int
    /// The B+tree of the values that all objects share, if strings are interned; 0 otherwise.
    var interned = 0
    /// Whether a list of the formats up to 9 is a table of its own, as all are but lists of links.
    var isSubtable = false
}
