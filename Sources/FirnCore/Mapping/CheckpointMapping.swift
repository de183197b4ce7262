import CFirn
import FirnBytes
import FirnLog
import FirnStorage
import Synchronization

/// The files of a checkpoint in memory: nodes that are read in place.
///
/// Every file is mapped at its offset in one reserved range of addresses. A node is **validated** when it is first
/// reached: its checksum is compared, and its references, which are distances in the mapping, become addresses. This is
/// done in memory that is private to the process. So a page that holds references costs memory once one of its nodes
/// has been validated. For that reason, nodes that hold references lie together. One bit per 32 bytes says whether a
/// node has been validated. The bit is read whenever a reference to a node of a file is followed (`firn_disk_node`),
/// which costs some 2 ns.
///
/// No two validated nodes share a byte: what validating one node writes is never part of another node that was
/// checked before. A second bit per 32 bytes says which units the validated nodes cover; only validation reads it.
///
/// A mapping lives as long as a version, or a transaction, reaches into it: `VersionTable.Entry` holds it. The bits
/// are atomic; `lock` guards validation and the list of files, to which a later checkpoint may add. A thread that
/// sees a node's bit set sees everything that validating the node wrote.
final class CheckpointMapping: @unchecked Sendable {
    /// The reserved range for the files. Behind it lie the bits of the validated nodes, and then the bits of the units
    /// that these nodes cover.
    private let memory: ReservedMemory
    private let covered: UnitBits
    private let byteCount: Int
    private let log: Log?
    private let lock = Lock(.mapping)
    private var mappedFiles: [MappedFile] = []
    /// Where the last file that was added ends. That file may no longer be part of the mapping.
    private var end = 0
    /// Bytes of all files.
    private var fileByteCount = 0
    private var dead: FreeSpaceMap
    private let descriptor: UnsafeMutablePointer<firn_mapping_t>
    /// Called with the damage before the program stops.
    private let onDamage: (@Sendable (StoreDamage) -> Void)?
    /// Counts in how many mappings each file is open.
    private let fileReferences: CheckpointFileReferences
    private var claims = NodeClaims()

    private static let numbers = Atomic<UInt64>(0)
    /// Guards registering and unregistering all mappings: once a mapping has been freed, a new mapping of another
    /// thread may get its addresses. No other lock is taken while this one is held.
    private static var registration: GlobalLock { .checkpointMappings }

    /// What is known of the version that a file was written for. All nodes of the file are part of that version.
    final class Origin {
        fileprivate let schema: ResolvedSchema
        /// The version's stamp. No node of the version is younger.
        fileprivate let stamp: UInt64
        /// Whether the file existed when the store was opened; if not, this process has written it.
        fileprivate let isOpened: Bool
        fileprivate let standIns: StandIns

        init(_ schema: ResolvedSchema, stamp: UInt64, isOpened: Bool) {
            self.schema = schema
            self.stamp = stamp
            self.isOpened = isOpened
            standIns = StandIns(schema)
        }
    }

    /// A file, and how it is read.
    private struct MappedFile {
        let entry: Checkpoint.File
        let path: String
        let origin: Origin
        /// The least stamp of the versions that reach into the file.
        var firstStamp: UInt64 = 0
        /// Set if the file is read into memory piece by piece: the file, and which of its units have been read.
        var reading: (file: CheckpointFileReader, units: [Bool])?
    }

    /// The most rows, entries or elements that a node's count may claim per byte of the files. It is twice as many as
    /// in a leaf of 256 rows without columns. So a walk whose length is given by counts, also by those of stand-ins,
    /// costs O(bytes of the files).
    private static let mostPerByte = 8

    /// Reserves addresses for files of `byteCount` bytes.
    ///
    /// - Parameters:
    ///   - holes: the ranges of the files in which nothing is to be read, in ascending order.
    init(
        byteCount: Int, holes: [Range<Int>] = [], log: Log?, fileReferences: CheckpointFileReferences,
        onDamage: (@Sendable (StoreDamage) -> Void)?
    ) throws(StorageError) {
        let reserved = ReservedMemory.roundUp(byteCount)
        // One bit for each unit. The system provides these as zeros, which cost memory only where nodes are
        // validated.
        let bitByteCount = ReservedMemory.roundUp(reserved / OnDiskNode.unit / 8)
        memory = try ReservedMemory(byteCount: reserved + 2 * bitByteCount)
        self.byteCount = reserved
        dead = FreeSpaceMap(holes: holes, blockByteCount: log?.holeByteCount ?? FileRange.blockByteCount)
        try memory.fill(length: 2 * bitByteCount, at: reserved)
        covered = UnitBits(memory.base + reserved + bitByteCount)
        self.log = log
        self.onDamage = onDamage
        self.fileReferences = fileReferences
        descriptor = .allocate(capacity: 1)
        descriptor.initialize(
            to: firn_mapping_t(
                base: UInt(bitPattern: memory.base), length: UInt(reserved),
                validated: (memory.base + reserved).assumingMemoryBound(to: UInt64.self),
                number: CheckpointMapping.numbers.wrappingAdd(1, ordering: .relaxed).newValue,
                owner: UnsafeMutableRawPointer(bitPattern: 1).unsafelyUnwrapped))
        descriptor.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
        CheckpointMapping.install()
        CheckpointMapping.registration.withLock { firn_register_mapping(descriptor) }
    }

