import FirnStorage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file or folder of a `SimulatedDisk`, in two states: as the page cache shows it, and as it is durable on the disk.
///
/// It keeps the changes between the two states in order. Guarded by the disk's lock.
final class SimulatedNode: NameTreeNode {
    /// The unit of which a power cut leaves either all old or all new bytes.
    var sectorSize: Int { traits.sectorSize }
    private let traits: DiskTraits
    /// A power cut does not change it.
    let identity: FileIdentity

    /// A folder's children by name, as processes see them; nil for a file.
    var children: [String: SimulatedNode]?
    /// The children that are durable.
    var durableChildren: [String: SimulatedNode] = [:]

    /// A file's bytes, as processes see them.
    var bytes = StableBytes()
    /// The bytes that are durable.
    var durable = StableBytes()
    /// The changes since then, in order.
    var pending: [Change] = []

    /// Bytes up to the last one that was written. A longer file has a hole after them.
    var allocated = 0
    var locks = LockTable()
    /// The lock of a folder itself. It has one byte.
    var folderLock = LockTable()
    /// False once no name leads to it. Its bytes are then no longer counted.
    var isLinked = true
    /// Whether it was mapped for writing. Then its bytes change without a call.
    var isShared = false

    /// A change of a file: complete sectors as they were in the page cache after it, because that is what the disk
    /// receives.
    struct Change {
        enum Kind { case write, truncation, holePunch }
        /// A multiple of the sector size.
        var start: Int
        var sectors: [UInt8]
        /// The file's length after it.
        var length: Int
        var kind = Kind.write
    }

    /// The earlier contents of the disk's sectors, by the sector's offset, the oldest first. Kept if the trait
    /// `remembersSectors` is on, also over a power cut.
    var past: [Int: [[UInt8]]] = [:]

    init(isFolder: Bool, _ traits: DiskTraits, _ identity: FileIdentity) {
        self.traits = traits
        self.identity = identity
        children = isFolder ? [:] : nil
    }

    func write(_ source: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        guard source.count > 0 else { return true }
        let end = offset + source.count
        if offset >= bytes.written, offset >= durable.count, source.allSatisfyZero {
            // Zeros where nothing was ever written, as when a log is preallocated: only the length changes, which is
            // much cheaper.
            guard bytes.truncate(to: max(bytes.count, end)) else { return false }
            allocated = max(allocated, end)
            pending.append(Change(start: offset, sectors: [], length: bytes.count))
            return true
        }
        guard bytes.write(source, at: offset) else { return false }
        allocated = max(allocated, end)
        pending.append(change(offset..<end))
        return true
    }

    func truncate(to byteCount: Int) -> Bool {
        guard bytes.truncate(to: byteCount) else { return false }
        allocated = min(allocated, byteCount)
        pending.append(Change(start: 0, sectors: [], length: byteCount, kind: .truncation))
        return true
    }

    /// Punches a hole into the first `count` bytes of a range, rounded down to whole blocks. They then read as zeros.
    func punch(_ range: Range<Int>, count: Int) {
        let end = range.lowerBound + count / Self.blockSize * Self.blockSize
        guard end > range.lowerBound else { return }
        let zeros = [UInt8](repeating: 0, count: end - range.lowerBound)
        _ = zeros.withUnsafeBytes { bytes.write($0, at: range.lowerBound) }
        pending.append(Change(start: range.lowerBound, sectors: zeros, length: bytes.count, kind: .holePunch))
    }

    /// The unit of holes.
    private static let blockSize = 4096

    /// The sectors around `range` as they are now.
    private func change(_ range: Range<Int>) -> Change {
        let start = range.lowerBound / sectorSize * sectorSize
        let end = (range.upperBound + sectorSize - 1) / sectorSize * sectorSize
        let sectors = [UInt8](unsafeUninitializedCapacity: end - start) { buffer, count in
            // Capacities are multiples of the sector size, and the bytes beyond the end are zero.
            UnsafeMutableRawBufferPointer(buffer).baseAddress!.copyMemory(
                from: bytes.pointer + start, byteCount: end - start)
            count = end - start
        }
        return Change(start: start, sectors: sectors, length: bytes.count)
    }

