import Foundation

/// The value inside any number of optionals; nil for `nil` and `NSNull`.
func unwrapped(_ any: Any?) -> Any? {
    var value = any
    while let some = value {
        if some is NSNull { return nil }
        guard let optional = some as? any AnyOptional else { return some }
        value = optional.content
    }
    return nil
}
