import CFirn
import FirnLog
import FirnStorage
import Synchronization

/// The files of a checkpoint in memory: nodes that are read where they lie.
///
/// Every file is mapped at its place in the space. A node is **touched** when it is first reached: its checksum is compared and its references, distances in the file, become addresses. That is done
/// in memory that is this process's alone, so a page that holds references costs memory once it has been touched; nodes that hold references lie together for that
/// reason. Whether a node has been touched is one bit per 32 bytes, looked at whenever a reference to a node of a file is followed (`firn_disk_node`): some 2 ns.
///
/// No two nodes that have been touched share a byte: what touching one writes is never part of another that was checked before. A second bit per 32 bytes says which of them touched nodes cover;
/// nobody but touching looks at it.
///
/// A space lives as long as a version, or a transaction, reaches into it: `VersionTable.Entry` holds it. The bits are atomic; `lock` guards touching, and the list of files, to which a
/// later checkpoint may add. Whoever sees a node's bit sees what touching it did.
final class CheckpointMapping: @unchecked Sendable {
    /// The room for files, and behind it the bits of the nodes that have been touched, and those of the units that such nodes cover.
    private let memory: ReservedMemory
    private let covered: UnitBits
    private let byteCount: Int
    private let log: Log?
    private let lock = Lock(.mapping)
    private var places: [Place] = []
    /// Where the last file that was added ends; it may be part of the space no more.
    private var end = 0
    /// Bytes of all files.
    private var fileByteCount = 0
    private var dead: FreeSpaceMap
    private let descriptor: UnsafeMutablePointer<firn_mapping_t>
    /// What is told of damage before the program stops.
    private let onDamage: (@Sendable (StoreDamage) -> Void)?
    /// Where the files are counted.
    private let fileReferences: CheckpointFileReferences
    private var claims = NodeClaims()

    private static let numbers = Atomic<UInt64>(0)
    /// Guards the entering and leaving of all spaces: the addresses of one that has gone may be another thread's new one at once. Nothing is locked under it.
    private static var entering: GlobalLock { .checkpointMappings }

    /// What is known of the version that a file was written for, whose nodes are all part of it.
    final class Origin {
        fileprivate let schema: ResolvedSchema
        /// No node of the version is younger.
        fileprivate let stamp: UInt64
        /// Whether the file was there when the store was opened; else this process has written it.
        fileprivate let isOpened: Bool
        fileprivate let standIns: StandIns

        init(_ schema: ResolvedSchema, stamp: UInt64, isOpened: Bool) {
            self.schema = schema
            self.stamp = stamp
            self.isOpened = isOpened
            standIns = StandIns(schema)
        }
    }

    private struct Place {
        let entry: Checkpoint.File
        let path: String
        let origin: Origin
        /// The least stamp of the versions that reach into the file.
        var firstStamp: UInt64 = 0
        /// Where the file is read into memory piece by piece: the file, and which blocks of 64 KiB have been read.
        var reading: (file: any StorageFile, blocks: [Bool])?
    }

    /// Rows, entries or elements that a byte of a file may stand for: twice what 256 rows of a leaf without columns
    /// take. Whatever is walked by its count, stand-ins of damaged nodes among it, is walked in O(bytes of the files).
    private static let mostPerByte = 8

    /// Bytes of a block that is read at a time where files are not mapped.
    private static let blockByteCount = ReservedMemory.alignment

    /// A space with room for files of `byteCount` bytes.
    ///
    /// - Parameters:
    ///   - holes: where in the files nothing is to be read, in ascending order.
    init(
        byteCount: Int, holes: [Range<Int>] = [], log: Log?, fileReferences: CheckpointFileReferences,
        onDamage: (@Sendable (StoreDamage) -> Void)?
    ) throws(StorageError) {
        let room = ReservedMemory.roundUp(byteCount)
        // A bit for each unit, which the system gives as zeros that cost memory only where nodes are touched.
        let bitByteCount = ReservedMemory.roundUp(room / OnDiskNode.unit / 8)
        memory = try ReservedMemory(byteCount: room + 2 * bitByteCount)
        self.byteCount = room
        dead = FreeSpaceMap(holes: holes)
        try memory.fill(length: 2 * bitByteCount, at: room)
        covered = UnitBits(memory.base + room + bitByteCount)
        self.log = log
        self.onDamage = onDamage
        self.fileReferences = fileReferences
        descriptor = .allocate(capacity: 1)
        descriptor.initialize(
            to: firn_mapping_t(
                base: UInt(bitPattern: memory.base), length: UInt(room),
                touched: (memory.base + room).assumingMemoryBound(to: UInt64.self),
                number: CheckpointMapping.numbers.wrappingAdd(1, ordering: .relaxed).newValue,
                owner: UnsafeMutableRawPointer(bitPattern: 1).unsafelyUnwrapped))
        descriptor.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
        CheckpointMapping.install()
        CheckpointMapping.entering.withLock { firn_register_mapping(descriptor) }
    }

