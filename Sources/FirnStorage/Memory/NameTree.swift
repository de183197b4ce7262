/// What a name stands for in a `NameTree`: a folder, which has children, or a file, which has none.
package protocol NameTreeNode: AnyObject {
    var children: [String: Self]? { get set }
}

/// Names and folders in memory, with the errors that an operating system gives.
///
/// Relative paths begin at the root, like absolute ones. `.` and `..` are resolved by their text, because there are
/// no links.
package struct NameTree<Node: NameTreeNode> {
    package let root: Node

    package init(root: Node) {
        self.root = root
    }

    /// The node at `path`, or nil if nothing has the name.
    package func node(at path: String, _ operation: String) throws(StorageError) -> Node? {
        let names = try Self.components(path, operation)
        guard let last = names.last else { return root }
        guard let folder = try folder(names.dropLast(), path, operation, mayMiss: true) else { return nil }
        return folder.children?[last]
    }

    /// The node at `path`. Throws if there is none.
    package func existing(_ path: String, _ operation: String) throws(StorageError) -> Node {
        guard let node = try node(at: path, operation) else {
            throw StorageError(.notFound, operation: operation, path: path)
        }
        return node
    }

    /// The folder at `path`. Throws if there is none.
    package func existingFolder(_ path: String, _ operation: String) throws(StorageError) -> Node {
        let node = try existing(path, operation)
        guard node.children != nil else { throw StorageError(.notAFolder, operation: operation, path: path) }
        return node
    }

    /// The folder that contains the last name of `path`, or will contain it, and that name.
    ///
    /// - Parameter moved: a node that the path must not lead through, because a folder can't be moved into itself.
    package func location(
        of path: String, _ operation: String, outside moved: Node? = nil
    ) throws(StorageError) -> (folder: Node, name: String) {
        let names = try Self.components(path, operation)
        guard let last = names.last else {
            throw StorageError(.input("the root folder can't be changed"), operation: operation, path: path)
        }
        // Never nil here: `folder` returns nil only if `mayMiss` is true.
        guard let folder = try folder(names.dropLast(), path, operation, mayMiss: false, outside: moved) else {
            throw StorageError(.notFound, operation: operation, path: path)
        }
        return (folder, last)
    }

    private func folder(
        _ names: ArraySlice<String>, _ path: String, _ operation: String, mayMiss: Bool, outside moved: Node? = nil
    ) throws(StorageError) -> Node? {
        var node = root
        for name in names {
            guard let next = node.children?[name] else {
                if mayMiss { return nil }
                throw StorageError(.notFound, operation: operation, path: path)
            }
            guard next.children != nil else { throw StorageError(.notAFolder, operation: operation, path: path) }
            if next === moved {
                throw StorageError(.input("a folder can't be moved into itself"), operation: operation, path: path)
            }
            node = next
        }
        return node
    }

    private static func components(_ path: String, _ operation: String) throws(StorageError) -> [String] {
        guard !path.isEmpty else { throw StorageError(.notFound, operation: operation, path: path) }
        var names: [String] = []
        for part in path.utf8.split(separator: UInt8(ascii: "/")) {
            guard part.count <= 255 else { throw StorageError(.nameTooLong, operation: operation, path: path) }
            let name = String(Substring(part))
            if name == "." { continue }
            if name == ".." {
                _ = names.popLast()
            } else {
                names.append(name)
            }
        }
        return names
    }
}
