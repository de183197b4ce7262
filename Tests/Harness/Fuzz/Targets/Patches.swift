import ForgedStores

/// Small changes to intact bytes. Each takes 8 bytes that say where and how, and 8 bytes with a value.
///
/// ```
/// byte  0                   2            4       5        6        8             16
///       ┌───────────────────┬────────────┬───────┬────────┬────────┬─────────────┐
///       │ which node / file │ where in it│ width │ how    │ zero   │ value       │
///       └───────────────────┴────────────┴───────┴────────┴────────┴─────────────┘
/// ```
///
/// **width** is 1, 2, 4 or 8 bytes, by its lowest two bits. **how**: 0 sets, 1 adds, 2 flips bits, 3 copies the bytes
/// at the offset that the value gives. A node is chosen by its kind (high byte) and its index among the nodes of that
/// kind (low byte). Kind 0 is the footer, and so is a kind without nodes.
struct Patches {
    struct Patch {
        var target: UInt16
        var offset: UInt16
        var width: Int
        var how: UInt8
        var value: UInt64
    }

    var patches: [Patch] = []

    init(_ input: [UInt8]) {
        for start in stride(from: 0, to: min(input.count & ~15, 16 * 32), by: 16) {
            patches.append(
                Patch(
                    target: Forging.get(input, offset: start), offset: Forging.get(input, offset: start + 2),
                    width: 1 << Int(input[start + 4] & 3), how: input[start + 5] & 3,
                    value: Forging.get(input, offset: start + 8)))
        }
    }

    private static func apply(_ patch: Patch, at offset: Int, _ bytes: UnsafeMutableRawBufferPointer) {
        guard offset >= 0, offset + patch.width <= bytes.count else { return }
        var word: UInt64 = 0
        withUnsafeMutableBytes(of: &word) { $0.copyBytes(from: bytes[offset..<offset + patch.width]) }
        switch patch.how {
        case 0: word = patch.value
        case 1: word &+= patch.value
        case 2: word ^= patch.value
        default:
            let from = Int(patch.value % UInt64(max(bytes.count - 8, 1)))
            guard bytes.count >= 8 else { return }
            word = bytes.loadUnaligned(fromByteOffset: from, as: UInt64.self)
        }
        withUnsafeBytes(of: word) {
            UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<offset + patch.width]).copyBytes(
                from: $0[..<patch.width])
        }
    }

    /// Applies the patches to the nodes of a checkpoint's file, or to its footer.
    func applyToNodes(of bytes: inout [UInt8]) {
        let nodes = Forging.nodes(of: bytes)
        let byKind = Dictionary(grouping: nodes) { bytes[$0.lowerBound + 16] & 0x3F }
        for patch in patches {
            let candidates = byKind[UInt8(patch.target >> 8) & 0x0F] ?? []
            let start: Int
            if candidates.isEmpty {
                start = bytes.count - Int(Forging.get(bytes, offset: bytes.count - 8, UInt32.self))
            } else {
                start = candidates[Int(patch.target & 255) % candidates.count].lowerBound
            }
            bytes.withUnsafeMutableBytes { Self.apply(patch, at: start + Int(patch.offset), $0) }
        }
    }

    /// Applies the patches to the files of a store.
    func apply(to files: inout [String: [UInt8]], order: [String]) {
        for patch in patches {
            let path = order[Int(patch.target & 15) % order.count]
            files[path]!.withUnsafeMutableBytes {
                Self.apply(patch, at: Int(patch.target >> 4) << 16 | Int(patch.offset), $0)
            }
        }
    }

    /// Applies the patches to the shared page.
    func apply(toPage bytes: UnsafeMutableRawBufferPointer) {
        for patch in patches { Self.apply(patch, at: Int(patch.offset) % 4096, bytes) }
    }
}