    deinit {
        CheckpointMapping.entering.withLock { firn_unregister_mapping(descriptor) }
        descriptor.deallocate()
        fileReferences.release(places.map(\.entry.id))
    }

    var base: UnsafeMutableRawPointer { memory.base }

    /// The files, first to last.
    var files: [Checkpoint.File] { lock.withLock { places.map(\.entry) } }

    /// Where the next file may begin, or nil where the space has no room for one of `byteCount` bytes.
    func nextStart(byteCount: Int) -> Int? {
        let start = ReservedMemory.roundUp(lock.withLock { end })
        return start + byteCount <= self.byteCount ? start : nil
    }

    /// Whether an address lies in the space.
    func contains(_ address: UInt) -> Bool {
        address >= UInt(bitPattern: base) && address < UInt(bitPattern: base) + UInt(byteCount)
    }

    /// The reference, as memory has it, to the node at a place.
    func ref(to place: Int) -> NodeRef { NodeRef(UInt64(UInt(bitPattern: base)) + UInt64(place) | 1) }

    // MARK: Files

    /// Puts a file at its place.
    ///
    /// - Parameter byMapping: false reads it into memory, piece by piece, as it is touched.
    func add(
        _ entry: Checkpoint.File, _ file: any StorageFile, _ origin: Origin, byMapping: Bool
    ) throws(StorageError) {
        var place = Place(entry: entry, path: file.path, origin: origin, reading: nil)
        var isMapped = false
        if byMapping { isMapped = try memory.place(file, length: entry.byteCount, at: entry.start) }
        if isMapped {
            file.close()
        } else {
            try memory.fill(length: entry.byteCount, at: entry.start)
            let blocks = (entry.byteCount + CheckpointMapping.blockByteCount - 1) / CheckpointMapping.blockByteCount
            place.reading = (file, [Bool](repeating: false, count: blocks))
        }
        fileReferences.retain([entry.id])
        lock.lock()
        places.append(place)
        fileByteCount += entry.byteCount
        end = max(end, entry.range.upperBound)
        lock.unlock()
    }

    /// Only versions from this stamp on reach into a file.
    func reach(_ id: UInt64, from stamp: UInt64) {
        lock.withLock {
            if let index = places.firstIndex(where: { $0.entry.id == id }) { places[index].firstStamp = stamp }
        }
    }

    /// Lets files go that nothing reaches into any more.
    func remove(_ files: [Checkpoint.File]) throws(StorageError) {
        guard !files.isEmpty else { return }
        for file in files { try memory.clear(length: file.byteCount, at: file.start) }
        lock.withLock {
            places.removeAll { files.contains($0.entry) }
            fileByteCount = places.reduce(0) { $0 + $1.entry.byteCount }
            for file in files { dead.forget(file.range) }
            claims.forget(files.map { OnDiskNode.units($0.range) })
        }
        fileReferences.release(files.map(\.id))
    }

    // MARK: Dead nodes

    /// Takes note of nodes that no version above the stamp reaches; gives their bytes.
    func addDead(_ nodes: [(address: UInt, byteCount: Int)], after stamp: UInt64) -> Int {
        lock.lock()
        defer { lock.unlock() }
        var total = 0
        for (address, byteCount) in nodes {
            let place = Int(address - UInt(bitPattern: base))
            dead.add(place..<(place + byteCount), after: stamp)
            total += byteCount
            if let dictionary = dictionary(ofChunkAt: place) { dead.suspect(dictionary, after: stamp) }
        }
        return total
    }

