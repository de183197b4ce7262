import FirnCore
import Foundation

/// A value that does not fit its property's type. The functions that take untyped values turn it into a `Realm.Error`
/// or a message.
struct ValueFault: Error, CustomStringConvertible {
    /// The property, from the outermost object inwards, such as `owner.dogs[2].age`.
    var path = ""
    var reason: String

    init(_ reason: String) { self.reason = reason }

    /// A list or dictionary is to be an element of a set of mixed values.
    static var collectionInSet: ValueFault { ValueFault("a set of mixed values can't hold a list or a dictionary") }

    /// An object that is to be created has the primary key of an existing object.
    init(existing info: ClassInfo, _ key: Value) {
        reason =
            "an object of \(info.name) with the primary key \(key.keyText) exists; pass update: .modified to change it"
    }

    /// A link, or an element of a collection, is of another class than declared. A subclass has its own table, so links
    /// to its superclass can't lead there.
    init(_ object: ObjectBase, isNoTargetOf target: ObjectBase.Type) {
        let (name, expected) = (object.modelType.className(), target.className())
        reason =
            "links to \(expected) can't lead to an object of \(name), which has a table of its own; link to an object of \(expected), or declare the property with \(name)"
    }

    /// An embedded object is to get a second parent.
    init(hasParent object: ObjectBase) {
        reason =
            "an embedded object of \(object.modelType.className()) has a parent already; copy it with init(value:)"
    }

    /// A value that is not of the required type.
    init(_ value: Any, isNot type: Any.Type) {
        reason = "\(Self.text(value)) (\(Swift.type(of: value))) is not a value of type \(type)"
    }

    /// A value as text, shortened. A collection of collections is not converted to text, because its text may be very
    /// long and is made by recursion.
    static func text(_ value: Any) -> String {
        let text = holdsCollections(value) ? "a collection of collections" : String(describing: value)
        return text.count > 80 ? String(text.prefix(80)) + "…" : text
    }

    private static func holdsCollections(_ value: Any) -> Bool {
        func isCollection(_ any: Any) -> Bool { unwrapped(any).map { $0 is any Sequence && !($0 is String) } ?? false }
        if isInstance(value) {
            return (value as? NSDictionary)?.allValues.contains(where: isCollection)
                ?? (value as? NSArray)?.contains(where: isCollection) ?? false
        }
        if let dictionary = value as? [AnyHashable: Any] { return dictionary.values.contains(where: isCollection) }
        return (value as? [Any])?.contains(where: isCollection) ?? false
    }

    /// The same fault, seen from an outer object: `outer` is put before the path.
    func inside(_ outer: String) -> ValueFault {
        if outer.isEmpty { return self }
        var copy = self
        copy.path = path.isEmpty ? outer : path.hasPrefix("[") ? outer + path : outer + "." + path
        return copy
    }

    var description: String {
        path.isEmpty ? "invalid value: \(reason)." : "invalid value for the property \"\(path)\": \(reason)."
    }

    /// The error to throw for this fault in an object of a class.
    func error(_ type: Any.Type) -> Realm.Error { Realm.Error(.invalidInput, "\(type): \(description)") }
}
