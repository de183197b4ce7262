#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// An FNV-1a hash of what happened in a run, so that two runs can be compared by one number.
public struct TraceHash: Sendable {
    public private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    public init() {}

    public mutating func add(_ number: Int) { value = (value ^ UInt64(truncatingIfNeeded: number)) &* 0x100_0000_01b3 }

    public mutating func add(_ text: String) {
        for byte in text.utf8 { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    mutating func add(_ call: SimulatedCall) {
        add(call.process)
        add(call.operation.rawValue)
        // Made of random numbers. (`String.contains` would take a third of a simulation's time.)
        add(strstr(call.path, "/scratch") != nil ? "scratch" : call.path)
        add(call.offset)
        add(call.length)
        if call.error != nil { add(1) }
    }
}
