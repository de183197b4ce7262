/// A path from the tree's root, in the bytes that the file system has. Names on disk need not be text.
struct TreePath: Hashable, Sendable {
    /// Names separated by slashes; empty for the root.
    let bytes: [UInt8]

    static let root = TreePath(bytes: [])

    var isRoot: Bool { bytes.isEmpty }

    func appending(_ name: [UInt8]) -> TreePath {
        TreePath(bytes: isRoot ? name : bytes + [UInt8(ascii: "/")] + name)
    }

    var name: [UInt8] {
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return bytes }
        return Array(bytes[(slash + 1)...])
    }

    var parent: TreePath {
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return .root }
        return TreePath(bytes: Array(bytes[..<slash]))
    }

    var depth: Int { isRoot ? 0 : 1 + bytes.count { $0 == UInt8(ascii: "/") } }

    /// Whether this is the folder, or lies in it.
    func isWithin(_ folder: TreePath) -> Bool {
        folder.isRoot || bytes == folder.bytes
            || (bytes.count > folder.bytes.count && bytes.starts(with: folder.bytes)
                && bytes[folder.bytes.count] == UInt8(ascii: "/"))
    }

    /// One line of text, different for each path. Bytes that are not text or would disturb a line, and backslashes,
    /// are written as `\xHH`.
    var text: String { isRoot ? "." : TreePath.text(bytes) }

    static func text(_ bytes: [UInt8]) -> String {
        func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F && byte != UInt8(ascii: "\\") }
        if bytes.allSatisfy(isPlain), let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = ""
        var rest = bytes[...]
        while let first = rest.first {
            let length = (1...4).first {
                $0 <= rest.count && isPlain(first) && String(validating: rest.prefix($0), as: UTF8.self) != nil
            }
            if let length, let character = String(validating: rest.prefix(length), as: UTF8.self) {
                text += character
                rest = rest.dropFirst(length)
            } else {
                let digits = String(first, radix: 16, uppercase: true)
                text += "\\x" + (digits.count == 1 ? "0" : "") + digits
                rest = rest.dropFirst()
            }
        }
        return text
    }
}
