import Foundation

/// The location of the tree: a folder. Another folder may replace one part of it.
struct TreeSource: Sendable {
    let root: [UInt8]
    var replaced: Replacement?

    struct Replacement: Sendable {
        let part: TreePath
        let folder: [UInt8]
    }

    /// The path for system calls.
    func location(_ path: TreePath) -> [UInt8] {
        if let replaced, path.isWithin(replaced.part) {
            let inside = path.bytes.dropFirst(replaced.part.bytes.count)
            if replaced.part.isRoot && !path.isRoot { return replaced.folder + [UInt8(ascii: "/")] + inside }
            return replaced.folder + inside
        }
        return path.isRoot ? root : root + [UInt8(ascii: "/")] + path.bytes
    }
}

/// What the file system says about one file or folder.
struct Found: Sendable {
    let path: TreePath
    let status: FileSystem.Status
    var contentHash: Int?
    var target: String?
    var problem: String?
}

/// Reads a tree, each folder before its contents. It follows no link, so that it can't run into a cycle, and does not
/// enter other volumes.
struct TreeWalk {
    let source: TreeSource
    /// A folder that is left out: the scratch folder, which may lie in the tree.
    let excluded: FileSystem.Status?
    /// Returns the hash of a file's content if that is known already, so that the file need not be read.
    var knownHash: (TreePath, FileSystem.Status) -> Int? = { _, _ in nil }

    private(set) var bytesHashed = 0

    init(_ source: TreeSource, excluding scratch: FileSystem.Status?) {
        self.source = source
        excluded = scratch
    }

    mutating func run(_ progress: Progress) throws(FileProblem) -> [Found] {
        let root = try FileSystem.status(source.location(.root))
        guard root.kind == .folder else {
            throw FileProblem(source.root, "is not a folder. Give one whose tree is to be indexed.")
        }
        var devices: Set<UInt64> = [root.device]
        if let replaced = source.replaced { devices.insert(try FileSystem.status(replaced.folder).device) }
        // A problem below the root is noted in its entry. A root that can't be read is an error.
        _ = try FileSystem.names(source.location(.root))
        var found: [Found] = []
        var waiting: [TreePath] = [.root]
        while let path = waiting.popLast() {
            let status: FileSystem.Status
            do throws(FileProblem) { status = try FileSystem.status(source.location(path)) } catch {
                // Files may disappear while the tree is read. Other problems, such as a path that is too long, are
                // noted.
                guard !error.isMissing else { continue }
                found.append(Found(path: path, status: .unknown, problem: error.reason))
                continue
            }
            if let excluded, status.device == excluded.device, status.node == excluded.node { continue }
            var entry = Found(path: path, status: status)
            do throws(FileProblem) {
                switch status.kind {
                case .folder where devices.contains(status.device):
                    waiting += try FileSystem.names(source.location(path)).reversed().map { path.appending($0) }
                case .file where status.size <= ContentHash.limit: entry.contentHash = try hash(path, status)
                case .link: entry.target = TreePath.text(try FileSystem.target(source.location(path)))
                case .folder, .file, .other: break
                }
            } catch { entry.problem = error.reason }
            found.append(entry)
            progress.update(found.count)
        }
        return found
    }

    private mutating func hash(_ path: TreePath, _ status: FileSystem.Status) throws(FileProblem) -> Int {
        if let known = knownHash(path, status) { return known }
        let bytes = try FileSystem.read(source.location(path), limit: ContentHash.limit)
        bytesHashed += bytes.count
        var hash = ContentHash()
        hash.add(bytes)
        return Int(bitPattern: UInt(hash.value))
    }
}
