/// FNV-1a of 64 bits. It tells contents apart, but is no protection against somebody who makes two contents with the
/// same hash.
struct ContentHash {
    /// The longest file that is hashed, in bytes.
    static let limit = 65_536

    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ bytes: some Sequence<UInt8>) {
        var value = value
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
        self.value = value
    }

    mutating func add(_ number: Int) {
        withUnsafeBytes(of: number.littleEndian) { add($0) }
    }
}
