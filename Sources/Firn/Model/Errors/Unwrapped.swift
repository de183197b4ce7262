import Foundation

/// The value inside any number of optionals and `AnyHashable`s; nil for `nil` and `NSNull`. For an element of a dynamic
/// collection of values, the value that it holds.
@inline(__always)
func unwrapped(_ any: Any?) -> Any? {
    guard let some = any, isWrapper(type(of: some)) else { return any }
    let value = contents(some)
    return value.flatMap(dynamic)?.held.map(\.any) ?? value
}

/// The dynamic object inside any number of optionals and `AnyHashable`s; nil for any other value.
func dynamicObject(in any: Any?) -> DynamicObject? {
    any.flatMap { isWrapper(type(of: $0)) ? contents($0) : $0 }.flatMap(dynamic)
}

/// An unwrapped value as a dynamic object; nil if it is not one.
private func dynamic(_ value: Any) -> DynamicObject? {
    type(of: value) == DynamicObject.self ? unsafeDowncast(value as AnyObject, to: DynamicObject.self) : nil
}

/// Whether a value of this type may be or have another value inside.
@inline(__always)
private func isWrapper(_ type: Any.Type) -> Bool { isPeeled(type) || type == DynamicObject.self }

@inline(__always)
private func isPeeled(_ type: Any.Type) -> Bool {
    TypeKind(type).isOptional || type == AnyHashable.self || type == NSNull.self
}

@inline(never)
private func contents(_ wrapper: Any) -> Any? {
    var value: Any? = wrapper
    while let some = value, isPeeled(type(of: some)) {
        if TypeKind(type(of: some)).isOptional, let optional = some as? any _OptionalProtocol {
            value = content(optional)
        } else if type(of: some) == AnyHashable.self, let hashable = some as? AnyHashable {
            value = hashable.base
        } else {
            return nil  // NSNull
        }
    }
    return value
}

/// The content of an optional whose type is known only at run time. The cast can't fail, because it is to the same
/// type.
private func content<O: _OptionalProtocol>(_ optional: O) -> Any? { optional as! O.Wrapped? }

/// The instance of a class, or of a class-bound protocol, inside any number of optionals and `AnyHashable`s. Nil if the
/// value is not of that type.
///
/// Use this for values of unknown type, instead of `as? SomeClass`. If a value is not a class instance, that cast tries
/// to bridge it. On Linux, bridging makes an object of each dictionary and array in the value, whatever the class is.
/// It is recursive, and overflows the stack at some thousand levels of nesting.
func instance<T>(_ any: Any?, of type: T.Type) -> T? {
    unwrapped(any).flatMap { bareInstance($0, of: type) }
}

/// `instance`, for a value that is already unwrapped.
@inline(__always)
func bareInstance<T>(_ value: Any, of type: T.Type) -> T? { isInstance(value) ? value as? T : nil }

/// The value of a type inside any number of optionals and `AnyHashable`s; nil if the value is not of that type. Unlike
/// for `instance`, the type need not be a class.
func cast<T>(_ any: Any?, to type: T.Type) -> T? {
    TypeKind(type).bridges ? instance(any, of: type) : unwrapped(any) as? T
}

/// Whether an unwrapped value is an instance of a class.
@inline(__always)
func isInstance(_ value: Any) -> Bool { TypeKind(type(of: value)).mayBeClass }

/// An array of unknown type as an array of `Element`: `any as? [Element]`. If `Element` is a class and an element is no
/// instance, the result is nil and nothing is bridged (see `instance`).
func elements<Element>(_ any: Any, of type: Element.Type) -> [Element]? {
    guard TypeKind(type).bridges, Swift.type(of: any) != [Element].self, let values = any as? [Any] else {
        return any as? [Element]
    }
    return values.allSatisfy(isNilOrInstance) ? any as? [Element] : nil
}

/// A dictionary of unknown type as a dictionary of `Value`: `any as? [String: Value]`, without bridging, as in
/// `elements`.
func entries<Value>(_ any: Any, of type: Value.Type) -> [String: Value]? {
    guard TypeKind(type).bridges, Swift.type(of: any) != [String: Value].self, let values = any as? [String: Any] else {
        return any as? [String: Value]
    }
    return values.values.allSatisfy(isNilOrInstance) ? any as? [String: Value] : nil
}

private func isNilOrInstance(_ any: Any) -> Bool { unwrapped(any).map(isInstance) ?? true }

/// The kind of a type, which is the first word of its metadata (Swift's ABI documentation, "Type Metadata"). Reading
/// the kind costs one load. A cast that fails searches for conformances, and bridges a dictionary with all its
/// contents.
private struct TypeKind {
    private let kind: UInt

    init(_ type: Any.Type) { kind = unsafeBitCast(type, to: UnsafePointer<UInt>.self).pointee }

    var isOptional: Bool { kind == 0x202 }

    /// Whether a cast to the type may bridge. The type is a class, or an optional, which may wrap a class.
    var bridges: Bool { isOptional || mayBeClass }

    /// For a class of Swift, the word is 0 or a pointer, which is above the kinds of all other types. A foreign class
    /// has the kind 0x203, and a class of Objective-C has 0x305.
    var mayBeClass: Bool { kind == 0 || kind > 0x7FF || kind == 0x203 || kind == 0x305 }
}
