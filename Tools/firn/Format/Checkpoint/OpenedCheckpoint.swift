import FirnBytes
import FirnCrypto
import FirnStorage

/// A checkpoint of a store: its files, opened for reading, and their nodes by position.
///
/// A **position** is an offset in the checkpoint's mapping, where its files lie one behind the other. The tool maps
/// nothing: it reads nodes through blocks of 64 KiB. It keeps at most `blockCount` of these blocks, so that memory
/// stays the same however long the files are.
final class OpenedCheckpoint {
    struct File {
        let entry: CheckpointFooter.File
        let path: String
        /// The file's length; 0 if it is missing, or longer than any checkpoint's file.
        let byteCount: Int
        /// The file, open for reading. Nil if it is missing, or is not the one that it should be.
        let file: (any StorageFile)?
    }

    /// The manifest's entry for the checkpoint; without a manifest, one made from the newest file.
    let entry: Manifest.Checkpoint
    let footer: CheckpointFooter
    let files: [File]
    let storage: any Storage
    /// The keys of an encrypted store.
    let keys: StoreKeys?

    private static let blockByteCount = 64 << 10
    private static let blockCount = 256
    /// The file and the block that each slot of `blocks` holds; -1 for none.
    private var owners = [(file: Int, block: Int)](repeating: (-1, -1), count: blockCount)
    private var blocks = [[UInt8]](repeating: [], count: blockCount)
    /// The bytes of all nodes that references have led to, and the limit for them: see `walk`.
    private(set) var followed = 0
    private var followedMax = Int.max
    /// Whether a walk has passed that limit and ended. Its later findings mean nothing.
    var isSpent: Bool { followed > followedMax }

    init(entry: Manifest.Checkpoint, footer: CheckpointFooter, files: [File], storage: any Storage, keys: StoreKeys?) {
        self.entry = entry
        self.footer = footer
        self.files = files
        self.storage = storage
        self.keys = keys
    }

    deinit { for file in files { file.file?.close() } }

    var byteCount: Int { files.reduce(0) { $0 + $1.byteCount } }
    var schema: DecodedSchema { footer.schema }

    // MARK: Nodes

    /// Runs `body`, which may follow references to as many bytes as the files have.
    ///
    /// A version is a tree: no node is reached in two ways, except dictionaries, which are small. Intact nodes that
    /// share children could lead to far more bytes than the files have.
    func walk<T>(_ body: () throws -> T) rethrows -> T {
        let outer = followedMax
        followedMax = min(outer, followed + files.reduce(0) { $0 + $1.entry.byteCount })
        defer { followedMax = outer }
        return try body()
    }

    /// Runs `body`, which reads nodes that do not count for the walk around it.
    func apart<T>(_ body: () throws -> T) rethrows -> T {
        let (outer, count) = (followedMax, followed)
        followedMax = .max
        defer { (followedMax, followed) = (outer, count) }
        return try body()
    }

