import Foundation

/// The value inside any number of optionals and `AnyHashable`s; nil for `nil` and `NSNull`.
func unwrapped(_ any: Any?) -> Any? {
    var value = any
    while let some = value {
        let kind = TypeKind(type(of: some))
        if kind.isOptional, let optional = some as? any AnyOptional {
            value = optional.content
        } else if type(of: some) == AnyHashable.self, let hashable = some as? AnyHashable {
            value = hashable.base
        } else {
            return kind.mayBeClass && some is NSNull ? nil : some
        }
    }
    return nil
}

/// What a type is, by the kind with which its metadata begins (Swift's ABI documentation, "Type Metadata"). Finding
/// that out costs a load; a cast that fails searches for conformances, and bridges a dictionary with all that is in it.
private struct TypeKind {
    private let kind: UInt

    init(_ type: Any.Type) { kind = unsafeBitCast(type, to: UnsafePointer<UInt>.self).pointee }

    var isOptional: Bool { kind == 0x202 }

    /// Classes of Swift have no kind there, or one above those of other types; 0x203 is a foreign class, and 0x305 one
    /// of Objective-C.
    var mayBeClass: Bool { kind == 0 || kind > 0x7FF || kind == 0x203 || kind == 0x305 }
}
