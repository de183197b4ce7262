import FirnBytes
import FirnStorage

/// The live checkpoint of a store: its files, opened for reading, and their nodes by their places.
///
/// Nodes are read through blocks of 64 KiB, of which the last few are kept, so that memory stays the same however long the files are.
final class CheckpointSpace {
    struct File {
        let entry: CheckpointFooter.File
        let path: String
        /// The file's length; 0 where it is missing.
        let byteCount: Int
        /// Nil where the file is missing, or is another than it should be.
        let file: (any StorageFile)?
    }

    /// What the manifest, or where that is gone the newest file, says of it.
    let entry: Manifest.Checkpoint
    let foot: CheckpointFooter
    let files: [File]
    let storage: any Storage

    private static let blockByteCount = 64 << 10
    private static let blockCount = 256
    /// Which block of which file lies in a slot; -1 for none.
    private var owners = [(file: Int, block: Int)](repeating: (-1, -1), count: blockCount)
    private var blocks = [[UInt8]](repeating: [], count: blockCount)
    /// Bytes of all nodes that references have led to, and how many these may become: see `walk`.
    private(set) var followed = 0
    private var followedMax = Int.max
    /// Whether a walk has come to its end for that; all that it says after is of no worth.
    var isSpent: Bool { followed > followedMax }

    init(entry: Manifest.Checkpoint, foot: CheckpointFooter, files: [File], storage: any Storage) {
        self.entry = entry
        self.foot = foot
        self.files = files
        self.storage = storage
    }

    deinit { for file in files { file.file?.close() } }

    var byteCount: Int { files.reduce(0) { $0 + $1.byteCount } }
    var schema: DecodedSchema { foot.schema }

    // MARK: Nodes

    /// Follows references in `body`, to as many bytes at most as the files have. A version is a tree, of which no node is reached in two ways (but for dictionaries, which
    /// are small); nodes that share others could lead to more than anybody can read, each of them whole.
    func walk<T>(_ body: () throws -> T) rethrows -> T {
        let outer = followedMax
        followedMax = min(outer, followed + files.reduce(0) { $0 + $1.entry.byteCount })
        defer { followedMax = outer }
        return try body()
    }

    /// The node at a place, its checksum compared.
    func node(at place: Int) throws -> OnDiskNode {
        guard let index = files.lastIndex(where: { $0.entry.start <= place }),
            place - files[index].entry.start >= CheckpointHeader.byteCount,
            place - files[index].entry.start < files[index].entry.byteCount, place % NodeHead.unit == 0
        else { throw NodeFault(place, "this place lies in none of the checkpoint's files") }
        let offset = place - files[index].entry.start
        let room = files[index].entry.byteCount - offset
        var start = [UInt8](repeating: 0, count: min(NodeHead.byteCount, room))
        try start.withUnsafeMutableBytes { try read(index, offset, into: $0, place) }
        let head: NodeHead
        switch start.withUnsafeBytes({ NodeHead.read($0, place: place, room: room) }) {
        case .refused(let reason): throw NodeFault(place, reason)
        case .head(let found): head = found
        }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: head.nodeByteCount, alignment: 16)
        let node = OnDiskNode(place: place, head: head, owning: memory)
        try read(index, offset, into: memory, place)
        guard NodeHead.isWhole(node.bytes) else { throw NodeFault(place, "the node's checksum is wrong") }
        try node.checkShape()
        return node
    }

    /// The node that a reference of `parent` leads to, which is of one of these kinds; nil where it leads nowhere.
    func node(_ place: Int?, of parent: OnDiskNode, _ kinds: NodeKind...) throws -> OnDiskNode? {
        guard let place else { return nil }
        let node: OnDiskNode
        do {
            node = try self.node(at: place)
        } catch let fault as NodeFault where fault.place == place {
            throw NodeFault(
                place, "\(fault.text) (the \(parent.kind.name.one) at \(words(parent.place)) refers to it)")
        }
        guard kinds.contains(node.kind) else {
            throw parent.fault(
                "a reference of the \(parent.kind.name.one) leads to a \(node.kind.name.one), not to a \(kinds[0].name.one)"
            )
        }
        guard node.head.stamp <= foot.stamp else {
            throw node.fault(
                "the \(node.kind.name.one) bears the stamp \(node.head.stamp), above the highest, \(foot.stamp)")
        }
        // A dictionary serves the chunks of several leaves.
        if parent.kind == .chunk, node.kind == .chunk { return node }
        followed += node.bytes.count
        guard followed <= followedMax else {
            throw parent.fault("the references lead to more than the files hold: several lead to the same nodes")
        }
        return node
    }

    private func read(_ index: Int, _ offset: Int, into target: UnsafeMutableRawBufferPointer, _ place: Int) throws {
        guard let file = files[index].file else {
            throw NodeFault(place, "the file that the node lies in can't be read")
        }
        func fill(_ target: UnsafeMutableRawBufferPointer, _ offset: Int) throws -> Int {
            do {
                return try file.read(into: target, at: offset)
            } catch {
                throw ToolError(error)
            }
        }
        var done = 0
        while done < target.count {
            let block = (offset + done) / Self.blockByteCount
            let within = (offset + done) % Self.blockByteCount
            let slot = (index &* 61 &+ block) % Self.blockCount
            if owners[slot] != (index, block) {
                owners[slot] = (-1, -1)
                if blocks[slot].count < Self.blockByteCount {
                    blocks[slot] = [UInt8](repeating: 0, count: Self.blockByteCount)
                }
                let count = try blocks[slot].withUnsafeMutableBytes { try fill($0, block * Self.blockByteCount) }
                // What a file that ends early lacks is none of the bytes that are sought.
                if count < Self.blockByteCount { blocks[slot].removeLast(blocks[slot].count - count) }
                owners[slot] = (index, block)
            }
            let count = min(target.count - done, blocks[slot].count - within)
            guard count > 0 else { throw NodeFault(place, "the file ends within the node") }
            blocks[slot].withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: target[done..<done + count])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[within..<within + count]))
            }
            done += count
        }
    }

    // MARK: Words

    /// A place as a person finds it: the file's name and the offset in it.
    private func words(_ place: Int) -> String {
        let (path, offset) = position(of: place)
        return "\(path.split(separator: "/").last ?? ""), byte \(offset ?? place)"
    }

    /// Where a place lies; one that is before all files, in none of them: nowhere in the last.
    private func position(of place: Int) -> (path: String, offset: Int?) {
        guard let file = files.last(where: { $0.entry.start <= place }) else {
            return (files[files.count - 1].path, nil)
        }
        return (file.path, place - file.entry.start)
    }

    func finding(_ fault: NodeFault) -> Finding {
        let (path, offset) = position(of: fault.place)
        return Finding(.damage, path, offset, fault.text)
    }

    /// Runs `body` and gives what it says is damaged.
    func finding(_ body: () throws -> Void) throws -> Finding? {
        do {
            try body()
            return nil
        } catch let fault as NodeFault {
            return finding(fault)
        }
    }
}
