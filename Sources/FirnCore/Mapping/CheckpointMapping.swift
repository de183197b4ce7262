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
/// has been validated. For that reason, most of these nodes lie together (`StructureBuffer`). The memory is given back
/// once no version reaches a node of the page. One bit per 32 bytes says whether a node has been validated. The bit is
/// read whenever a reference to a node of a file is followed (`firn_disk_node`), which costs some 2 ns.
///
/// No two validated nodes share a byte: what validating one node writes is never part of another node that was
/// checked before. A second bit per 32 bytes says which units the validated nodes cover; only validation reads it.
///
/// A mapping lives as long as a version, or a transaction, reaches into it: `VersionTable.Entry` holds it. The bits
/// are atomic; `lock` guards validation and the list of files, to which a later checkpoint may add. A thread that
/// sees a node's bit set sees everything that validating the node wrote.
final class CheckpointMapping: @unchecked Sendable {
    /// The reserved range for the files. Behind it lie the bits of the validated nodes, the bits of the units that
    /// these nodes cover, and the bits of `copied`.
    private let memory: ReservedMemory
    let covered: UnitBits
    /// The first units of the nodes of encrypted files that were validated and are not kept. Who reads one gets a copy
    /// of it (`DecryptedMemory`).
    let copied: UnitBits
    let byteCount: Int
    private let log: Log?
    /// Whether the files are encrypted.
    let isEncrypted: Bool
    let lock = Lock(.mapping)
    var mappedFiles: [MappedFile] = []
    /// Where the last file that was added ends. That file may no longer be part of the mapping.
    private var end = 0
    /// Bytes of all files.
    private(set) var fileByteCount = 0
    private(set) var dead: FreeSpaceMap
    let descriptor: UnsafeMutablePointer<firn_mapping_t>
    /// Called with the damage before the program stops.
    let onDamage: (@Sendable (StoreDamage) -> Void)?
    /// Counts in how many mappings each file is open.
    private let fileReferences: CheckpointFileReferences
    var claims = NodeClaims()

    private static let numbers = Atomic<UInt64>(0)
    /// Guards registering and unregistering all mappings: once a mapping has been freed, a new mapping of another
    /// thread may get its addresses. No other lock is taken while this one is held.
    private static var registration: GlobalLock { .checkpointMappings }

    /// What is known of the version that a file was written for. All nodes of the file are part of that version.
    final class Origin {
        let schema: ResolvedSchema
        /// The version's stamp. No node of the version is younger.
        let stamp: UInt64
        /// Whether the file existed when the store was opened; if not, this process has written it.
        let isOpened: Bool
        let standIns: StandIns

        init(_ schema: ResolvedSchema, stamp: UInt64, isOpened: Bool) {
            self.schema = schema
            self.stamp = stamp
            self.isOpened = isOpened
            standIns = StandIns(schema)
        }
    }

    /// A file, and how it is read.
    struct MappedFile {
        let entry: Checkpoint.File
        let path: String
        let origin: Origin
        /// The least stamp of the versions that reach into the file.
        var firstStamp: UInt64 = 0
        /// Set if the file is read into memory piece by piece: the file, and which of its units have been read.
        var reading: (file: CheckpointFileReader, units: [Bool])?
        /// The file, if it is encrypted.
        var decrypted: DecryptedFile?
    }

    /// The most rows, entries or elements that a node's count may claim per byte of the files. It is twice as many as
    /// in a leaf of 256 rows without columns. So a walk whose length is given by counts, also by those of stand-ins,
    /// costs O(bytes of the files).
    static let mostPerByte = 8