    /// Reads the node at a position, and checks its checksum and its shape.
    func node(at position: Int) throws -> OnDiskNode {
        let (index, offset) = try place(of: position)
        let header = try header(at: position)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: header.nodeByteCount, alignment: 16)
        let node = OnDiskNode(position: position, header: header, owning: memory)
        try read(index, offset: offset, into: memory, position: position)
        guard NodeHeader.isIntact(node.bytes) else { throw NodeDamage(position, "the node's checksum is wrong") }
        try node.checkShape()
        return node
    }

    /// Reads only the header of the node at a position. The node's checksum is not checked.
    func header(at position: Int) throws -> NodeHeader {
        let (index, offset) = try place(of: position)
        let available = files[index].entry.byteCount - offset
        return try withUnsafeTemporaryAllocation(byteCount: NodeHeader.byteCount, alignment: 8) { bytes in
            let start = UnsafeMutableRawBufferPointer(rebasing: bytes[..<min(NodeHeader.byteCount, available)])
            try read(index, offset: offset, into: start, position: position)
            do throws(Damage) {
                return try NodeHeader.read(UnsafeRawBufferPointer(start), position: position, available: available)
            } catch {
                throw NodeDamage(position, error.text)
            }
        }
    }

    /// The file that a position lies in, and the offset there.
    private func place(of position: Int) throws(NodeDamage) -> (file: Int, offset: Int) {
        guard let index = files.lastIndex(where: { $0.entry.start <= position }),
            position - files[index].entry.start >= CheckpointHeader.byteCount,
            position - files[index].entry.start < files[index].entry.byteCount, position % NodeHeader.unit == 0
        else { throw NodeDamage(position, "this position lies in none of the checkpoint's files") }
        return (index, position - files[index].entry.start)
    }

    /// The node that a reference of `parent` leads to, which must be of one of these kinds; nil if it leads nowhere.
    func node(_ position: Int?, of parent: OnDiskNode, _ kinds: NodeKind...) throws -> OnDiskNode? {
        guard let position else { return nil }
        let node: OnDiskNode
        do {
            node = try self.node(at: position)
        } catch let damage as NodeDamage where damage.position == position {
            throw NodeDamage(
                position, "\(damage.text) (the \(parent.kind.name.one) at \(words(parent.position)) refers to it)")
        }
        guard kinds.contains(node.kind) else {
            throw parent.damage(
                "a reference of the \(parent.kind.name.one) leads to a \(node.kind.name.one), not to a \(kinds[0].name.one)"
            )
        }
        try count(node.header, at: position, of: parent)
        return node
    }

    /// Counts a node that a reference of `parent` leads to. Throws if its stamp is too high, or if the references have
    /// led to more bytes than the limit.
    func count(_ header: NodeHeader, at position: Int, of parent: OnDiskNode) throws(NodeDamage) {
        guard header.stamp <= footer.stamp else {
            throw NodeDamage(
                position,
                "the \(header.kind.name.one) has the stamp \(header.stamp), above the checkpoint's highest, \(footer.stamp)"
            )
        }
        // The chunks of several leaves may share a dictionary.
        if parent.kind == .chunk, header.kind == .chunk { return }
        followed += header.nodeByteCount
        guard followed <= followedMax else {
            throw parent.damage("the references lead to more than the files hold: several lead to the same nodes")
        }
    }

    private func read(_ index: Int, offset: Int, into target: UnsafeMutableRawBufferPointer, position: Int) throws {
        guard let file = files[index].file else {
            throw NodeDamage(position, "the file that the node lies in can't be read")
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
                // The last block of a file may be short. The slot then keeps only the bytes that exist.
                if count < Self.blockByteCount { blocks[slot].removeLast(blocks[slot].count - count) }
                owners[slot] = (index, block)
            }
            let count = min(target.count - done, blocks[slot].count - within)
            guard count > 0 else { throw NodeDamage(position, "the file ends within the node") }
            blocks[slot].withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: target[done..<done + count])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[within..<within + count]))
            }
            done += count
        }
    }

    // MARK: Text

    /// A position as a person looks it up: the file's name and the offset in it.
    private func words(_ position: Int) -> String {
        let (path, offset) = location(of: position)
        return "\(path.split(separator: "/").last ?? ""), byte \(offset ?? position)"
    }

    /// The file and the offset of a position. A position before all files has no offset, and the last file's path.
    private func location(of position: Int) -> (path: String, offset: Int?) {
        guard let file = files.last(where: { $0.entry.start <= position }) else {
            return (files[files.count - 1].path, nil)
        }
        return (file.path, position - file.entry.start)
    }

    func finding(_ damage: NodeDamage) -> Finding {
        let (path, offset) = location(of: damage.position)
        return Finding(kind: .damage, file: path, offset: offset, text: damage.text)
    }

    /// Runs `body`, and returns the damage that it throws.
    func finding(_ body: () throws -> Void) throws -> Finding? {
        do {
            try body()
            return nil
        } catch let damage as NodeDamage {
            return finding(damage)
        }
    }
}
