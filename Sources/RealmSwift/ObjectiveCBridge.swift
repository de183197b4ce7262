public import Firn
import Foundation

// The names of RealmSwift's bridge to Objective-C that programs use.

/// A type that RealmSwift's Objective-C layer converts. Firn has no such layer, and calls neither requirement: a type
/// of the application is stored if it conforms to `CustomPersistable`.
public protocol _ObjcBridgeable {
    /// The value of this type for a value of the Objective-C layer.
    static func _rlmFromObjc(_ value: Any, insideOptional: Bool) -> Self?
    /// The value of the Objective-C layer for this value.
    var _rlmObjcValue: Any { get }
}

extension Object {
    /// The class and its properties; nil for `Object` itself and for `DynamicObject`, which have none of their own.
    public class func sharedSchema() -> ObjectSchema? {
        self == Object.self || self == DynamicObject.self ? nil : self.init().objectSchema
    }
}

extension EmbeddedObject {
    /// The class and its properties; nil for `EmbeddedObject` itself, which has none.
    public class func sharedSchema() -> ObjectSchema? {
        self == EmbeddedObject.self ? nil : self.init().objectSchema
    }
}

extension ObjectBase {
    /// The values of the properties with these names, by name. As in Foundation, nil becomes `NSNull`.
    ///
    /// ```swift
    /// let row = dog.dictionaryWithValues(forKeys: ["name", "age"])
    /// ```
    ///
    /// Stops the program if the class has no property of one of the names.
    public func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
        Dictionary(keys.map { ($0, self[$0] ?? NSNull()) }, uniquingKeysWith: { first, _ in first })
    }

    /// Sets the properties that the keys name; `NSNull` becomes nil. Stops the program if the class has no property of
    /// one of the names, or if a value doesn't fit.
    public func setValuesForKeys(_ keyedValues: [String: Any]) {
        for (key, value) in keyedValues { self[key] = value is NSNull ? nil : value }
    }
}

/// The name of the property to which a key path leads, as in a predicate's text: `_name(for: \Dog.age)` is `"age"`.
/// Stops the program if the key path leads to no stored property.
public func _name<T: Object>(for keyPath: KeyPath<T, some Any>) -> String { SortDescriptor(keyPath: keyPath).keyPath }

extension Decimal128 {
    /// The number with the other sign.
    @_disfavoredOverload @discardableResult
    public func negate() -> Decimal128 { -self }
}
