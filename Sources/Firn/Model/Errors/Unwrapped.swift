import Foundation

/// The value inside any number of optionals and `AnyHashable`s; nil for `nil` and `NSNull`.
@inline(__always)
func unwrapped(_ any: Any?) -> Any? {
    guard let some = any, isWrapper(type(of: some)) else { return any }
    return contents(some)
}

@inline(__always)
private func isWrapper(_ type: Any.Type) -> Bool {
    TypeKind(type).isOptional || type == AnyHashable.self || type == NSNull.self
}

@inline(never)
private func contents(_ wrapper: Any) -> Any? {
    var value: Any? = wrapper
    while let some = value, isWrapper(type(of: some)) {
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

/// What an optional wraps, whose type is known only now. Its cast is one to the same type.
private func content<O: _OptionalProtocol>(_ optional: O) -> Any? { optional as! O.Wrapped? }

/// The instance of a class, or of a protocol of classes, that is inside any number of optionals and `AnyHashable`s. Nil
/// if there is none of that type.
///
/// For values of unknown type, instead of `as? SomeClass`. That cast tries to bridge a value that is no instance. On
/// Linux it makes an object of each dictionary and array in the value, whatever the class is. The recursion that does
/// so overflows the stack at some thousand levels.
func instance<T>(_ any: Any?, of type: T.Type) -> T? {
    unwrapped(any).flatMap { bareInstance($0, of: type) }
}

/// `instance` of a value that is unwrapped.
@inline(__always)
func bareInstance<T>(_ value: Any, of type: T.Type) -> T? { isInstance(value) ? value as? T : nil }

/// The value of a type that is inside any number of optionals and `AnyHashable`s: `instance`, for a type that may be no
/// class.
func cast<T>(_ any: Any?, to type: T.Type) -> T? {
    TypeKind(type).bridges ? instance(any, of: type) : unwrapped(any) as? T
}

/// Whether a value, which is unwrapped, is an instance of a class.
@inline(__always)
func isInstance(_ value: Any) -> Bool { TypeKind(type(of: value)).mayBeClass }

/// The elements of an array of unknown type as those of another one: `any as? [Element]`, without bridging what is no
/// instance of a class (see `instance`).
func elements<Element>(_ any: Any, of type: Element.Type) -> [Element]? {
    guard TypeKind(type).bridges, Swift.type(of: any) != [Element].self, let values = any as? [Any] else {
        return any as? [Element]
    }
    return values.allSatisfy(isNilOrInstance) ? any as? [Element] : nil
}

/// The entries of a dictionary of unknown type as those of another one: `any as? [String: Value]`, as `elements`.
func entries<Value>(_ any: Any, of type: Value.Type) -> [String: Value]? {
    guard TypeKind(type).bridges, Swift.type(of: any) != [String: Value].self, let values = any as? [String: Any] else {
        return any as? [String: Value]
    }
    return values.values.allSatisfy(isNilOrInstance) ? any as? [String: Value] : nil
}

private func isNilOrInstance(_ any: Any) -> Bool { unwrapped(any).map(isInstance) ?? true }

/// What a type is, by the kind with which its metadata begins (Swift's ABI documentation, "Type Metadata"). Finding
/// that out costs a load; a cast that fails searches for conformances, and bridges a dictionary with all that is in it.
private struct TypeKind {
    private let kind: UInt

    init(_ type: Any.Type) { kind = unsafeBitCast(type, to: UnsafePointer<UInt>.self).pointee }

    var isOptional: Bool { kind == 0x202 }

    /// Whether a cast to the type may bridge: to a class, or to an optional, which may be one of a class.
    var bridges: Bool { isOptional || mayBeClass }

    /// Classes of Swift have no kind there, or one above those of other types; 0x203 is a foreign class, and 0x305 one
    /// of Objective-C.
    var mayBeClass: Bool { kind == 0 || kind > 0x7FF || kind == 0x203 || kind == 0x305 }
}
