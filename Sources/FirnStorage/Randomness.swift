import CFirn

/// The source of Firn's random numbers, so that tests can repeat them.
public protocol Randomness: AnyObject, Sendable {
    func next() -> UInt64

    func fill(_ buffer: UnsafeMutableRawBufferPointer)
}

extension Randomness {
    /// Returns `count` random bytes.
    package func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            fill(UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: count))
            initialized = count
        }
    }
}

extension Randomness {
    public func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        var offset = 0
        while offset < buffer.count {
            let length = min(8, buffer.count - offset)
            withUnsafeBytes(of: next().littleEndian) { word in
                buffer[offset..<(offset + length)].copyBytes(from: word[..<length])
            }
            offset += length
        }
    }

    /// A number in 0 ..< `bound`, which must be positive.
    public func next(below bound: Int) -> Int {
        Int(next().multipliedFullWidth(by: UInt64(bound)).high)
    }
}

/// The operating system's generator. Its numbers are unpredictable, so they can be used as identities.
public final class SystemRandomness: Randomness {
    public static var shared: SystemRandomness { SharedObject.systemRandomness.get { SystemRandomness() } }

    public init() {}

    public func next() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }

    /// Fills the buffer with one call of the system for each 256 bytes.
    public func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        guard let start = buffer.baseAddress else { return }
        guard firn_random(start, buffer.count) else { fatalError("Firn: the system has no random numbers") }
    }
}
