// Stands for Apple's Foundation where it has more than the one on Linux, for `Tools/check apple`: it makes
// `canImport(Darwin)` true, and declares what only Apple's Foundation has and Firn uses. Never run.

@_exported import Glibc
public import Foundation

extension PredicateExpressions {
    public struct StringLocalizedStandardContains<
        Root: PredicateExpression, Other: PredicateExpression
    >: PredicateExpression where Root.Output: StringProtocol, Other.Output: StringProtocol {
        public typealias Output = Bool

        public let root: Root
        public let other: Other

        public func evaluate(_ bindings: PredicateBindings) throws -> Bool { false }
    }
}
