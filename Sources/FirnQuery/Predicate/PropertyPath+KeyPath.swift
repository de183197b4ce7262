/// A part of a key path, which an argument for `%K` and Objective-C's functions take.
package struct KeyPathName: Sendable, Hashable {
    package let text: String
    /// Whether it begins with an `@` without a backslash before it, as `@count` does.
    package let isOperator: Bool

    package init(_ text: String, isOperator: Bool = false) {
        self.text = text
        self.isOperator = isOperator
    }
}

extension PropertyPath {
    /// The parts of a key path. A backslash makes what follows it a part of a name: a dot, a backslash, or an `@` at
    /// the beginning.
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

    /// The parts of this path as a key path has them, as far as they are names.
    package var keyPathNames: [KeyPathName] {
        components.compactMap { component in
            switch component {
            case .name(let name): KeyPathName(name)
            case .keyword(let word): KeyPathName(word, isOperator: true)
            case .key, .index, .each: nil
            }
        }
    }

    /// The key path that leads along names of properties.
    package static func keyPath(_ names: [String]) -> String {
        names.map { name in
            let escaped = name.replacing("\\", with: "\\\\").replacing(".", with: "\\.")
            return escaped.utf8.first == UInt8(ascii: "@") ? "\\" + escaped : escaped
        }.joined(separator: ".")
    }
}
