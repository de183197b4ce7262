import FirnTestSupport
import Testing

@testable import FirnBytes

@Suite("Readers and writers of bytes", .timeLimit(.minutes(20))) struct ByteReaderTests {
    @Test("what is written is read back")
    func roundTrip() throws {
        var writer = ByteWriter(capacity: 1)
        let integers: [UInt64] = [0, 1, 127, 128, 300, 1 << 35, .max]
        let signed: [Int64] = [0, -1, 1, .min, .max, -300]
        writer.append(UInt8(200))
        writer.append(UInt16(40_000))
        writer.append(UInt32(0xDEAD_BEEF))
        writer.append(UInt64.max - 5)
        writer.append(Int64(-7))
        for value in integers { writer.appendVarint(value) }
        for value in signed { writer.appendVarint(Varint.zigzag(value)) }
        writer.appendString("Schnee auf dem Grat ❄️")
        writer.appendZeros(3)

        var reader = ByteReader(writer.bytes)
        #expect(try reader.readUInt8() == 200)
        #expect(try reader.readUInt16() == 40_000)
        #expect(try reader.readUInt32() == 0xDEAD_BEEF)
        #expect(try reader.readUInt64() == .max - 5)
        #expect(try reader.readInt64() == -7)
        for value in integers { #expect(try reader.readVarint() == value) }
        for value in signed { #expect(try reader.readZigzag() == value) }
        #expect(try reader.readString() == "Schnee auf dem Grat ❄️")
        #expect(try reader.readBytes(3).isAllZero)
        try reader.expectEnd()
    }

    @Test("a varint takes as many bytes as byteCount says") func varintLength() {
        for bit in 0..<64 {
            for value in [UInt64(1) << bit, (UInt64(1) << bit) - 1] {
                var writer = ByteWriter()
                writer.appendVarint(value)
                #expect(writer.count == Varint.byteCount(value), "\(value)")
            }
        }
    }

    @Test("a read beyond the end throws with its offset and does not move the reader") func overrun() throws {
        let bytes: [UInt8] = [1, 2, 3]
        try bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            _ = try reader.readUInt8()
            #expect(throws: Damage(.overrun(wanted: 4, available: 2), offset: 1)) { try reader.readUInt32() }
            #expect(throws: Damage(.overrun(wanted: 3, available: 2), offset: 1)) {
                _ = try reader.readBytes(3).count
            }
            #expect(throws: Damage.self) { try reader.skip(-1) }
            #expect(reader.offset == 1)
            #expect(try reader.readUInt16() == 0x0302)
        }
    }

    @Test(
        "a varint that is cut short, too long or not in its shortest form is refused",
        arguments: [
            [0x80], [0x80, 0x00], [0xFF, 0x80, 0x00],
            [UInt8](repeating: 0xFF, count: 10), [UInt8](repeating: 0x80, count: 9) + [0x02],
            [UInt8](repeating: 0xFF, count: 11),
        ] as [[UInt8]])
    func badVarints(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            #expect(throws: Damage.self) { try reader.readVarint() }
            #expect(reader.offset == 0)
        }
    }

    @Test("a length beyond the end, and text that is not UTF-8, are refused") func badLengths() {
        for bytes in [
            [0x05, 1, 2], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0], [0x02, 0xC3, 0x28],
        ] as [[UInt8]] {
            bytes.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                #expect(throws: Damage.self) { try reader.readString() }
                #expect(reader.offset == 0)
            }
        }
    }

    @Test("a length that is too great leaves the reader where it was") func staysOnError() throws {
        let bytes: [UInt8] = [0x05, 1, 2, 0x06]
        try bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            #expect(throws: Damage.self) { _ = try reader.readLengthPrefixed().count }
            #expect(reader.offset == 0)
            try reader.skip(3)
            #expect(throws: Damage.self) { try reader.expectEnd() }
            #expect(throws: Damage.self) { try reader.readCount(limit: 5) }
            #expect(reader.offset == 3)
            var again = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[3...]))
            #expect(try again.readCount(limit: 6) == 6)
            try again.expectEnd()
        }
    }

    @Test("a byte that is not zero is found at every offset") func zeros() {
        for count in 0...100 {
            var bytes = [UInt8](repeating: 0, count: count)
            #expect(bytes.withUnsafeBytes { $0.isAllZero })
            for offset in 0..<count {
                bytes[offset] = 1 << UInt8(offset % 8)
                #expect(!bytes.withUnsafeBytes { $0.isAllZero }, "byte \(offset) of \(count)")
                bytes[offset] = 0
            }
        }
    }

    @Test("bytes that are not UTF-8 are found at every offset") func text() {
        for count in 1...40 {
            var bytes = [UInt8](repeating: 0x61, count: count)
            #expect(bytes.withUnsafeBytes { $0.isASCII && $0.isUTF8 })
            for offset in 0..<count {
                bytes[offset] = 0xFF
                #expect(!bytes.withUnsafeBytes { $0.isASCII || $0.isUTF8 }, "byte \(offset) of \(count)")
                bytes[offset] = 0x61
            }
            bytes += Array("é".utf8)
            #expect(bytes.withUnsafeBytes { !$0.isASCII && $0.isUTF8 })
        }
    }

    @Test("no reads trap, whatever the bytes") func fuzz() {
        var generator = SeededRandom(seed: 2026)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                Bool.random(using: &generator) ? UInt8(0xFF) : UInt8.random(in: 0...255, using: &generator)
            }
            bytes.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                for _ in 0..<12 {
                    switch Int.random(in: 0...9, using: &generator) {
                    case 0: _ = try? reader.readUInt8()
                    case 1: _ = try? reader.readUInt16()
                    case 2: _ = try? reader.readUInt32()
                    case 3: _ = try? reader.readUInt64()
                    case 4: _ = try? reader.readVarint()
                    case 5: _ = try? reader.readZigzag()
                    case 6: _ = try? reader.readLengthPrefixed()
                    case 7: _ = try? reader.readString()
                    case 8: _ = try? reader.readBytes(Int.random(in: -5...50, using: &generator))
                    default: _ = try? reader.readCount(limit: Int.random(in: -1...9, using: &generator))
                    }
                    #expect(reader.offset <= bytes.count)
                }
            }
        }
    }
}

