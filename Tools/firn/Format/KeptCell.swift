import FirnBytes

/// A value that owns its bytes, so that it may be kept when the part or the node that it was read from is gone.
final class KeptCell {
    /// The value, valid as long as this object exists.
    let cell: Cell
    private let memory: UnsafeMutableRawBufferPointer

    init(_ cell: Cell) {
        memory = .allocate(byteCount: cell.bufferByteCount, alignment: 1)
        var offset = 0
        self.cell = cell.copied(to: memory, &offset)
    }

    deinit { memory.deallocate() }

    /// Roughly how many bytes the value takes in memory.
    var byteCount: Int { 96 + memory.count }
}

extension Cell {
    /// The bytes of all texts and data in the value.
    fileprivate var bufferByteCount: Int {
        switch self {
        case .string(let bytes), .data(let bytes): bytes.count
        case .list(let cells), .set(let cells): cells.reduce(0) { $0 + $1.bufferByteCount }
        case .map(let entries): entries.reduce(0) { $0 + $1.key.count + $1.value.bufferByteCount }
        default: 0
        }
    }

    /// The value, with its texts and data copied to `memory` from `offset` on.
    fileprivate func copied(to memory: UnsafeMutableRawBufferPointer, _ offset: inout Int) -> Cell {
        func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
            let target = UnsafeMutableRawBufferPointer(rebasing: memory[offset..<offset + bytes.count])
            target.copyMemory(from: bytes)
            offset += bytes.count
            return UnsafeRawBufferPointer(target)
        }
        switch self {
        case .string(let bytes): return .string(copy(bytes))
        case .data(let bytes): return .data(copy(bytes))
        case .list(let cells): return .list(cells.map { $0.copied(to: memory, &offset) })
        case .set(let cells): return .set(cells.map { $0.copied(to: memory, &offset) })
        case .map(let entries): return .map(entries.map { (copy($0.key), $0.value.copied(to: memory, &offset)) })
        default: return self
        }
    }

    /// Whether both are the same value, bit by bit: NaN is the same as NaN, and 0 is not the same as -0.
    func isSame(as other: Cell) -> Bool {
        switch (self, other) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int(let a), .int(let b)), (.link(let a), .link(let b)): a == b
        case (.float(let a), .float(let b)): a.bitPattern == b.bitPattern
        case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
        case (.string(let a), .string(let b)), (.data(let a), .data(let b)): a.elementsEqual(b)
        case (.date(let a, let c), .date(let b, let d)): a == b && c == d
        case (.objectID(let a), .objectID(let b)): a == b
        case (.uuid(let a, let c), .uuid(let b, let d)), (.decimal(let a, let c), .decimal(let b, let d)):
            a == b && c == d
        case (.anyLink(let a, let c), .anyLink(let b, let d)): a == b && c == d
        case (.list(let a), .list(let b)), (.set(let a), .set(let b)):
            a.count == b.count && zip(a, b).allSatisfy { $0.isSame(as: $1) }
        case (.map(let a), .map(let b)):
            a.count == b.count
                && zip(a, b).allSatisfy { $0.key.elementsEqual($1.key) && $0.value.isSame(as: $1.value) }
        default: false
        }
    }
}
