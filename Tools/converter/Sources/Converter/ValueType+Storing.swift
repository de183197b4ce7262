import SwiftSyntax

extension ValueType {
    private static let numbers: Set = ["Int", "Int8", "Int16", "Int32", "Int64", "Bool", "Float", "Double"]
    private static let values: Set = ["String", "Date", "Data", "UUID", "ObjectId", "Decimal128"]
    /// The types of Foundation that RealmSwift stores, and what they are today.
    private static let bridged = ["NSDate": "Date", "NSData": "Data", "NSString": "String"]
    /// Types that are not stored, and those to declare instead.
    private static let replacements = bridged.merging(
        [
            "NSNumber": "a number's type such as Int", "CGFloat": "Double", "NSInteger": "Int", "UInt": "Int",
            "UInt8": "Int", "UInt16": "Int", "UInt32": "Int", "UInt64": "Int", "NSUUID": "UUID", "URL": "String",
            "NSURL": "String", "Decimal": "Decimal128", "NSDecimalNumber": "Decimal128", "Character": "String",
            "Substring": "String", "Any": "AnyRealmValue", "AnyObject": "AnyRealmValue", "Array": "a List",
            "NSArray": "a List", "Dictionary": "a Map", "NSDictionary": "a Map", "Set": "a MutableSet",
            "NSSet": "a MutableSet",
        ], uniquingKeysWith: { first, _ in first })
    /// Types that are not stored in any form.
    private static let others: Set = [
        "Timer", "DispatchQueue", "NotificationToken", "Realm", "Results", "UIImage", "UIColor", "UIView", "NSObject",
        "IndexPath", "CGPoint", "CGSize", "CGRect",
    ]

    /// What a person has to do if the type is not stored.
    func advice(_ program: Program) -> String? {
        let plain = "Declare it as a plain var, or store something else."
        switch form {
        case .array: return "Declare a List."
        case .dictionary: return "Declare a Map."
        case .function, .tuple: return plain
        case .named(let path):
            let name = path.last ?? ""
            switch program.types.meaning(of: path, in: scope) {
            case .declared(let found):
                guard !found.contains(where: { isStorable($0, program) }) else { return nil }
                let isEnum = found.contains { $0.node.is(EnumDeclSyntax.self) }
                return isEnum ? "Let the enum conform to PersistableEnum." : plain
            case .realm, .ambiguous: return nil
            case .unknown:
                if Self.others.contains(name) { return plain }
                return Self.replacements[name].map { "Declare \($0)." }
            }
        }
    }

    private func isStorable(_ type: DeclaredType, _ program: Program) -> Bool {
        if type.node.is(ClassDeclSyntax.self) {
            // A class whose base is not among the files may be a model.
            return program.model(type) != nil || program.undecided.contains { $0.node.id == type.node.id }
        }
        let isStruct = type.node.is(StructDeclSyntax.self)
        guard isStruct || type.node.is(EnumDeclSyntax.self) else { return false }
        return program.types.conforms(
            type, to: ["RealmEnum", "PersistableEnum", "CustomPersistable", "FailableCustomPersistable"])
    }

    /// Whether RealmSwift stores a property of the type that is one for Objective-C by `@objcMembers` alone.
    ///
    /// Nil if the files don't say it. Objective-C has no optional numbers, and no structs and enums of Swift's own.
    func isStoredByItself(_ program: Program) -> Bool? {
        guard case .named(let path) = form else { return false }
        let name = path.last ?? ""
        switch program.types.meaning(of: path, in: scope) {
        case .declared(let found):
            if found.contains(where: { program.model($0) != nil }) { return true }
            return found.contains { type in
                guard let node = type.node.as(EnumDeclSyntax.self), !isOptional else { return false }
                return isStorable(type, program) && node.attributes.contains(name: "objc")
            }
        case .realm: return nil
        case .ambiguous: return nil
        case .unknown:
            if Self.numbers.contains(name) { return !isOptional }
            if Self.values.contains(name) || Self.bridged[name] != nil { return true }
            return Self.replacements[name] != nil || Self.others.contains(name) ? false : nil
        }
    }
}
