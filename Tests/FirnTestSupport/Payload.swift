/// The bytes that tests commit: different for each version, part and attempt, and the same each time. It stands here
/// because this target is optimized in all builds of the tests: they make and compare gigabytes of it.
public enum Payload {
    public static func bytes(version: UInt64, part: Int, count: Int, attempt: Int = 0) -> [UInt8] {
        var state = version &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(part) &+ UInt64(attempt) &* 0xD1B5_4A32_D192_ED03
        // Half of it compresses.
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            for index in 0..<count {
                if index & 8 == 0 { state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407 }
                buffer[index] = UInt8(truncatingIfNeeded: state >> 40)
            }
            initialized = count
        }
    }

    /// Whether bytes are exactly these.
    public static func isEqual(
        _ bytes: UnsafeRawBufferPointer, version: UInt64, part: Int, count: Int, attempt: Int = 0
    ) -> Bool {
        bytes.elementsEqual(self.bytes(version: version, part: part, count: count, attempt: attempt))
    }
}
