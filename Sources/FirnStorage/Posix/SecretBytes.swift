import CFirn

/// Bytes of a key. They lie in pages of their own. As far as the system can, it keeps these pages out of swap space and
/// core dumps. The bytes never change, and are zeroed when the last reference is released. Copies that libraries have
/// left on the releasing thread are overwritten, too (`firn_forget_copies`).
public final class SecretBytes: @unchecked Sendable {
    private let memory: UnsafeMutableRawPointer
    public let count: Int

    /// Makes a secret that `fill` writes into zeroed memory.
    public init(count: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) {
        guard let memory = firn_secret_allocate(count) else {
            fatalError("Firn: there is no memory left for a key")
        }
        self.memory = memory
        self.count = count
        fill(UnsafeMutableRawBufferPointer(start: memory, count: count))
    }

    public convenience init(copying bytes: UnsafeRawBufferPointer) {
        self.init(count: bytes.count) { $0.copyMemory(from: bytes) }
    }

    deinit { firn_secret_free(memory, count) }

    /// Calls `body` with the bytes, which are valid only during the call.
    public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withExtendedLifetime(self) { body(UnsafeRawBufferPointer(start: memory, count: count)) }
    }
}