    /// Reserves addresses for files of `byteCount` bytes.
    ///
    /// - Parameters:
    ///   - holes: the ranges of the files in which nothing is to be read, in ascending order.
    init(
        byteCount: Int, holes: [Range<Int>] = [], log: Log?, fileReferences: CheckpointFileReferences,
        onDamage: (@Sendable (StoreDamage) -> Void)?
    ) throws(StorageError) {
        let reserved = ReservedMemory.roundUp(byteCount)
        let bitByteCount = Self.bitByteCount(for: reserved)
        memory = try ReservedMemory(byteCount: reserved + Self.bitKindCount * bitByteCount)
        self.byteCount = reserved
        dead = FreeSpaceMap(holes: holes, blockByteCount: log?.holeByteCount ?? FileRange.blockByteCount)
        try memory.fill(length: Self.bitKindCount * bitByteCount, at: reserved)
        covered = UnitBits(memory.base + reserved + bitByteCount)
        copied = UnitBits(memory.base + reserved + 2 * bitByteCount)
        self.log = log
        isEncrypted = log?.isEncrypted ?? false
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

    private static let bitKindCount = 3

    /// The bytes of one kind of bits, one bit for each unit. The system provides them as zeros, which cost memory only
    /// where nodes are validated.
    private static func bitByteCount(for reserved: Int) -> Int {
        ReservedMemory.roundUp(reserved / OnDiskNode.unit / 8)
    }

    deinit {
        CheckpointMapping.registration.withLock { firn_unregister_mapping(descriptor) }
        descriptor.deallocate()
        fileReferences.release(mappedFiles.map(\.entry.id))
        for file in mappedFiles { file.decrypted?.end() }
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
    /// An encrypted file is never mapped: its nodes are decrypted as they are reached.
    func add(
        _ entry: Checkpoint.File, file: CheckpointFileReader, origin: Origin, _ reading: CheckpointReading
    ) throws(StorageError) {
        var mappedFile = MappedFile(entry: entry, path: file.path, origin: origin, reading: nil)
        var isMapped = false
        if reading.isByMapping, let mappable = file.mappable {
            isMapped = try memory.map(mappable, length: entry.byteCount, at: entry.start)
        }
        if isMapped {
            file.close()
        } else {
            try memory.fill(length: entry.byteCount, at: entry.start)
            if file.isEncrypted {
                // What is decrypted is on no disk, and a core dump must not bring it there.
                firn_exclude_from_dumps(base + entry.start, entry.byteCount)
                mappedFile.decrypted = DecryptedFile(file, byteCount: entry.byteCount, reading.decryptedMemory)
            } else {
                let units = (entry.byteCount + file.unitByteCount - 1) / file.unitByteCount
                mappedFile.reading = (file, [Bool](repeating: false, count: units))
            }
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
            for file in mappedFiles where files.contains(file.entry) { file.decrypted?.end() }
            mappedFiles.removeAll { files.contains($0.entry) }
            fileByteCount = mappedFiles.reduce(0) { $0 + $1.entry.byteCount }
            claims.forget(files.map { OnDiskNode.units($0.range) })
            for file in files {
                dead.forget(file.range)
                discardBits(of: file)
            }
        }
        fileReferences.release(files.map(\.id))
    }

    /// Gives the memory of a file's bits back to the system. The lock is held.
    private func discardBits(of file: Checkpoint.File) {
        lock.assertHeld()
        let units = OnDiskNode.units(file.range)
        for kind in 0..<Self.bitKindCount {
            let start = byteCount + kind * Self.bitByteCount(for: byteCount)
            memory.discard(start + units.lowerBound / 8..<start + units.upperBound / 8)
        }
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
        return withStart(of: offset) { chunk, isInPlace in
            guard chunk.kindNumber == Node.Kind.chunk.rawValue,
                chunk.form == ChunkEncoding.Form.dictionary.rawValue
            else { return nil }
            let address = ChunkEncoding.dictionaryRef(chunk).address
            let start = isInPlace ? Int(address - UInt(bitPattern: base)) : Int(address)
            return withStart(of: start) { dictionary, _ in
                start..<start + min(dictionary.byteCount, Limits.chunkByteCount)
            }
        }
    }

    /// Runs `body` on the map of dead nodes and free space, with the lock held.
    func withDead<Result>(_ body: (inout FreeSpaceMap) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&dead)
    }

    /// Frees the dead nodes that no active version reaches, and gives the memory of these nodes back to the system.
    /// `stamps` holds the stamps of all active versions in the mapping, in ascending order.
    ///
    /// Only the compactor calls this, and only the compactor adds and removes files.
    func reclaim(active stamps: [UInt64]) {
        // Readers wait for the lock, so the system is called without it. Nobody reads these pages any more.
        for pages in free(active: stamps) { memory.discard(pages) }
    }

    /// Frees the dead nodes that no active version reaches. Returns the whole pages that hold nothing else.
    private func free(active stamps: [UInt64]) -> [Range<Int>] {
        lock.lock()
        defer { lock.unlock() }
        let freed = dead.reclaim { node in
            let first = mappedFiles.last { $0.entry.start <= node.range.lowerBound }?.firstStamp ?? 0
            let index = stamps.firstIndex(notBelow: first)
            return index < stamps.count && stamps[index] <= node.after
        }
        let free = dead.freeBlocks(ReservedMemory.pageByteCount, overlapping: freed)
        for pages in free {
            if let index = fileIndex(at: pages.lowerBound), let file = mappedFiles[index].decrypted {
                let start = mappedFiles[index].entry.start
                file.discard(pages.lowerBound - start..<pages.upperBound - start)
            }
        }
        return free
    }

    /// How many units the files take, up to the end of the last one that was added.
    var unitCount: Int { lock.withLock { end } / OnDiskNode.unit }

    // MARK: Validating

    /// Sets the function that validates a node. This is done for each mapping, not in the initializer of a lazy global.
    /// A child that is forked during the first use of such a global would wait for it forever.
    private static func install() {
        firn_set_validate { mapping, address in
            Unmanaged<CheckpointMapping>.fromOpaque(mapping.pointee.owner).takeUnretainedValue().validate(address)
        }
    }
}