    deinit {
        CheckpointMapping.registration.withLock { firn_unregister_mapping(descriptor) }
        descriptor.deallocate()
        fileReferences.release(mappedFiles.map(\.entry.id))
    }

    var base: UnsafeMutableRawPointer { memory.base }

    /// The files, first to last.
    var files: [Checkpoint.File] { lock.withLock { mappedFiles.map(\.entry) } }

    /// Returns where the next file may begin; nil if the mapping has no room for a file of `byteCount` bytes.
    func nextStart(byteCount: Int) -> Int? {
        let start = ReservedMemory.roundUp(lock.withLock { end })
        return start + byteCount <= self.byteCount ? start : nil
    }

    /// Whether an address lies in the mapping.
    func contains(_ address: UInt) -> Bool {
        address >= UInt(bitPattern: base) && address < UInt(bitPattern: base) + UInt(byteCount)
    }

    /// Returns the reference to the node at an offset, in the form that references have in memory.
    func ref(to offset: Int) -> NodeRef { NodeRef(UInt64(UInt(bitPattern: base)) + UInt64(offset) | 1) }

    // MARK: Files

    /// Adds a file at its offset.
    ///
    /// - Parameter byMapping: if false, the file is read into memory instead, piece by piece, as its nodes are
    ///   reached.
    func add(
        _ entry: Checkpoint.File, file: CheckpointFileReader, origin: Origin, byMapping: Bool
    ) throws(StorageError) {
        var mappedFile = MappedFile(entry: entry, path: file.path, origin: origin, reading: nil)
        var isMapped = false
        if byMapping, let mappable = file.mappable {
            isMapped = try memory.map(mappable, length: entry.byteCount, at: entry.start)
        }
        if isMapped {
            file.close()
        } else {
            try memory.fill(length: entry.byteCount, at: entry.start)
            // What is decrypted is on no disk, and a core dump must not bring it there.
            if file.isEncrypted { firn_exclude_from_dumps(base + entry.start, entry.byteCount) }
            let units = (entry.byteCount + file.unitByteCount - 1) / file.unitByteCount
            mappedFile.reading = (file, [Bool](repeating: false, count: units))
        }
        fileReferences.retain([entry.id])
        lock.lock()
        mappedFiles.append(mappedFile)
        fileByteCount += entry.byteCount
        end = max(end, entry.range.upperBound)
        lock.unlock()
    }

    /// Records that only versions from this stamp on reach into a file.
    func reach(_ id: UInt64, from stamp: UInt64) {
        lock.withLock {
            if let index = mappedFiles.firstIndex(where: { $0.entry.id == id }) {
                mappedFiles[index].firstStamp = stamp
            }
        }
    }

    /// The unit of holes, in bytes.
    var holeByteCount: Int { lock.withLock { dead.blockByteCount } }

    /// Removes files that no version reaches into any more.
    func remove(_ files: [Checkpoint.File]) throws(StorageError) {
        guard !files.isEmpty else { return }
        for file in files { try memory.clear(length: file.byteCount, at: file.start) }
        lock.withLock {
            mappedFiles.removeAll { files.contains($0.entry) }
            fileByteCount = mappedFiles.reduce(0) { $0 + $1.entry.byteCount }
            for file in files { dead.forget(file.range) }
            claims.forget(files.map { OnDiskNode.units($0.range) })
        }
        fileReferences.release(files.map(\.id))
    }

    // MARK: Dead nodes

    /// Records nodes that no version above the stamp reaches. Returns their total size in bytes.
    func addDead(_ nodes: [(address: UInt, byteCount: Int)], after stamp: UInt64) -> Int {
        lock.lock()
        defer { lock.unlock() }
        var total = 0
        for (address, byteCount) in nodes {
            let offset = Int(address - UInt(bitPattern: base))
            dead.add(offset..<(offset + byteCount), after: stamp)
            total += byteCount
            if let dictionary = dictionary(ofChunkAt: offset) { dead.suspect(dictionary, after: stamp) }
        }
        return total
    }

