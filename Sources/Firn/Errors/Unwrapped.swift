import Foundation

/// The value inside any number of optionals; nil for `nil` and `NSNull`.
func unwrapped(_ any: Any?) -> Any? {
    var value = any
    while let some = value {
        guard mayBeNil(type(of: some)) else { return some }
        if some is NSNull { return nil }
        guard let optional = some as? any AnyOptional else { return some }
        value = optional.content
    }
    return nil
}

/// Whether values of a type may stand for nil: those of optionals, and of classes, of which `NSNull` is one. The answer
/// costs a load, where a cast that fails searches for a conformance. A type's metadata begins with its kind (Swift's
/// ABI documentation, "Type Metadata").
private func mayBeNil(_ type: Any.Type) -> Bool {
    let kind = unsafeBitCast(type, to: UnsafePointer<UInt>.self).pointee
    let (optional, foreignClass, wrappedClass, lastKind): (UInt, UInt, UInt, UInt) = (0x202, 0x203, 0x305, 0x7FF)
    return kind == optional || kind == 0 || kind > lastKind || kind == foreignClass || kind == wrappedClass
}