    /// Where the dictionary lies that a node names, which has been touched; nil where it names none. Nobody may have
    /// touched the dictionary: its length is what its header says. The lock is held.
    private func dictionary(ofChunkAt place: Int) -> Range<Int>? {
        let node = Node(base + place)
        guard node.kindNumber == Node.Kind.chunk.rawValue, node.form == ChunkEncoding.Form.dictionary.rawValue else {
            return nil
        }
        let start = Int(
            NodeRef(node.load(ChunkEncoding.dictionaryOffset, as: UInt64.self)).address - UInt(bitPattern: base))
        guard let index = places.lastIndex(where: { $0.entry.start <= start }) else { return nil }
        let inFile = start - places[index].entry.start
        guard inFile + Node.headerByteCount <= places[index].entry.byteCount,
            read(index, inFile..<inFile + Node.headerByteCount) == nil
        else { return nil }
        return start..<start + min(Node(base + start).byteCount, Limits.chunkByteCount)
    }

    /// Runs `body` on what is known of dead nodes, with the lock held.
    func withDead<Result>(_ body: (inout FreeSpaceMap) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&dead)
    }

    /// Frees the dead nodes that none of the versions with these stamps, in ascending order, reaches: all those in the space that are active.
    func settle(active stamps: [UInt64]) {
        lock.lock()
        defer { lock.unlock() }
        dead.settle { node in
            let first = places.last { $0.entry.start <= node.range.lowerBound }?.firstStamp ?? 0
            let place = stamps.firstIndex(notBelow: first)
            return place < stamps.count && stamps[place] <= node.after
        }
    }

    /// Checks that no node that a version reaches in the space is taken for dead. O(nodes that it reaches).
    func checkAlive(_ snapshot: Snapshot, at stamp: UInt64) {
        var alive = BitSet(count: lock.withLock { end } / OnDiskNode.unit)
        snapshot.forEachStoredNode(below: self) { root in
            if let damage = mark(from: root, in: &alive) { preconditionFailure("Firn: \(damage)") }
        }
        withDead { dead in
            for range in dead.free + dead.waiting.filter({ $0.after < stamp }).map(\.range) {
                precondition(
                    alive.count(in: OnDiskNode.units(range)) == 0,
                    "Firn: of \(range) something is taken for dead and is reached")
            }
        }
    }

    // MARK: Touching

    /// How many nodes have been touched. O(the room of the space).
    var touchedCount: Int {
        (0..<Int(descriptor.pointee.length) / OnDiskNode.unit / 64).reduce(0) {
            $0 + descriptor.pointee.touched[$1].nonzeroBitCount
        }
    }

    /// Each time: a child that is forked amid the first use of a lazy global would wait for it for ever.
    private static func install() {
        firn_set_validate { mapping, address in
            Unmanaged<CheckpointMapping>.fromOpaque(mapping.pointee.owner).takeUnretainedValue().touch(address)
        }
    }

    /// Makes the node at `address` ready to be read. Where it can't be, notes that and gives a node to read instead, or, where nobody would be told, stops the program after telling.
    private func touch(_ address: UInt) -> UnsafeMutableRawPointer {
        if let damage = tryTouch(address) {
            if let standIn = standIn(address), Faults.note(damage) { return standIn.address }
            LockRank.expectNone("the application is told of damage")
            onDamage?(damage)
            fatalError("Firn: \(damage)")
        }
        return base + Int(address - UInt(bitPattern: base))
    }

    /// What is read in the place of a damaged node; nil where nothing says what it should be.
    private func standIn(_ address: UInt) -> Node? {
        lock.lock()
        defer { lock.unlock() }
        let offset = Int(address - UInt(bitPattern: base))
        guard let claim = claims.find(offset / OnDiskNode.unit) else { return nil }
        return place(of: offset)?.origin.standIns.node(claim)
    }

    /// The file that a place is part of. The lock is held.
    private func place(of offset: Int) -> Place? {
        places.last { $0.entry.start <= offset && offset < $0.entry.start + $0.entry.byteCount }
    }

    /// Says what a node has to be that a node on the heap refers to. What it refers to itself says so when it is touched.
    func claim(_ word: UInt64, _ claim: NodeClaim) {
        lock.lock()
        defer { lock.unlock() }
        let isRight = claims.enter(claim, Int(NodeRef(word).address - UInt(bitPattern: base)) / OnDiskNode.unit)
        assert(isRight, "Firn: a node that was just written is claimed as two different things")
    }

    /// Says what the root of the version is that the space was opened with, and checks it.
    func openRoot(at place: Int) -> StoreDamage? {
        lock.lock()
        let fault = fault(of: UInt64(truncatingIfNeeded: place) | 1)
        if fault == nil { _ = claims.enter(NodeClaim(.root), place / OnDiskNode.unit) }
        lock.unlock()
        if let fault { return StoreDamage(path: files.last.map { path(of: $0) } ?? "", offset: 0, detail: fault) }
        return tryTouch(UInt(bitPattern: base) + UInt(place))
    }

    private func path(of file: Checkpoint.File) -> String {
        lock.withLock { places.first { $0.entry == file }?.path ?? "" }
    }

    /// Why a reference, as a file has it, can't lead to a node; nil where it may. The lock is held.
    private func fault(of word: UInt64) -> String? {
        let place = word &- 1
        guard word & 1 == 1, place % UInt64(OnDiskNode.unit) == 0, place < UInt64(byteCount),
            places.contains(where: { $0.entry.nodes.contains(Int(place)) })
        else { return "a reference leads to no place where a node can lie" }
        return nil
    }

    /// Checks a node, whose bytes are whole, against what is claimed of it, enters claims for those that it refers to, and makes addresses of its references. The lock is held.
    private func prepare(_ node: Node, _ claim: NodeClaim, _ origin: Origin) -> String? {
        guard node.stamp <= origin.stamp else { return "a node is younger than the version that it is part of" }
        var check = NodeCheck(node, claim, origin.schema, isOpened: origin.isOpened)
        if let fault = check.fault() ?? check.countFault(most: CheckpointMapping.mostPerByte * fileByteCount) {
            return fault
        }
        guard claims.enter(check.full, Int(UInt(bitPattern: node.address) - UInt(bitPattern: base)) / OnDiskNode.unit)
        else { return "a node is of another level or size than was expected" }
        for ref in check.refs {
            let word = ref.place.loadUnaligned(as: UInt64.self)
            if let fault = fault(of: word) { return fault }
            let offset = Int(word - 1)
            let unit = offset / OnDiskNode.unit
            let isKnown = claims.find(unit) != nil
            guard claims.enter(ref.claim, unit) else {
                return "a node is referred to as two different things"
            }
            // A version that this process has made may refer to what the one before refers to.
            if origin.isOpened, ref.claim.role.isOwned, !claims.take(unit) { return "a node is referred to twice" }
            // What was checked before is checked for what this node expects of it.
            if firn_is_touched(descriptor, UInt(bitPattern: base) + UInt(offset)) != 0 {
                guard isKnown || place(of: offset)?.origin.isOpened == false,
                    check.isEnough(Node(base + offset), ref.claim)
                else { return "a node is referred to as another thing than it is" }
            }
        }
        let distance = UInt64(UInt(bitPattern: base))
        for ref in check.refs {
            ref.place.storeBytes(of: ref.place.loadUnaligned(as: UInt64.self) &+ distance, as: UInt64.self)
        }
        return nil
    }

    /// As `touch`, but gives the damage back.
    func tryTouch(_ address: UInt) -> StoreDamage? {
        lock.lock()
        defer { lock.unlock() }
        guard firn_is_touched(descriptor, address) == 0 else { return nil }
        let offset = Int(address - UInt(bitPattern: base))
        guard let index = places.lastIndex(where: { $0.entry.start <= offset }),
            offset - places[index].entry.start < places[index].entry.byteCount
        else {
            return StoreDamage(
                path: places.last?.path ?? "", offset: offset, detail: "a reference leads behind the checkpoint's files"
            )
        }
        let entry = places[index].entry
        let inFile = offset - entry.start
        let start = base + offset
        let room = entry.byteCount - inFile
        if let error = read(index, inFile..<min(inFile + Node.headerByteCount, entry.byteCount)) { return error }
        if room >= Node.headerByteCount {
            let length = min(room, Int(start.load(fromByteOffset: 28, as: UInt32.self)))
            if let error = read(index, inFile..<(inFile + length)) { return error }
        }
        if let fault = OnDiskNode.fault(at: start, place: offset, room: room) {
            return StoreDamage(path: places[index].path, offset: inFile, detail: fault)
        }
        let units = OnDiskNode.units(offset..<offset + Node(start).byteCount)
        guard !covered.areAny(in: units) else {
            return StoreDamage(
                path: places[index].path, offset: inFile, detail: "a node shares bytes with another one")
        }
        if let claim = claims.find(offset / OnDiskNode.unit) {
            if let fault = prepare(Node(start), claim, places[index].origin) {
                return StoreDamage(path: places[index].path, offset: inFile, detail: fault)
            }
        } else {
            // This process has written it, and what refers to it does not tell what it is: see `Rebase.claim`.
            let distance = UInt64(UInt(bitPattern: base))
            OnDiskNode.forEachRef(Node(start)) { slot in
                let word = slot.loadUnaligned(as: UInt64.self)
                if word != 0 { slot.storeBytes(of: word &+ distance, as: UInt64.self) }
            }
        }
        covered.insert(units)
        firn_set_touched(descriptor, address)
        return nil
    }

    /// Enters the units of a node, and of all nodes that it leads to and that are not there yet, in a set; gives damage that is met.
    func mark(from address: UInt, in units: inout BitSet) -> StoreDamage? {
        let place = Int(address - UInt(bitPattern: base))
        guard !units.contains(place / OnDiskNode.unit) else { return nil }
        if let damage = tryTouch(address) { return damage }
        let node = Node(base + place)
        units.insert(OnDiskNode.units(place..<place + node.byteCount))
        var damage: StoreDamage?
        OnDiskNode.forEachRef(node) { slot in
            let word = slot.loadUnaligned(as: UInt64.self)
            if word != 0, damage == nil { damage = mark(from: NodeRef(word).address, in: &units) }
        }
        return damage
    }

    /// Checks every node of a file, none of which may have been touched yet. O(bytes).
    func verify(_ entry: Checkpoint.File) -> StoreDamage? {
        lock.lock()
        defer { lock.unlock() }
        guard let index = places.firstIndex(where: { $0.entry == entry }) else { return nil }
        if let damage = read(index, 0..<entry.byteCount) { return damage }
        var offset = CheckpointFileWriter.headByteCount
        let start = base + entry.start
        let holes = dead.holes.filter { $0.lowerBound >= entry.start }
        var next = 0
        while offset < entry.byteCount {
            if next < holes.count, holes[next].lowerBound == entry.start + offset {
                offset = holes[next].upperBound - entry.start
                next += 1
                continue
            }
            let room = entry.byteCount - offset
            // The file is rounded to 64 bytes.
            if room == OnDiskNode.unit,
                (0..<4).allSatisfy({ start.load(fromByteOffset: offset + 8 * $0, as: UInt64.self) == 0 })
            {
                return nil
            }
            if let fault = OnDiskNode.fault(at: start + offset, place: entry.start + offset, room: room) {
                return StoreDamage(path: places[index].path, offset: offset, detail: fault)
            }
            offset += Node(start + offset).byteCount
        }
        return nil
    }

    /// Reads what a range of a file lacks in memory, where the file is not mapped. The lock is held.
    private func read(_ index: Int, _ range: Range<Int>) -> StoreDamage? {
        guard !range.isEmpty, let reading = places[index].reading else { return nil }
        let entry = places[index].entry
        for block in range.lowerBound / CheckpointMapping.blockByteCount...(range.upperBound - 1)
            / CheckpointMapping.blockByteCount
        where !reading.blocks[block] {
            let offset = block * CheckpointMapping.blockByteCount
            let length = min(CheckpointMapping.blockByteCount, entry.byteCount - offset)
            let target = UnsafeMutableRawBufferPointer(start: base + entry.start + offset, count: length)
            do throws(StorageError) {
                guard try reading.file.read(into: target, at: offset) == length else {
                    return StoreDamage(path: places[index].path, offset: offset, detail: "the file ends early")
                }
            } catch {
                return StoreDamage(path: places[index].path, offset: offset, detail: error.description)
            }
            places[index].reading?.blocks[block] = true
        }
        return nil
    }
}