    /// Returns the range of the dictionary that a validated node refers to; nil if it refers to none. The dictionary
    /// may not have been validated, so the length in its header is not trusted beyond `Limits.chunkByteCount`. The lock
    /// is held.
    private func dictionary(ofChunkAt offset: Int) -> Range<Int>? {
        lock.assertHeld()
        let node = Node(base + offset)
        guard node.kindNumber == Node.Kind.chunk.rawValue, node.form == ChunkEncoding.Form.dictionary.rawValue else {
            return nil
        }
        let start = Int(ChunkEncoding.dictionaryRef(node).address - UInt(bitPattern: base))
        guard let index = mappedFiles.lastIndex(where: { $0.entry.start <= start }) else { return nil }
        let inFile = start - mappedFiles[index].entry.start
        guard inFile + NodeLayout.headerByteCount <= mappedFiles[index].entry.byteCount,
            read(index, inFile..<inFile + NodeLayout.headerByteCount) == nil
        else { return nil }
        return start..<start + min(Node(base + start).byteCount, Limits.chunkByteCount)
    }

    /// Runs `body` on the map of dead nodes and free space, with the lock held.
    func withDead<Result>(_ body: (inout FreeSpaceMap) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&dead)
    }

    /// Frees the dead nodes that no active version reaches. `stamps` holds the stamps of all active versions in the
    /// mapping, in ascending order.
    func reclaim(active stamps: [UInt64]) {
        lock.lock()
        defer { lock.unlock() }
        dead.reclaim { node in
            let first = mappedFiles.last { $0.entry.start <= node.range.lowerBound }?.firstStamp ?? 0
            let index = stamps.firstIndex(notBelow: first)
            return index < stamps.count && stamps[index] <= node.after
        }
    }

    /// How many units the files take, up to the end of the last one that was added.
    var unitCount: Int { lock.withLock { end } / OnDiskNode.unit }

    // MARK: Validating

    /// How many nodes have been validated. O(the reserved bytes of the mapping).
    var validatedCount: Int {
        (0..<Int(descriptor.pointee.length) / OnDiskNode.unit / 64).reduce(0) {
            $0 + descriptor.pointee.validated[$1].nonzeroBitCount
        }
    }

    /// Sets the function that validates a node. This is done for each mapping, not in the initializer of a lazy global.
    /// A child that is forked during the first use of such a global would wait for it forever.
    private static func install() {
        firn_set_validate { mapping, address in
            Unmanaged<CheckpointMapping>.fromOpaque(mapping.pointee.owner).takeUnretainedValue().validate(address)
        }
    }

    /// Validates the node at `address` and returns it. If the node is damaged, records the damage and returns a
    /// stand-in. If the thread does not record damage, or no stand-in can be made, reports the damage to the
    /// application and stops the program.
    private func validate(_ address: UInt) -> UnsafeMutableRawPointer {
        if let damage = tryValidate(address) {
            if let standIn = standIn(address), DamageRecord.note(damage) { return standIn.address }
            LockRank.expectNone("damage is reported to the application")
            onDamage?(damage)
            fatalError("Firn: \(damage)")
        }
        return base + Int(address - UInt(bitPattern: base))
    }

    /// Returns the node that is read in place of a damaged one; nil if no claim says what the node should be.
    private func standIn(_ address: UInt) -> Node? {
        lock.lock()
        defer { lock.unlock() }
        let offset = Int(address - UInt(bitPattern: base))
        guard let claim = claims.find(offset / OnDiskNode.unit) else { return nil }
        return file(at: offset)?.origin.standIns.node(claim)
    }

    /// The file that an offset lies in. The lock is held.
    private func file(at offset: Int) -> MappedFile? {
        mappedFiles.last { $0.entry.start <= offset && offset < $0.entry.start + $0.entry.byteCount }
    }

    /// Enters a claim for a node that a node on the heap refers to. Validating the claimed node enters claims for the
    /// nodes to which it refers.
    func claim(_ word: UInt64, _ claim: NodeClaim) {
        lock.lock()
        defer { lock.unlock() }
        let isRight = claims.enter(claim, Int(NodeRef(word).address - UInt(bitPattern: base)) / OnDiskNode.unit)
        assert(isRight, "Firn: a node that was just written is claimed as two different things")
    }

    /// Claims and validates the root of the version that the mapping was opened with; returns the damage if it is
    /// damaged.
    func openRoot(at offset: Int) -> StoreDamage? {
        lock.lock()
        do throws(Damage) { try checkReference(UInt64(truncatingIfNeeded: offset) | 1) } catch {
            lock.unlock()
            return StoreDamage(error, path: files.last.map { path(of: $0) } ?? "", offset: 0)
        }
        _ = claims.enter(NodeClaim(.root), offset / OnDiskNode.unit)
        lock.unlock()
        return tryValidate(UInt(bitPattern: base) + UInt(offset))
    }

    private func path(of file: Checkpoint.File) -> String {
        lock.withLock { mappedFiles.first { $0.entry == file }?.path ?? "" }
    }

    /// Throws if a reference, in the form that references have in a file, can't lead to a node. The lock is held.
    private func checkReference(_ word: UInt64) throws(Damage) {
        lock.assertHeld()
        let offset = word &- 1
        guard word & 1 == 1, offset % UInt64(OnDiskNode.unit) == 0, offset < UInt64(byteCount),
            mappedFiles.contains(where: { $0.entry.nodes.contains(Int(offset)) })
        else { throw Damage("a reference leads to an offset where no node can lie") }
    }

    /// Checks a node, whose bytes are intact, against its claim, enters claims for the nodes that it refers to, and
    /// turns its references into addresses. The lock is held.
    private func prepare(_ node: Node, claim: NodeClaim, origin: Origin) throws(Damage) {
        lock.assertHeld()
        guard node.stamp <= origin.stamp else { throw Damage("a node is younger than the version that it is part of") }
        var check = NodeCheck(node: node, claim: claim, schema: origin.schema, isOpened: origin.isOpened)
        try check.check()
        try check.checkCount(most: CheckpointMapping.mostPerByte * fileByteCount)
        guard claims.enter(check.full, Int(UInt(bitPattern: node.address) - UInt(bitPattern: base)) / OnDiskNode.unit)
        else { throw Damage("a node does not have the level or size that was expected") }
        for ref in check.refs {
            let word = ref.address.loadUnaligned(as: UInt64.self)
            try checkReference(word)
            let offset = Int(word - 1)
            let unit = offset / OnDiskNode.unit
            let isKnown = claims.find(unit) != nil
            guard claims.enter(ref.claim, unit) else {
                throw Damage("a node is referred to as two different things")
            }
            // Only in opened files must such a node have one reference. In a file that this process wrote, a version
            // may refer to nodes to which the version before it refers too.
            if origin.isOpened, ref.claim.role.isOwned, !claims.take(unit) {
                throw Damage("a node is referred to twice")
            }
            // If the node was validated before, it must also be what this node expects.
            if firn_is_validated(descriptor, UInt(bitPattern: base) + UInt(offset)) != 0 {
                guard isKnown || file(at: offset)?.origin.isOpened == false,
                    check.isEnough(Node(base + offset), ref.claim)
                else { throw Damage("a node is not what a second reference expects") }
            }
        }
        let distance = UInt64(UInt(bitPattern: base))
        for ref in check.refs {
            ref.address.storeBytes(of: ref.address.loadUnaligned(as: UInt64.self) &+ distance, as: UInt64.self)
        }
    }

    /// Validates the node at `address`; returns the damage if it is damaged.
    func tryValidate(_ address: UInt) -> StoreDamage? {
        lock.lock()
        defer { lock.unlock() }
        guard firn_is_validated(descriptor, address) == 0 else { return nil }
        let offset = Int(address - UInt(bitPattern: base))
        guard let index = mappedFiles.lastIndex(where: { $0.entry.start <= offset }),
            offset - mappedFiles[index].entry.start < mappedFiles[index].entry.byteCount
        else {
            return StoreDamage(
                path: mappedFiles.last?.path ?? "", offset: offset,
                detail: "a reference leads beyond the checkpoint's files"
            )
        }
        let entry = mappedFiles[index].entry
        let inFile = offset - entry.start
        let start = base + offset
        let remaining = entry.byteCount - inFile
        if let error = read(index, inFile..<min(inFile + NodeLayout.headerByteCount, entry.byteCount)) { return error }
        if remaining >= NodeLayout.headerByteCount {
            let length = min(remaining, Int(start.load(fromByteOffset: NodeLayout.Header.bytes, as: UInt32.self)))
            if let error = read(index, inFile..<(inFile + length)) { return error }
        }
        do throws(Damage) { try OnDiskNode.check(at: start, offset: offset, remaining: remaining) } catch {
            return StoreDamage(error, path: mappedFiles[index].path, offset: inFile)
        }
        let units = OnDiskNode.units(offset..<offset + Node(start).byteCount)
        guard !covered.areAny(in: units) else {
            return StoreDamage(
                path: mappedFiles[index].path, offset: inFile, detail: "a node shares bytes with another one")
        }
        if let claim = claims.find(offset / OnDiskNode.unit) {
            do throws(Damage) {
                try prepare(Node(start), claim: claim, origin: mappedFiles[index].origin)
            } catch {
                return StoreDamage(error, path: mappedFiles[index].path, offset: inFile)
            }
        } else {
            // This process has written the node, and no claim was entered for it: see `NodeShape.claim`.
            let distance = UInt64(UInt(bitPattern: base))
            OnDiskNode.forEachRef(Node(start)) { slot in
                let word = slot.loadUnaligned(as: UInt64.self)
                if word != 0 { slot.storeBytes(of: word &+ distance, as: UInt64.self) }
            }
        }
        covered.insert(units)
        firn_set_validated(descriptor, address)
        return nil
    }

    /// Adds a node's units to the set, and the units of all nodes below it that are not in the set yet. Returns damage
    /// that is met.
    func mark(from address: UInt, in units: inout BitSet) -> StoreDamage? {
        let offset = Int(address - UInt(bitPattern: base))
        guard !units.contains(offset / OnDiskNode.unit) else { return nil }
        if let damage = tryValidate(address) { return damage }
        let node = Node(base + offset)
        units.insert(OnDiskNode.units(offset..<offset + node.byteCount))
        var damage: StoreDamage?
        OnDiskNode.forEachRef(node) { slot in
            let word = slot.loadUnaligned(as: UInt64.self)
            if word != 0, damage == nil { damage = mark(from: NodeRef(word).address, in: &units) }
        }
        return damage
    }

    /// Checks every node of a file. None of them may have been validated yet. O(bytes).
    func verify(_ entry: Checkpoint.File) -> StoreDamage? {
        lock.lock()
        defer { lock.unlock() }
        guard let index = mappedFiles.firstIndex(where: { $0.entry == entry }) else { return nil }
        let holes = dead.holes.filter { $0.lowerBound >= entry.start && $0.lowerBound < entry.range.upperBound }
        // A hole may have been punched, so what is encrypted there can't be read.
        var read = 0
        for hole in holes {
            if let damage = self.read(index, read..<hole.lowerBound - entry.start) { return damage }
            read = hole.upperBound - entry.start
        }
        if let damage = self.read(index, read..<entry.byteCount) { return damage }
        var offset = CheckpointFileWriter.headerByteCount
        let start = base + entry.start
        var next = 0
        while offset < entry.byteCount {
            if next < holes.count, holes[next].lowerBound == entry.start + offset {
                offset = holes[next].upperBound - entry.start
                next += 1
                continue
            }
            let remaining = entry.byteCount - offset
            // A file's length is rounded up to 64 bytes.
            let isPadding =
                remaining == OnDiskNode.unit
                && UnsafeRawBufferPointer(start: start + offset, count: remaining).isAllZero
            if isPadding { return nil }
            do throws(Damage) {
                try OnDiskNode.check(at: start + offset, offset: entry.start + offset, remaining: remaining)
            } catch {
                return StoreDamage(error, path: mappedFiles[index].path, offset: offset)
            }
            offset += Node(start + offset).byteCount
        }
        return nil
    }

    /// Reads those units of a range of a file that are not in memory yet, if the file is not mapped. Returns the damage
    /// if that fails. The lock is held.
    private func read(_ index: Int, _ range: Range<Int>) -> StoreDamage? {
        lock.assertHeld()
        guard !range.isEmpty, let reading = mappedFiles[index].reading else { return nil }
        let entry = mappedFiles[index].entry
        let unitByteCount = reading.file.unitByteCount
        for unit in range.lowerBound / unitByteCount...(range.upperBound - 1) / unitByteCount
        where !reading.units[unit] {
            let offset = unit * unitByteCount
            let length = min(unitByteCount, entry.byteCount - offset)
            let target = UnsafeMutableRawBufferPointer(start: base + entry.start + offset, count: length)
            do throws(LogError) { try reading.file.read(unit: unit, into: target) } catch {
                return StoreDamage(path: mappedFiles[index].path, offset: error.offset ?? offset, detail: error.detail)
            }
            mappedFiles[index].reading?.units[unit] = true
        }
        return nil
    }
}
