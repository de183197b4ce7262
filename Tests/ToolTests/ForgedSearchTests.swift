import FirnBytes
import FirnStorage
import FirnTestSupport
import ForgedStores
import Testing

@testable import FirnTool

/// Behind damage the tool searches for an offset from which to continue. The bytes there may pretend to be a frame or
/// a node again and again.
@Suite("The search for intact frames and nodes behind damage has an end", .timeLimit(.minutes(20)))
struct ForgedSearchTests {
    /// A frame's header at an offset of a segment, its checksum right, without a payload.
    private func putHeader(
        _ bytes: inout [UInt8], _ offset: Int, version: UInt64, stored: Int = 0, mark: UInt64 = 0, time: Int64
    ) {
        Forging.put(UInt32(0x4E52_4946), into: &bytes, offset: offset)
        Forging.put(UInt16(1), into: &bytes, offset: offset + 4)
        bytes[offset + 6] = 2
        bytes[offset + 7] = 1
        Forging.put(Forging.get(bytes, offset: 16, UInt64.self), into: &bytes, offset: offset + 8)
        Forging.put(Forging.get(bytes, offset: 32, UInt32.self), into: &bytes, offset: offset + 16)
        Forging.put(Forging.get(bytes, offset: 12, UInt32.self), into: &bytes, offset: offset + 20)
        Forging.put(UInt64(offset), into: &bytes, offset: offset + 24)
        Forging.put(version, into: &bytes, offset: offset + 32)
        Forging.put(time, into: &bytes, offset: offset + 40)
        Forging.put(mark, into: &bytes, offset: offset + 48)
        Forging.put(UInt32(stored), into: &bytes, offset: offset + 60)
        Forging.put(UInt32(stored), into: &bytes, offset: offset + 64)
        Forging.put(Forging.crc(bytes, offset..<offset + 76), into: &bytes, offset: offset + 76)
    }

    @Test("frames that each claim all that is left of the file") func payloads() throws {
        var store = ForgedStore()
        let (end, version, time) = Forging.end(of: store.segment)
        var bytes = Array(store.segment[..<end]) + [UInt8](repeating: 0, count: 8 << 20)
        for offset in stride(from: end, to: bytes.count - 128, by: 128) {
            putHeader(
                &bytes, offset, version: version + 1, stored: bytes.count - offset - 80, mark: version + 1, time: time)
        }
        store.segment = bytes
        let verify = try Run.verify(store.storage())
        #expect(verify.status == .damage, "\(verify.out)")
    }

    @Test("frames of which none follows the one before it") func breaks() throws {
        var store = ForgedStore()
        let (end, version, time) = Forging.end(of: store.segment)
        let count = 20_000
        var bytes = Array(store.segment[..<end]) + [UInt8](repeating: 0, count: 128 * count)
        for index in 0..<count {
            putHeader(
                &bytes, end + 128 * index, version: version + UInt64(index) + 1, mark: index == count - 1 ? .max : 0,
                time: time)
        }
        store.segment = bytes
        let verify = try Run.verify(store.storage())
        #expect(
            verify.status == .damage && verify.out.contains("\(count + 1) findings of damage"),
            "\(verify.out.prefix(1500)) \(verify.out.suffix(300))")
    }

    @Test("nodes that each claim all that is left of the file") func nodes() throws {
        var store = ForgedStore()
        let length = 4 << 20
        var region = ForgedStore.node(.blob, byteCount: length, count: length - 32)
        let start = Forging.nodes(of: store.checkpoint).last!.upperBound
        for offset in stride(from: 32, to: length, by: 32) {
            Forging.put(UInt32((start + offset) / 32), into: &region, offset: offset + 12)
            region[offset + 16] = NodeKind.blob.rawValue + 64
            Forging.put(UInt32(length - offset), into: &region, offset: offset + 28)
        }
        #expect(store.append([region]) == [start])
        store.sealCheckpoint()
        store.checkpoint[start + 8] ^= 1
        let verify = try Run.verify(store.storage())
        #expect(verify.status == .damage && verify.out.contains("the node's checksum is wrong"), "\(verify.out)")
    }
}
