public import Firn

// What programs name of RealmSwift's bridge to Objective-C.

/// A type that RealmSwift's Objective-C layer converts. Firn has no such layer, and calls neither: a type of the
/// application is stored if it conforms to `CustomPersistable`.
public protocol _ObjcBridgeable {
    /// What a value of the Objective-C layer stands for.
    static func _rlmFromObjc(_ value: Any, insideOptional: Bool) -> Self?
    /// The value as the Objective-C layer has it.
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

extension Decimal128 {
    /// The number with the other sign.
    @_disfavoredOverload @discardableResult
    public func negate() -> Decimal128 { -self }
}
