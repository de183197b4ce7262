import FirnBytes

/// Gives forged bytes the checksums that they would have if Firn had written them, so that the checks after the
/// checksums are reached.
package enum Forging {
    package static func get<T: FixedWidthInteger>(_ bytes: [UInt8], offset: Int, _: T.Type = T.self) -> T {
        bytes.withUnsafeBytes { T(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: T.self)) }
    }

    package static func put<T: FixedWidthInteger>(_ value: T, into bytes: inout [UInt8], offset: Int) {
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self) }
    }

    package static func crc(_ bytes: [UInt8], _ range: Range<Int>) -> UInt32 {
        bytes.withUnsafeBytes { CRC32C.checksum(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    // MARK: Manifest

    /// Writes the checksums of each block of a manifest whose length is plausible.
    package static func sealManifest(_ bytes: inout [UInt8]) {
        var start = 0
        for _ in 0..<2 {
            guard bytes.count - start >= 128 else { return }
            put(crc(bytes, start..<start + 60), into: &bytes, offset: start + 60)
            let count = Int(get(bytes, offset: start + 12, UInt32.self))
            guard count >= 132, count <= bytes.count - start else { return }
            put(crc(bytes, start..<start + count - 4), into: &bytes, offset: start + count - 4)
            start += count
        }
    }

    // MARK: Segments

    /// Writes the checksums of a segment's header and of the consecutive frames from `start` on (0: from the header),
    /// and links them into the chain.
    ///
    /// Returns the chain's last checksum.
    @discardableResult
    package static func sealSegment(_ bytes: inout [UInt8], from start: Int) -> UInt32 {
        guard bytes.count >= 64 else { return 0 }
        if start == 0 { put(crc(bytes, 0..<60), into: &bytes, offset: 60) }
        var chain: UInt32 = get(bytes, offset: 60)
        var offset = 64
        while offset + 80 <= bytes.count, get(bytes, offset: offset, UInt32.self) == 0x4E52_4946 {
            let stored = Int(get(bytes, offset: offset + 64, UInt32.self))
            if offset >= start {
                put(get(bytes, offset: 16, UInt64.self), into: &bytes, offset: offset + 8)
                put(get(bytes, offset: 32, UInt32.self), into: &bytes, offset: offset + 16)
                put(get(bytes, offset: 12, UInt32.self), into: &bytes, offset: offset + 20)
                put(UInt64(offset), into: &bytes, offset: offset + 24)
                put(chain, into: &bytes, offset: offset + 72)
                if offset + 80 + stored <= bytes.count {
                    put(crc(bytes, offset + 80..<offset + 80 + stored), into: &bytes, offset: offset + 68)
                }
                put(crc(bytes, offset..<offset + 76), into: &bytes, offset: offset + 76)
            }
            chain = get(bytes, offset: offset + 76)
            let next = (offset + 80 + stored + 63) & ~63
            guard next <= bytes.count else { break }
            offset = next
        }
        return chain
    }

    /// The offset at which the frames of a segment end, and the version and time of the last frame.
    package static func end(of segment: [UInt8]) -> (offset: Int, version: UInt64, time: Int64) {
        var offset = 64
        var version: UInt64 = get(segment, offset: 40) - 1
        var time: Int64 = 0
        while offset + 80 <= segment.count, get(segment, offset: offset, UInt32.self) == 0x4E52_4946 {
            version = get(segment, offset: offset + 32)
            time = get(segment, offset: offset + 40)
            offset = (offset + 80 + Int(get(segment, offset: offset + 64, UInt32.self)) + 63) & ~63
        }
        return (offset, version, time)
    }

    private struct Frame {
        var kind: UInt8 = 2
        var flags: UInt8 = 1
        var version: UInt64
        var time: Int64
        var mark: UInt64 = 0
        var part: UInt32 = 0
        var raw: UInt32?
        var payload: [UInt8] = []

        func append(to bytes: inout [UInt8]) {
            let start = bytes.count
            bytes += [UInt8](repeating: 0, count: 80) + payload
            bytes += [UInt8](repeating: 0, count: -bytes.count & 63)
            put(UInt32(0x4E52_4946), into: &bytes, offset: start)
            put(UInt16(1), into: &bytes, offset: start + 4)
            bytes[start + 6] = kind
            bytes[start + 7] = flags
            put(version, into: &bytes, offset: start + 32)
            put(time, into: &bytes, offset: start + 40)
            put(mark, into: &bytes, offset: start + 48)
            put(part, into: &bytes, offset: start + 56)
            put(raw ?? UInt32(payload.count), into: &bytes, offset: start + 60)
            put(UInt32(payload.count), into: &bytes, offset: start + 64)
        }
    }

    /// Appends frames that an input describes. For each frame the input has: the kind (1 byte), flags (1), what is
    /// added to the version and the part number (signed, 1 each), the byte count of the payload (2), and the payload.
    /// Flags above 3 make a field excessive: bit 2 adds 2^62 to the version, bits 3 and 4 set the durable mark and
    /// the time to the greatest value, bit 5 sets the raw length to 16 MiB.
    package static func appendFrames(_ input: [UInt8], to segment: [UInt8]) -> [UInt8] {
        let (end, version, time) = end(of: segment)
        var bytes = Array(segment[..<end])
        var offset = 0
        while offset + 6 <= input.count, bytes.count < 1 << 20 {
            let flags = input[offset + 1]
            let count = min(Int(get(input, offset: offset + 4, UInt16.self)), input.count - offset - 6)
            var frame = Frame(
                version: version &+ UInt64(bitPattern: Int64(Int8(bitPattern: input[offset + 2]))), time: time)
            frame.kind = input[offset]
            frame.flags = flags & 3
            frame.part = UInt32(bitPattern: Int32(Int8(bitPattern: input[offset + 3])))
            if flags & 4 != 0 { frame.version &+= 1 << 62 }
            if flags & 8 != 0 { frame.mark = .max }
            if flags & 16 != 0 { frame.time = .max }
            if flags & 32 != 0 { frame.raw = 16 << 20 }
            frame.payload = Array(input[(offset + 6)..<(offset + 6 + count)])
            frame.append(to: &bytes)
            offset += 6 + count
        }
        sealSegment(&bytes, from: end)
        return bytes
    }

    /// Appends one commit, whose parts the input contains: for each part its byte count (3 bytes; bit 23 marks a
    /// schema) and its bytes.
    package static func appendCommit(_ input: [UInt8], to segment: [UInt8]) -> [UInt8] {
        let (end, version, time) = end(of: segment)
        var bytes = Array(segment[..<end])
        let parts = parts(of: input)
        for (number, part) in parts.enumerated() {
            var frame = Frame(version: version + 1, time: time)
            frame.kind = part.isSchema ? 1 : 2
            frame.payload = part.bytes
            frame.flags = number == parts.count - 1 ? 1 : 0
            frame.part = UInt32(number)
            frame.append(to: &bytes)
        }
        sealSegment(&bytes, from: end)
        return bytes
    }

    /// The parts of a commit that an input contains: see `appendCommit`. At least one.
    package static func parts(of input: [UInt8]) -> [(isSchema: Bool, bytes: [UInt8])] {
        var parts: [(isSchema: Bool, bytes: [UInt8])] = []
        var offset = 0
        while offset + 3 <= input.count {
            let word = Int(input[offset]) | Int(input[offset + 1]) << 8 | Int(input[offset + 2]) << 16
            let count = min(word & 0x7F_FFFF, input.count - offset - 3)
            parts.append((word & 0x80_0000 != 0, Array(input[(offset + 3)..<(offset + 3 + count)])))
            offset += 3 + count
        }
        return parts.isEmpty || offset < input.count ? parts + [(false, [])] : parts
    }

    /// The commits of a segment, in the form that `appendCommit` takes.
    package static func commits(of segment: [UInt8]) -> [[UInt8]] {
        var commits: [[UInt8]] = []
        var parts: [UInt8] = []
        var offset = 64
        while offset + 80 <= segment.count, get(segment, offset: offset, UInt32.self) == 0x4E52_4946 {
            let stored = Int(get(segment, offset: offset + 64, UInt32.self))
            let raw = Int(get(segment, offset: offset + 60, UInt32.self))
            var payload = Array(segment[(offset + 80)..<(offset + 80 + stored)])
            if segment[offset + 7] & 2 != 0 {
                var target = [UInt8](repeating: 0, count: raw)
                _ = try? payload.withUnsafeBytes { source in
                    try target.withUnsafeMutableBytes { try LZ4.decompress(source, into: $0) }
                }
                payload = target
            }
            if segment[offset + 6] <= 2 {
                let schemaBit = segment[offset + 6] == 1 ? 0x80 : 0
                parts += [UInt8(raw & 255), UInt8(raw >> 8 & 255), UInt8(raw >> 16 | schemaBit)] + payload
                if segment[offset + 7] & 1 != 0 {
                    commits.append(parts)
                    parts = []
                }
            }
            offset = (offset + 80 + stored + 63) & ~63
        }
        return commits
    }

    // MARK: Checkpoints

    /// Where the footer of a checkpoint's file begins, as far as its length is plausible.
    package static func footerStart(of bytes: [UInt8]) -> Int {
        bytes.count - min(Int(get(bytes, offset: bytes.count - 8, UInt32.self)), bytes.count)
    }

    /// The ranges of the nodes of a checkpoint's file, as far as their lengths are plausible.
    package static func nodes(of bytes: [UInt8]) -> [Range<Int>] {
        guard bytes.count >= 128 else { return [] }
        let end = footerStart(of: bytes)
        var nodes: [Range<Int>] = []
        var offset = 64
        while offset + 32 <= end {
            let count = Int(get(bytes, offset: offset + 28, UInt32.self))
            guard count >= 32, count % 32 == 0, offset + count <= end else { break }
            nodes.append(offset..<offset + count)
            offset += count
        }
        return nodes
    }

    /// Writes the checksums of the nodes and the footer of a checkpoint, and puts the footer's checksum into the
    /// manifest.
    package static func sealCheckpoint(_ bytes: inout [UInt8], in manifest: inout [UInt8]) {
        for node in nodes(of: bytes) {
            put(UInt32(0), into: &bytes, offset: node.lowerBound + 8)
            put(UInt32(node.lowerBound / 32), into: &bytes, offset: node.lowerBound + 12)
            put(crc(bytes, node), into: &bytes, offset: node.lowerBound + 8)
        }
        guard bytes.count >= 128, manifest.count >= 128 else { return }
        let length = Int(get(bytes, offset: bytes.count - 8, UInt32.self))
        if length >= 8, length <= bytes.count {
            put(crc(bytes, bytes.count - length..<bytes.count - 4), into: &bytes, offset: bytes.count - 4)
        }
        put(UInt64(bytes.count), into: &manifest, offset: 80)
        put(get(bytes, offset: bytes.count - 4, UInt32.self), into: &manifest, offset: 88)
        sealManifest(&manifest)
    }
}
