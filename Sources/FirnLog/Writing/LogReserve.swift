import FirnStorage

/// Space that is kept on the disk, so that a transaction that removes more than it adds can still commit when the disk
/// is full.
///
/// It is the file `reserve`, filled with random bytes. On a file system that compresses, or that stores equal blocks
/// only once, zeros would take no space, so removing them would free none. The bytes depend only on the store's id,
/// so each store has its own and a simulation can be repeated.
///
/// How large it is depends on how much there may be to delete:
///
/// | the store's files | the reserve |
/// | --- | --- |
/// | less than 1 MiB | none |
/// | 1 to 8 MiB | 256 KiB |
/// | 8 to 64 MiB | a thirty-second of the files, in steps of 256 KiB, at most 2 MiB |
/// | 64 MiB and more | 4 MiB |
///
/// A commit that deletes 10,000 objects on a full disk takes less than 256 KiB of log. The reserve is only made if that
/// leaves as much space free again. It grows with the store, and is made smaller only by being used.
struct LogReserve: Sendable {
    let folder: StoreFolder
    let storeID: StoreID
    /// The size that was asked for, whatever the size of the store; nil to follow the table.
    let fixedByteCount: Int?

    static let stepByteCount = 256 << 10

    /// The size for a store whose files have so many bytes.
    func byteCount(for storeByteCount: Int) -> Int {
        if let fixedByteCount { return fixedByteCount }
        switch storeByteCount {
        case ..<(1 << 20): return 0
        case ..<(64 << 20):
            return max(Self.stepByteCount, storeByteCount / 32 / Self.stepByteCount * Self.stepByteCount)
        default: return LogLimits.reserveByteCount
        }
    }

    /// What removing it makes free. Somebody may have made it long without giving it blocks.
    var freeableByteCount: Int {
        status.map { min($0.allocatedByteCount, $0.byteCount, 1 << 60) } ?? 0
    }

    /// The bytes that it has now.
    var presentByteCount: Int { status?.byteCount ?? 0 }

    /// Nil also if the file has a second name, as in a backup of hard links. Then removing it frees nothing, and
    /// another one is made.
    private var status: FileStatus? {
        guard let status = (try? folder.status(folder.reserve)) ?? nil, status.linkCount == 1 else { return nil }
        return status
    }

    /// Makes the file, or makes it longer, unless it is long enough for a store whose files have so many bytes.
    ///
    /// - Returns: false if the disk has no space for it.
    func make(for storeByteCount: Int) -> Bool {
        let wanted = byteCount(for: storeByteCount)
        if wanted == 0 { return true }
        let present = presentByteCount
        if present >= wanted { return true }
        do throws(StorageError) {
            guard try folder.root.volume().availableByteCount > 2 * (wanted - present) else { return false }
            let file = try present > 0 ? folder.open(folder.reserve, .readWrite) : create()
            defer { file.close() }
            try fill(file, from: present, to: wanted)
            return true
        } catch {
            // A part of it would be in the way of what it is for.
            if present == 0 { try? folder.remove(folder.reserve) }
            return false
        }
    }

    /// Makes the file as long as the store of a tail wants it by now, unless it was used. Called by the tail's
    /// appender.
    func grow(for tail: LogTail) { if !tail.isReserveGone { _ = make(for: tail.storeByteCount) } }

    /// Like `make`, but a file that only could not be made longer counts.
    ///
    /// - Returns: false if there is none, although the store wants one.
    func ensure(for storeByteCount: Int) -> Bool { make(for: storeByteCount) || presentByteCount > 0 }

    private func create() throws(StorageError) -> any StorageFile {
        // An empty file may be left from a process that died, or one to which a backup has a link.
        try? folder.remove(folder.reserve)
        return try folder.create(folder.reserve)
    }

    /// Frees the space.
    ///
    /// - Returns: false if there is no file, or it cannot be removed.
    func remove() -> Bool { (try? folder.remove(folder.reserve)) != nil }

    private func fill(_ file: any StorageFile, from start: Int, to end: Int) throws(StorageError) {
        var words = [UInt64](repeating: 0, count: min(end - start + 14, 64 << 10) / 8)
        var offset = start / 8 * 8
        while offset < end {
            for index in words.indices { words[index] = word(offset / 8 + index) }
            let count = min(words.count * 8, end - offset)
            try words.withUnsafeBufferPointer { (words) throws(StorageError) in
                let bytes = UnsafeRawBufferPointer(words)
                try file.write(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: offset)
            }
            offset += count
        }
    }

    /// The word with a number: SplitMix64 (Steele, Lea and Flood 2014), whose state is a multiple of one constant.
    private func word(_ number: Int) -> UInt64 {
        var word = (storeID.high ^ storeID.low) &+ UInt64(number + 1) &* 0x9E37_79B9_7F4A_7C15
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
