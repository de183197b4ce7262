import CFirn
import FirnTestSupport
import Testing

@testable import FirnBytes

@Suite("CRC-32C", .timeLimit(.minutes(20))) struct CRC32CTests {
    @Test("conforms to the standard: known inputs give the known checksums")
    func vectors() {
        #expect(CRC32C.checksum(Array("123456789".utf8)) == 0xE306_9283)
        #expect(CRC32C.checksum([]) == 0)
        #expect(CRC32C.checksum([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
        #expect(CRC32C.checksum([UInt8](repeating: 0xFF, count: 32)) == 0x62A8_AB43)
        #expect(CRC32C.checksum(Array(0..<32)) == 0x46DD_794E)
        #expect(CRC32C.checksum(Array((0..<32).reversed())) == 0x113F_DB5C)
    }

    @Test(
        "by hardware equals that by tables, at every length and alignment, also across the blocks of its three streams")
    func hardware() {
        var generator = SeededRandom(seed: 11)
        let bytes = (0..<60_000).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
        let lengths =
            Array(0..<300) + [767, 768, 769, 1535, 1536, 8191, 24_575, 24_576, 24_577, 25_344, 49_152, 59_990]
        bytes.withUnsafeBytes { bytes in
            for length in lengths {
                for start in [0, 1, 7] {
                    let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<(start + length)])
                    #expect(
                        CRC32C.checksum(piece, from: 77) == firn_crc32c_software(77, piece.baseAddress, piece.count),
                        "\(length) at \(start)")
                }
            }
        }
    }

    @Test("of consecutive pieces equals that of the whole")
    func pieces() {
        let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for cut in [0, 1, 13, 500, 999, 1000] {
            let first = CRC32C.checksum(Array(bytes[..<cut]))
            #expect(CRC32C.checksum(Array(bytes[cut...]), from: first) == CRC32C.checksum(bytes))
        }
    }
}
