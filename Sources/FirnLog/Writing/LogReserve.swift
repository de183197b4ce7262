import FirnStorage

/// Space that is kept on the disk, so that a transaction that deletes more objects than it adds can still commit when
/// the disk is full.
///
/// It is the file `reserve`, filled with random bytes. On a file system that compresses, or that stores equal blocks
/// only once, zeros would take no space, so removing them would free none. The bytes depend only on the store's id,
/// so each store has its own and a simulation can be repeated.
struct LogReserve: Sendable {
    let folder: StoreFolder
    let storeID: StoreID
    let byteCount: Int

    /// Makes the file, unless it exists.
    ///
    /// - Returns: false if the disk has no space for it.
    func make() -> Bool {
        guard byteCount > 0 else { return true }
        do throws(StorageError) {
            if let status = try folder.status(folder.reserve), status.byteCount >= byteCount { return true }
            let available = try folder.root.volume().availableByteCount
            guard available > 2 * byteCount else { return false }
            try? folder.remove(folder.reserve)
            let file = try folder.create(folder.reserve)
            defer { file.close() }
            try fill(file)
            return true
        } catch {
            try? folder.remove(folder.reserve)
            return false
        }
    }

    /// Frees the space.
    ///
    /// - Returns: false if the file cannot be removed.
    func remove() -> Bool { (try? folder.remove(folder.reserve)) != nil }

    private func fill(_ file: any StorageFile) throws(StorageError) {
        var state = storeID.high ^ storeID.low
        var words = [UInt64](repeating: 0, count: min(byteCount + 7, 64 << 10) / 8)
        var offset = 0
        while offset < byteCount {
            // SplitMix64 (Steele, Lea and Flood 2014).
            for index in words.indices {
                state &+= 0x9E37_79B9_7F4A_7C15
                var word = state
                word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
                word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
                words[index] = word ^ word >> 31
            }
            let count = min(words.count * 8, byteCount - offset)
            let failure: StorageError? = words.withUnsafeBytes { bytes in
                do throws(StorageError) {
                    try file.write(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: offset)
                    return nil
                } catch {
                    return error
                }
            }
            if let failure { throw failure }
            offset += count
        }
    }
}
