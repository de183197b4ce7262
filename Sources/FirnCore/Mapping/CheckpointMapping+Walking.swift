import CFirn
import FirnBytes
import FirnLog
import FirnStorage

/// Walks over nodes, and reads files that are not mapped.
extension CheckpointMapping {
    /// Adds a node's units to the set, and the units of all nodes below it that are not in the set yet. Returns damage
    /// that is met.
    func mark(from address: UInt, in units: inout BitSet) -> StoreDamage? {
        let offset = Int(address - UInt(bitPattern: base))
        guard !units.contains(offset / OnDiskNode.unit) else { return nil }
        let node: Node
        switch reach(address) {
        case .node(let reached): node = reached
        case .damaged(let damage): return damage
        }
        units.insert(OnDiskNode.units(offset..<offset + node.byteCount))
        for address in OnDiskNode.refs(node) {
            if let damage = mark(from: address, in: &units) { return damage }
        }
        return nil
    }

    /// Checks every node of a file. None of them may have been validated yet. O(bytes).
    func verify(_ entry: Checkpoint.File) -> StoreDamage? {
        lock.lock()
        defer { lock.unlock() }
        guard let index = mappedFiles.firstIndex(where: { $0.entry == entry }) else { return nil }
        // A hole may have been punched, so nothing can be read there.
        let holes = dead.holes.filter { $0.lowerBound >= entry.start && $0.lowerBound < entry.range.upperBound }
        if let file = mappedFiles[index].decrypted { return verify(file, mappedFiles[index], besides: holes) }
        var read = 0
        for hole in holes {
            if let damage = self.read(index, read..<hole.lowerBound - entry.start) { return damage }
            read = hole.upperBound - entry.start
        }
        if let damage = self.read(index, read..<entry.byteCount) { return damage }
        return forEachNode(of: mappedFiles[index], besides: holes) { offset, _ in base + entry.start + offset }
    }

    /// Checks the nodes of a file, front to back.
    ///
    /// - Parameter bytes: the bytes of the node at an offset in the file. The file has as many bytes from there on as
    ///   the second argument says, at least 32.
    func forEachNode(
        of file: MappedFile, besides holes: [Range<Int>],
        _ bytes: (Int, Int) throws(LogError) -> UnsafeMutableRawPointer
    ) -> StoreDamage? {
        let entry = file.entry
        var offset = CheckpointFileWriter.headerByteCount
        var next = 0
        while offset < entry.byteCount {
            if next < holes.count, holes[next].lowerBound == entry.start + offset {
                offset = holes[next].upperBound - entry.start
                next += 1
                continue
            }
            let remaining = entry.byteCount - offset
            let start: UnsafeMutableRawPointer
            do throws(LogError) { start = try bytes(offset, remaining) } catch {
                return StoreDamage(path: file.path, offset: error.offset ?? offset, detail: error.detail)
            }
            // A file's length is rounded up to 64 bytes.
            let isPadding =
                remaining == OnDiskNode.unit && UnsafeRawBufferPointer(start: start, count: remaining).isAllZero
            if isPadding { return nil }
            do throws(Damage) {
                try OnDiskNode.check(at: start, offset: entry.start + offset, remaining: remaining)
            } catch {
                return StoreDamage(error, path: file.path, offset: offset)
            }
            offset += Node(start).byteCount
        }
        return nil
    }

    /// Reads those units of a range of a file that are not in memory yet, if the file is not mapped. Returns the damage
    /// if that fails. The lock is held.
    func read(_ index: Int, _ range: Range<Int>) -> StoreDamage? {
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
