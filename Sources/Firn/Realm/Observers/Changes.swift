public import Foundation

/// What happened to an observed object or projection.
public enum ObjectChange<T> {
    /// Never passed. It exists so that programs written for RealmSwift compile.
    case error(_ error: NSError)
    /// Properties were assigned, some perhaps to the value that they already had. They are listed in the order of the
    /// class.
    case change(_ object: T, _ properties: [PropertyChange])
    /// The object was deleted. The block is not called again.
    case deleted
}

/// A property of an observed object that was assigned, or that differs between two versions (`Realm.Change`).
public struct PropertyChange {
    /// The property's name in Swift. For a key path, the name of its first property.
    public let name: String
    /// The value before. For an observer it is nil if the observer's own realm made the change, and for collections
    /// and key paths through links.
    public let oldValue: Any?
    /// The value now. For an observer it is nil for collections, and for key paths through links, unless the observer
    /// is one of a projection.
    public let newValue: Any?
}

/// Realm's name for a changed property of a projection: observers of projections get a `PropertyChange`.
public typealias ProjectedPropertyChange = PropertyChange

/// What happened to an observed collection.
public enum RealmCollectionChange<CollectionType> {
    /// The first call: the collection is ready.
    case initial(CollectionType)
    /// Elements were inserted, deleted or modified.
    ///
    /// Deletions and modifications are indices in the collection as it was at the last call. If `withoutNotifying` has
    /// hidden versions since, they are indices in the last of these. Insertions are indices in the collection passed
    /// now. Each list is in ascending order. An element that moved is both deleted and inserted, unless it has the same
    /// neighbours again. In some collections, such as a sorted list, elements may occur several times and the edits are
    /// not known. There, more than 512 deletions and insertions are not computed one by one. Instead, everything
    /// between the equal beginning and the equal end is deleted and inserted.
    case update(CollectionType, deletions: [Int], insertions: [Int], modifications: [Int])
    /// Never passed. It exists so that programs written for RealmSwift compile.
    case error(Swift.Error)

    /// The collection's type, by another name.
    public typealias Collection = CollectionType
}

/// What happened to an observed map.
public enum RealmMapChange<Collection: RealmKeyedCollection> {
    /// The first call: the map is ready.
    case initial(Collection)
    /// Keys were inserted or deleted, or their values were set or, if they are objects, changed. Each list is in the
    /// order of the keys.
    case update(
        Collection, deletions: [Collection.Key], insertions: [Collection.Key], modifications: [Collection.Key])
    /// Never passed. It exists so that programs written for RealmSwift compile.
    case error(Swift.Error)

    /// The map's type, by another name.
    public typealias MapType = Collection
}

/// What happened to observed sections: `SectionedResults` or one `ResultsSection`.
///
/// Index paths have two indices: a section's, and an element's in that section.
public enum SectionedResultsChange<Collection> {
    /// The first call: the sections are ready.
    case initial(Collection)
    /// Elements were inserted, deleted or modified, or moved to another section.
    ///
    /// Deletions and modifications are index paths in the sections as they were at the last call. Insertions are index
    /// paths in the sections passed now. Each list is in ascending order. The elements of sections that are inserted or
    /// deleted are among them. `sectionsToDelete` has the old indices of the sections that are gone, `sectionsToInsert`
    /// the new indices of the new sections. A section that moves among the others is in both. An observer of one
    /// section is shown only what concerns that section.
    case update(
        Collection, deletions: [IndexPath], insertions: [IndexPath], modifications: [IndexPath],
        sectionsToInsert: IndexSet, sectionsToDelete: IndexSet)
}

/// The other name of `SectionedResultsChange`.
public typealias RealmSectionedResultsChange<Collection> = SectionedResultsChange<Collection>

/// The block of `Realm.observe(_:)`, which is called with what happened to the realm, and with the realm.
public typealias NotificationBlock = (_ notification: Realm.Notification, _ realm: Realm) -> Void

extension Realm {
    /// The reason why a realm observer is called.
    public enum Notification: String, Sendable {
        /// The realm shows newer data: it advanced, or committed a write.
        case didChange = "RLMRealmDidChangeNotification"
        /// There is newer data, which a realm that does not refresh by itself shows after `refresh()`.
        case refreshRequired = "RLMRealmRefreshRequiredNotification"
    }
}
