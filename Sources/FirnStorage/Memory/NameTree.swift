/// The node that a name leads to in a `NameTree`: a folder, which has children, or a file, which has none.
package protocol NameTreeNode: AnyObject {
    var children: [String: Self]? { get set }
}

/// A tree of names and folders in memory. It throws the errors that an operating system would give.
///
/// Relative paths begin at the root, like absolute ones. There are no links, so `.` and `..` are resolved textually. If
/// the root is an open folder, only single names are looked up in it.
package struct NameTree<Node: NameTreeNode> {
    package let root: Node
    /// The path of the open folder, for messages; nil if names are paths.
    private let folderPath: String?

    package init(root: Node, folderPath: String? = nil) {
        self.root = root
        self.folderPath = folderPath
    }

    private func error(_ code: StorageError.Code, operation: String, path: String) -> StorageError {
        StorageError(code, operation: operation, path: folderPath.map { "\($0)/\(path)" } ?? path)
    }

    /// The node at `path`, or nil if nothing has the name.
    package func node(at path: String, _ operation: String) throws(StorageError) -> Node? {
        let names = try components(path, operation)
        guard let last = names.last else { return root }
        guard let folder = try folder(names.dropLast(), path: path, operation: operation, mayMiss: true) else {
            return nil
        }
        return folder.children?[last]
    }

    /// The node at `path`. Throws if there is none.
    package func existing(_ path: String, _ operation: String) throws(StorageError) -> Node {
        guard let node = try node(at: path, operation) else {
            throw error(.notFound, operation: operation, path: path)
        }
        return node
    }

    /// The folder at `path`. Throws if there is none.
    package func existingFolder(_ path: String, _ operation: String) throws(StorageError) -> Node {
        let node = try existing(path, operation)
        guard node.children != nil else { throw error(.notAFolder, operation: operation, path: path) }
        return node
    }

    /// The folder and name for a new node (see `location`). Throws `.exists` if something already has the name.
    package func freeLocation(of path: String, _ operation: String) throws(StorageError) -> (folder: Node, name: String)
    {
        if try node(at: path, operation) != nil { throw error(.exists, operation: operation, path: path) }
        return try location(of: path, operation)
    }

    /// The last name of `path`, and the folder that contains it or will contain it.
    ///
    /// - Parameter moved: a node that the path must not lead through, because a folder can't be moved into itself.
    package func location(
        of path: String, _ operation: String, outside moved: Node? = nil
    ) throws(StorageError) -> (folder: Node, name: String) {
        let names = try components(path, operation)
        guard let last = names.last else {
            throw error(.input("the root folder can't be changed"), operation: operation, path: path)
        }
        // Never nil here: `folder` returns nil only if `mayMiss` is true.
        guard
            let folder = try folder(names.dropLast(), path: path, operation: operation, mayMiss: false, outside: moved)
        else {
            throw error(.notFound, operation: operation, path: path)
        }
        return (folder, last)
    }

    private func folder(
        _ names: ArraySlice<String>, path: String, operation: String, mayMiss: Bool, outside moved: Node? = nil
    ) throws(StorageError) -> Node? {
        var node = root
        for name in names {
            guard let next = node.children?[name] else {
                if mayMiss { return nil }
                throw error(.notFound, operation: operation, path: path)
            }
            guard next.children != nil else { throw error(.notAFolder, operation: operation, path: path) }
            if next === moved {
                throw error(.input("a folder can't be moved into itself"), operation: operation, path: path)
            }
            node = next
        }
        return node
    }

    private func components(_ path: String, _ operation: String) throws(StorageError) -> [String] {
        guard !path.isEmpty else { throw error(.notFound, operation: operation, path: path) }
        if path.utf8.contains(0) {
            throw error(.input("its name contains a NUL, at which it would end"), operation: operation, path: path)
        }
        if folderPath != nil, path.utf8.contains(UInt8(ascii: "/")) || path == "." || path == ".." {
            throw error(.input("it is not a single name"), operation: operation, path: path)
        }
        var names: [String] = []
        for part in path.utf8.split(separator: UInt8(ascii: "/")) {
            guard part.count <= 255 else { throw error(.nameTooLong, operation: operation, path: path) }
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
