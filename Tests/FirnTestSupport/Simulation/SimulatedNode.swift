import FirnStorage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file or folder of a `SimulatedDisk`, twice: as the page cache shows it, and as the disk has it for certain, with the changes
/// between the two in order. Guarded by the disk's lock.
final class SimulatedNode: NameTreeNode {
    /// Bytes that a power cut leaves old or new together.
    var sectorSize: Int { traits.sectorSize }
    private let traits: DiskTraits

    /// What a folder's names stand for, as processes see it; nil for a file.
    var children: [String: SimulatedNode]?
    /// As the disk has it for certain.
    var durableChildren: [String: SimulatedNode] = [:]

    /// A file's bytes, as processes see them.
    var bytes = StableBytes()
    /// As the disk has them for certain.
    var durable = StableBytes()
    /// What has changed since, in order.
    var pending: [Change] = []

    /// Bytes up to the last one that was written: a longer file has a hole there.
    var allocated = 0
    var locks = LockTable()
    /// False once no name leads to it; its bytes then count no more.
    var isLinked = true
    /// Once it has been mapped for writing, its bytes change without a call.
    var isShared = false

    /// A change of a file, whole sectors as they stood in the page cache after it, since that is what a disk is given.
    struct Change {
        enum Kind { case write, truncation, holePunch }
        /// A multiple of the sector size.
        var start: Int
        var sectors: [UInt8]
        /// The file's length after it.
        var length: Int
        var kind = Kind.write
    }

    /// What the disk's sectors held before, by their start, the oldest first. Kept where the traits ask for it, also
    /// over a power cut.
    var past: [Int: [[UInt8]]] = [:]

    init(isFolder: Bool, _ traits: DiskTraits) {
        self.traits = traits
        children = isFolder ? [:] : nil
    }

    func write(_ source: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        guard source.count > 0 else { return true }
        let end = offset + source.count
        if offset >= bytes.written, offset >= durable.count, source.allSatisfyZero {
            // Zeros where nothing ever was, as logs are lengthened ahead: no more than a new length, and much cheaper.
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

    /// Gives the blocks of a range back, of which the first `count` bytes were reached: they read as zeros from then on.
    func punch(_ range: Range<Int>, count: Int) {
        let end = range.lowerBound + count / Self.blockSize * Self.blockSize
        guard end > range.lowerBound else { return }
        let zeros = [UInt8](repeating: 0, count: end - range.lowerBound)
        _ = zeros.withUnsafeBytes { bytes.write($0, at: range.lowerBound) }
        pending.append(Change(start: range.lowerBound, sectors: zeros, length: bytes.count, kind: .holePunch))
    }

    /// Bytes that a file system gives back together.
    private static let blockSize = 4096

    /// The sectors around `range` as they stand now.
    private func change(_ range: Range<Int>) -> Change {
        let start = range.lowerBound / sectorSize * sectorSize
        let end = (range.upperBound + sectorSize - 1) / sectorSize * sectorSize
        let sectors = [UInt8](unsafeUninitializedCapacity: end - start) { buffer, count in
            // Capacities are multiples of the sector size, and zero behind the end.
            UnsafeMutableRawBufferPointer(buffer).baseAddress!.copyMemory(
                from: bytes.pointer + start, byteCount: end - start)
            count = end - start
        }
        return Change(start: start, sectors: sectors, length: bytes.count)
    }

    /// Puts all changes on the disk, as a sync that succeeds.
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

    /// The bytes that a disk may hold after a power cut: each sector as it stood durable or after any change since, whichever the
    /// disk last got round to, and the length likewise, one independent of the other. Zeros where no data came.
    func bytesAfterPowerCut(_ chance: Chance) -> StableBytes {
        var result = durable.copy()
        let changes = isShared ? pending + [change(0..<bytes.count)] : pending
        // Lengths are a journal's: the first so many of them hold.
        var held = 0
        while held < changes.count, chance.flip() { held += 1 }
        if !changes.isEmpty, held < changes.count, chance.flip() { held = chance.below(changes.count + 1) }
        for (index, change) in changes.enumerated() {
            if change.kind == .truncation {
                if index < held { _ = result.truncate(to: change.length) }
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
        if traits.tearsSectors { tear(changes, &result, chance) }
        _ = result.truncate(to: held == 0 ? durable.count : changes[held - 1].length)
        return result
    }

    /// The power goes amid some of the writes: their sectors are garbage, whatever they held before.
    private func tear(_ changes: [Change], _ result: inout StableBytes, _ chance: Chance) {
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

    /// A sector as the disk has it.
    func sector(at start: Int) -> [UInt8] {
        var old = [UInt8](repeating: 0, count: sectorSize)
        _ = old.withUnsafeMutableBytes { durable.read(into: $0, at: start) }
        return old
    }

    /// Changes what the disk, and the page cache above it, have for a sector. The length stays.
    func replaceSector(at start: Int, with sector: [UInt8]) {
        let (seen, stored) = (bytes.count, durable.count)
        sector.withUnsafeBytes {
            _ = bytes.write($0, at: start)
            _ = durable.write($0, at: start)
        }
        _ = bytes.truncate(to: seen)
        _ = durable.truncate(to: stored)
    }

    /// What a sync that fails leaves on the disk; the rest is forgotten, though the page cache shows it.
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
        // By the system, as Swift's loops are slow in tests: every byte is as the one before it, and the first is zero.
        guard let base = baseAddress, self[0] == 0 else { return isEmpty }
        return memcmp(base, base + 1, count - 1) == 0
    }
}

/// Decisions by seed: `flip` says yes with the probability `numerator` / 256.
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

    /// A number below `bound`, which is above 0.
    func below(_ bound: Int) -> Int {
        Int(next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    func flip() -> Bool {
        numerator >= 256 || (numerator > 0 && below(256) < numerator)
    }
}