@Suite("LZ4", .timeLimit(.minutes(20))) struct LZ4Tests {
    @Test("compressed bytes are restored, and one state can be used for all of them") func roundTrip() throws {
        var lz4 = LZ4()
        var generator = SeededRandom(seed: 4)
        for length in [0, 1, 12, 13, 64, 200, 4096, 65_536, 300_000] {
            for alphabet in [1, 4, 256] {
                let bytes = (0..<length).map { _ in UInt8(Int.random(in: 0..<alphabet, using: &generator)) }
                var packed = [UInt8](repeating: 0, count: LZ4.bound(length))
                let count = bytes.withUnsafeBytes { source in
                    packed.withUnsafeMutableBytes { lz4.compress(source, into: $0) }
                }
                if length == 0, count == nil { continue }
                let stored = try #require(count)
                var back = [UInt8](repeating: 0xAA, count: length)
                try packed[..<stored].withUnsafeBytes { packed in
                    try back.withUnsafeMutableBytes { try LZ4.decompress(packed, into: $0) }
                }
                #expect(back == bytes)
            }
        }
    }

    @Test("the result is nil if the compressed form does not fit") func tooSmall() {
        var lz4 = LZ4()
        var generator = SeededRandom(seed: 5)
        let bytes = (0..<1000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        var packed = [UInt8](repeating: 0, count: 999)
        let count = bytes.withUnsafeBytes { source in packed.withUnsafeMutableBytes { lz4.compress(source, into: $0) } }
        #expect(count == nil)
    }

    @Test("a result that is shorter or longer than it should be is refused") func otherLength() throws {
        var lz4 = LZ4()
        let bytes = [UInt8](repeating: 7, count: 100)
        var packed = [UInt8](repeating: 0, count: LZ4.bound(100))
        let count = try #require(
            bytes.withUnsafeBytes { source in packed.withUnsafeMutableBytes { lz4.compress(source, into: $0) } })
        for length in [99, 101, 0, 200] {
            var target = [UInt8](repeating: 0, count: length)
            #expect(throws: Damage.self) {
                try packed[..<count].withUnsafeBytes { source in
                    try target.withUnsafeMutableBytes { try LZ4.decompress(source, into: $0) }
                }
            }
        }
    }

    @Test("hostile bytes are refused and never trap") func hostile() {
        var generator = SeededRandom(seed: 6)
        var refused = 0
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...60, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            var target = [UInt8](repeating: 0, count: Int.random(in: 0...100, using: &generator))
            do {
                try bytes.withUnsafeBytes { source in
                    try target.withUnsafeMutableBytes { try LZ4.decompress(source, into: $0) }
                }
            } catch {
                refused += 1
            }
        }
        #expect(refused > 19_000)
    }
}