    /// Writes all changes to the disk, like a sync that succeeds.
    func sync() {
        if isShared { pending.append(change(0..<bytes.count)) }
        for change in pending {
            if change.kind != .holePunch || !traits.losesHolePunches {
                if traits.remembersSectors { remember(change) }
                change.sectors.withUnsafeBytes { _ = durable.write($0, at: change.start) }
            }
            _ = durable.truncate(to: change.length)
        }
        pending.removeAll(keepingCapacity: true)
    }

    /// The bytes that the disk may have after a power cut.
    ///
    /// Each sector is as it was durable, or as it was after any change since; the length likewise, independently of
    /// the sectors. A sector without data is zeros.
    func bytesAfterPowerCut(_ chance: Chance) -> StableBytes {
        var result = durable.copy()
        let changes = isShared ? pending + [change(0..<bytes.count)] : pending
        // The file system journals lengths, so the first few changes of the length survive.
        var survivingCount = 0
        while survivingCount < changes.count, chance.flip() { survivingCount += 1 }
        if !changes.isEmpty, survivingCount < changes.count, chance.flip() {
            survivingCount = chance.below(changes.count + 1)
        }
        for (index, change) in changes.enumerated() {
            if change.kind == .truncation {
                if index < survivingCount { _ = result.truncate(to: change.length) }
                continue
            }
            let unit = change.kind == .holePunch ? Self.blockSize : sectorSize
            change.sectors.withUnsafeBytes { sectors in
                for sector in stride(from: 0, to: sectors.count, by: unit) where chance.flip() {
                    let piece = UnsafeRawBufferPointer(rebasing: sectors[sector..<(sector + unit)])
                    _ = result.write(piece, at: change.start + sector)
                }
            }
        }
        if traits.tearsSectors { tear(changes, into: &result, chance: chance) }
        _ = result.truncate(to: survivingCount == 0 ? durable.count : changes[survivingCount - 1].length)
        return result
    }

    /// Turns sectors into garbage, whatever they contained before: the power failed during some of the writes.
    private func tear(_ changes: [Change], into result: inout StableBytes, chance: Chance) {
        for change in changes where change.kind == .write {
            for start in stride(from: change.start, to: change.start + change.sectors.count, by: sectorSize)
            where chance.below(4) == 0 {
                let garbage = (0..<sectorSize).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
                let length = max(result.count, min(start + sectorSize, change.length))
                garbage.withUnsafeBytes { _ = result.write($0, at: start) }
                _ = result.truncate(to: length)
            }
        }
    }

    private func remember(_ change: Change) {
        for start in stride(from: change.start, to: change.start + change.sectors.count, by: sectorSize) {
            past[start, default: []].append(sector(at: start))
        }
    }

    /// A sector as it is on the disk.
    func sector(at start: Int) -> [UInt8] {
        var old = [UInt8](repeating: 0, count: sectorSize)
        _ = old.withUnsafeMutableBytes { durable.read(into: $0, at: start) }
        return old
    }

    /// Replaces a sector on the disk and in the page cache above it. The length does not change.
    func replaceSector(at start: Int, with sector: [UInt8]) {
        let (cachedCount, durableCount) = (bytes.count, durable.count)
        sector.withUnsafeBytes {
            _ = bytes.write($0, at: start)
            _ = durable.write($0, at: start)
        }
        _ = bytes.truncate(to: cachedCount)
        _ = durable.truncate(to: durableCount)
    }

    /// Writes the residue of a failed sync to the disk. The rest is never written, although the page cache shows it.
    func failSync(_ residue: SimulatedFault.Residue, _ chance: Chance) {
        switch residue {
        case .all: sync()
        case .nothing: pending.removeAll()
        case .some:
            durable = bytesAfterPowerCut(chance)
            pending.removeAll()
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var allSatisfyZero: Bool {
        // By memcmp, because Swift's loops are slow in tests: every byte equals the one before it, and the first is
        // zero.
        guard let base = baseAddress, self[0] == 0 else { return isEmpty }
        return memcmp(base, base + 1, count - 1) == 0
    }
}

/// Random decisions that depend on a seed. `flip` is true with the probability `numerator` / 256.
final class Chance {
    private(set) var state: UInt64
    var numerator: Int

    init(seed: UInt64, numerator: Int = 128) {
        state = seed
        self.numerator = numerator
    }

    func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// A number in 0 ..< `bound`, which must be positive.
    func below(_ bound: Int) -> Int {
        Int(next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    func flip() -> Bool {
        numerator >= 256 || (numerator > 0 && below(256) < numerator)
    }
}
