/// The names of Realm's Objective-C interface, for programs that use them from Swift. Most of them are other names for
/// types of Firn, with the functions of these types. `RLMInt` and its like are types of Swift. `RLMPropertyDescriptor`
/// and `linkingObjectsProperties()` are declared here.
@_exported import Firn

/// The base class of every model: `Object`.
public typealias RLMObject = Object
/// The base class of objects of all kinds: `ObjectBase`.
public typealias RLMObjectBase = ObjectBase
/// The base class of objects that belong to another one: `EmbeddedObject`.
public typealias RLMEmbeddedObject = EmbeddedObject
/// What belongs to a realm's thread, queue or actor: `ThreadConfined`.
public typealias RLMThreadConfined = ThreadConfined
/// An open store: `Realm`.
public typealias RLMRealm = Realm
/// How a store is opened: `Realm.Configuration`.
public typealias RLMRealmConfiguration = Realm.Configuration
/// The reason why a realm observer is called: `Realm.Notification`.
public typealias RLMNotification = Realm.Notification
/// What a query finds: `Results`.
public typealias RLMResults<Element: RealmCollectionValue> = Results<Element>
/// An ordered collection: `List`.
public typealias RLMArray<Element: RealmCollectionValue> = List<Element>
/// A collection in which each element occurs once: `MutableSet`.
public typealias RLMSet<Element: RealmCollectionValue> = MutableSet<Element>
/// A collection of values by keys: `Map`.
public typealias RLMDictionary<Key: _MapKey, Value: RealmCollectionValue> = Map<Key, Value>
/// The objects that link to an object: `LinkingObjects`.
public typealias RLMLinkingObjects<Element: ObjectBase> = LinkingObjects<Element>
/// Keeps an observer: `NotificationToken`.
public typealias RLMNotificationToken = NotificationToken
/// A property that was assigned: `PropertyChange`.
public typealias RLMPropertyChange = PropertyChange
/// The classes of a realm: `Schema`.
public typealias RLMSchema = Schema
/// A class: `ObjectSchema`.
public typealias RLMObjectSchema = ObjectSchema
/// A property of a class: `Property`.
public typealias RLMProperty = Property
/// The type of a property: `PropertyType`.
public typealias RLMPropertyType = PropertyType
/// A property to sort by: `SortDescriptor`.
public typealias RLMSortDescriptor = SortDescriptor
/// An identity of twelve bytes: `ObjectId`.
public typealias RLMObjectId = ObjectId
/// A decimal number: `Decimal128`.
public typealias RLMDecimal128 = Decimal128

// In Objective-C, these protocols mark the type of an optional number. In Swift, they are the number's type itself.

/// An integer.
public typealias RLMInt = Int
/// A Boolean.
public typealias RLMBool = Bool
/// A floating-point number of 32 bits.
public typealias RLMFloat = Float
/// A floating-point number of 64 bits.
public typealias RLMDouble = Double

/// The origin of a backlink property's links: a class and its property.
public struct RLMPropertyDescriptor: Equatable, CustomStringConvertible {
    /// The name of the class whose objects link here.
    public let objectClassName: String
    /// The name of the linking property.
    public let propertyName: String

    /// The property of a class.
    public init(with objectClass: ObjectBase.Type, propertyName: String) {
        self.init(className: objectClass.className(), propertyName: propertyName)
    }

    fileprivate init(className: String, propertyName: String) {
        objectClassName = className
        self.propertyName = propertyName
    }

    /// The class and the property.
    public var description: String { "\(objectClassName).\(propertyName)" }
}

extension ObjectBase {
    /// The origin of the links of each backlink property, by the property's name.
    ///
    /// In Objective-C, a class overrides this to declare such properties. In Swift, `@Persisted(originProperty:)`
    /// declares them, and this function returns what is declared.
    public class func linkingObjectsProperties() -> [String: RLMPropertyDescriptor] {
        var result: [String: RLMPropertyDescriptor] = [:]
        for property in Self().objectSchema.backlinks {
            guard let origin = property.linkOriginPropertyName, let name = property.objectClassName else { continue }
            result[property.name] = RLMPropertyDescriptor(className: name, propertyName: origin)
        }
        return result
    }
}
