public import Foundation

/// What happened to an observed object.
public enum ObjectChange<T: ObjectBase> {
    /// Never given; it is there so that programs written for RealmSwift compile.
    case error(_ error: NSError)
    /// Properties were assigned to, even if to the value they had.
    case change(_ object: T, _ properties: [PropertyChange])
    /// The object was deleted. Nothing more comes.
    case deleted
}

/// A property of an observed object that was assigned to, or that differs between two versions (`Realm.Change`).
public struct PropertyChange {
    /// The property's name in Swift; of a key path, its first component.
    public let name: String
    /// The value before. An observer is given nil where its own realm made the change, and for collections and key paths through links.
    public let oldValue: Any?
    /// The value now. An observer is given nil for collections and key paths through links.
    public let newValue: Any?
}

/// What happened to an observed collection.
public enum RealmCollectionChange<Collection> {
    /// The first call: the collection is ready.
    case initial(Collection)
    /// Elements came, went or changed. Deletions and modifications are positions in the collection as it was told of last, insertions in the one given; each
    /// list ascends. An element that moved was deleted and inserted.
    case update(Collection, deletions: [Int], insertions: [Int], modifications: [Int])
    /// Never given; it is there so that programs written for RealmSwift compile.
    case error(Swift.Error)
}

extension Realm {
    /// What realm observers are told.
    public enum Notification: String, Sendable {
        /// The realm shows newer data: it advanced, or committed a write.
        case didChange = "RLMRealmDidChangeNotification"
        /// There are newer data, which a realm that does not refresh by itself shows after `refresh()`.
        case refreshRequired = "RLMRealmRefreshRequiredNotification"
    }
}
