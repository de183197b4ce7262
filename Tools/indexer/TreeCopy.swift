import Foundation

/// A copy of a part of the tree, which is changed instead of the part, since the tree itself is only read.
struct TreeCopy {
    /// The part of the tree.
    let part: TreePath
    let folder: [UInt8]
    private let things: [Found]

    /// Chooses the folder to copy, with nothing in it that can't be copied. Among the folders of at most `limit`
    /// entries, it is the one with the most small files. If there is no such folder, it is the folder with the fewest
    /// entries.
    static func choosePart(_ found: [Found], limit: Int = 2000) -> TreePath? {
        var entries: [TreePath: Int] = [:]
        var files: [TreePath: Int] = [:]
        var unfit: Set<TreePath> = []
        for thing in found {
            let fits = thing.status.kind != .other && thing.problem == nil
            var path = thing.path
            while true {
                entries[path, default: 0] += 1
                if thing.contentHash != nil { files[path, default: 0] += 1 }
                if !fits { unfit.insert(path) }
                if path.isRoot { break }
                path = path.parent
            }
        }
        let folders = found.filter { $0.status.kind == .folder && !unfit.contains($0.path) }
        let small = folders.filter { (entries[$0.path] ?? 0) <= limit }
        let best = small.max { (files[$0.path] ?? 0) < (files[$1.path] ?? 0) }
        return (best ?? folders.min { (entries[$0.path] ?? 0) < (entries[$1.path] ?? 0) })?.path
    }

    /// Copies folders, links and files with their permissions and times. A file that is too long to be hashed is
    /// replaced by a sparse file of the same length.
    init(of part: TreePath, _ found: [Found], _ source: TreeSource, to folder: [UInt8]) throws(FileProblem) {
        self.part = part
        self.folder = folder
        things = found.filter { $0.path.isWithin(part) }
        let target = TreeSource(root: source.root, replaced: .init(part: part, folder: folder))
        for thing in things {
            let copy = target.location(thing.path)
            switch thing.status.kind {
            case .folder: try FileSystem.makeFolder(copy)
            case .link: try FileSystem.makeLink(copy, to: try FileSystem.target(source.location(thing.path)))
            case .file:
                let isHashed = thing.contentHash != nil
                try FileSystem.write(
                    copy, isHashed ? try FileSystem.read(source.location(thing.path), limit: ContentHash.limit) : [])
                if !isHashed { try FileSystem.setSize(copy, thing.status.size) }
            case .other: throw FileProblem(copy, "is neither file, folder nor link and can't be copied.")
            }
            if thing.status.kind != .folder { try FileSystem.setStatus(copy, thing.status) }
        }
        // Folders come last, since the files that were put into them have changed their times.
        for thing in things.reversed() where thing.status.kind == .folder {
            try FileSystem.setStatus(target.location(thing.path), thing.status)
        }
    }

    var source: TreeSource.Replacement { .init(part: part, folder: folder) }

    /// The changes to the copy, which are decided before they are made so that they can be observed.
    struct Plan {
        var edited: [TreePath] = []
        var loosened: [TreePath] = []
        var renamed: [(from: TreePath, to: TreePath)] = []
        var deleted: [TreePath] = []
        var added: [TreePath] = []
    }

    func plan() -> Plan {
        // Files from all over the part, each used for one kind of change.
        let files = things.filter { $0.status.kind == .file && $0.contentHash != nil }.map(\.path)
        let step = max(1, files.count / 12)
        var picked = stride(from: 0, to: files.count, by: step).prefix(12).map { files[$0] }[...]
        func take(_ number: Int) -> [TreePath] {
            defer { picked = picked.dropFirst(number) }
            return Array(picked.prefix(number))
        }
        var plan = Plan()
        plan.edited = take(3)
        plan.deleted = take(3)
        plan.renamed = take(3).map { ($0, TreePath(bytes: $0.bytes + Array(".renamed".utf8))) }
        plan.loosened = take(2)
        let new = part.appending(Array("firn-quickstart".utf8))
        plan.added = [new] + Self.newNames.map { new.appending($0) }
        return plan
    }

    /// Names and contents that have troubled other programs:
    /// - no content;
    /// - a name that is not UTF-8;
    /// - a name with a line break;
    /// - a name of 255 bytes;
    /// - a link in a loop;
    /// - a link to nothing.
    private static let newNames: [[UInt8]] = [
        Array("empty".utf8), Array("not UTF-8 ".utf8) + [0xFF, 0xFE], Array("two\nlines".utf8),
        Array(repeating: UInt8(ascii: "n"), count: 255),
        Array("loop".utf8), Array("nowhere".utf8),
    ]

    /// Changes the copy as planned. Returns what could not be done, such as a name that this file system does not
    /// accept.
    func change(_ plan: Plan) throws(FileProblem) -> [FileProblem] {
        let tree = TreeSource(root: [], replaced: source)
        var refused: [FileProblem] = []
        for path in plan.edited {
            let old = try FileSystem.read(tree.location(path), limit: ContentHash.limit)
            try FileSystem.setMode(tree.location(path), 0o644)
            try FileSystem.write(tree.location(path), old + Array("\nA line that quickstart added.\n".utf8))
        }
        for path in plan.loosened { try FileSystem.setMode(tree.location(path), 0o600) }
        for (old, new) in plan.renamed { try FileSystem.rename(tree.location(old), to: tree.location(new)) }
        for path in plan.deleted { try FileSystem.remove(tree.location(path)) }
        for path in plan.added {
            let location = tree.location(path)
            do throws(FileProblem) {
                switch String(decoding: path.name, as: UTF8.self) {
                case "firn-quickstart": try FileSystem.makeFolder(location)
                case "empty": try FileSystem.write(location, [])
                case "loop": try FileSystem.makeLink(location, to: [UInt8(ascii: ".")])
                case "nowhere": try FileSystem.makeLink(location, to: Array("/there/is/no/such/file".utf8))
                default: try FileSystem.write(location, Array("a new file\n".utf8))
                }
            } catch { refused.append(error) }
        }
        return refused
    }
}
