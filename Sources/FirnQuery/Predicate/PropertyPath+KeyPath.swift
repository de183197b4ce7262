/// One name of a key path. Key paths are arguments for `%K`, and parameters of the Objective-C interface's functions.
package struct KeyPathName: Sendable, Hashable {
    package let text: String
    /// Whether the text begins with an `@` that has no backslash before it, as `@count` does.
    package let isOperator: Bool

    package init(_ text: String, isOperator: Bool = false) {
        self.text = text
        self.isOperator = isOperator
    }
}

extension PropertyPath {
    /// The names in a key path. A backslash makes the character behind it a part of a name. It is needed before a dot,
    /// a backslash, and an `@` at the beginning.
    package static func names(in keyPath: String) -> [KeyPathName] {
        let at = UInt8(ascii: "@")
        guard keyPath.utf8.contains(UInt8(ascii: "\\")) else {
            return keyPath.split(separator: ".", omittingEmptySubsequences: false).map {
                KeyPathName(String($0), isOperator: $0.utf8.first == at)
            }
        }
        var names: [KeyPathName] = []
        var name: [UInt8] = []
        var (isOperator, isEscaped) = (false, false)
        func finished() -> KeyPathName { KeyPathName(String(decoding: name, as: UTF8.self), isOperator: isOperator) }
        for byte in keyPath.utf8 {
            switch byte {
            case UInt8(ascii: "\\") where !isEscaped: isEscaped = true
            case UInt8(ascii: ".") where !isEscaped:
                names.append(finished())
                (name, isOperator) = ([], false)
            default:
                if name.isEmpty { isOperator = byte == at && !isEscaped }
                name.append(byte)
                isEscaped = false
            }
        }
        if isEscaped { name.append(UInt8(ascii: "\\")) }
        names.append(finished())
        return names
    }

    /// The components of this path that are names, in the form of a key path.
    package var keyPathNames: [KeyPathName] {
        components.compactMap { component in
            switch component {
            case .name(let name): KeyPathName(name)
            case .keyword(let word): KeyPathName(word, isOperator: true)
            case .key, .index, .each: nil
            }
        }
    }

    /// The key path that leads along properties with these names.
    package static func keyPath(_ names: [String]) -> String {
        names.map { name in
            let escaped = name.replacing("\\", with: "\\\\").replacing(".", with: "\\.")
            return escaped.utf8.first == UInt8(ascii: "@") ? "\\" + escaped : escaped
        }.joined(separator: ".")
    }
}
