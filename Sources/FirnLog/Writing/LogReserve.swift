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
/// A commit that deletes 10,000 objects on a full disk takes less than 256 KiB of log. The reserve is only made if as
/// many bytes stay free as it takes. It grows with the store, and is made smaller only by being used.
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

    /// The bytes that removing it frees. Somebody may have made the file long without allocating blocks for it.
    var freeableByteCount: Int {
        status.map { min($0.allocatedByteCount, $0.byteCount, 1 << 60) } ?? 0
    }

    /// The reserve's length; 0 if there is none.
    var presentByteCount: Int { status?.byteCount ?? 0 }

    /// The file's status; nil if there is no file, or if it has a second name, as in a backup of hard links. Then
    /// removing it frees nothing, and another file is made.
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
            // A part of the reserve would only take space that the full disk needs.
            if present == 0 { try? folder.remove(folder.reserve) }
            return false
        }
    }

    /// Makes the file as long as the size of the tail's store requires, unless the reserve was used. Called by the
    /// tail's appender.
    func grow(for tail: LogTail) { if !tail.isReserveGone { _ = make(for: tail.storeByteCount) } }

    /// Like `make`, but it is enough that there is a file, even if the file could not be made longer.
    ///
    /// - Returns: false if there is none, although the store's size requires one.
    func ensure(for storeByteCount: Int) -> Bool { make(for: storeByteCount) || presentByteCount > 0 }

    private func create() throws(StorageError) -> any StorageFile {
        // The name may be taken by an empty file of a process that died, or by a file to which a backup has a link.
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

    /// The word at an index: SplitMix64 (Steele, Lea and Flood 2014), whose state is a seed plus a multiple of one
    /// constant.
    private func word(_ number: Int) -> UInt64 {
        var word = (storeID.high ^ storeID.low) &+ UInt64(number + 1) &* 0x9E37_79B9_7F4A_7C15
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
