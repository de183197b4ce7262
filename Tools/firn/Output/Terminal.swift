#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The process's own streams. No other file of the tool asks the system for anything but files.
enum Terminal {
    static var errorIsTerminal: Bool { isatty(2) == 1 }

    /// Writes all of the text; throws if the stream accepts no more, for instance because of a full disk or a closed
    /// pipe.
    static func write(_ text: String, to descriptor: Int32) throws(ToolError) {
        var text = text
        let failure = text.withUTF8 { bytes -> Int32 in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                #if canImport(Darwin)
                    let count = Darwin.write(descriptor, rest.baseAddress, rest.count)
                #elseif canImport(Musl)
                    let count = Musl.write(descriptor, rest.baseAddress, rest.count)
                #else
                    let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                #endif
                if count < 0, errno == EINTR { continue }
                if count < 0 { return errno }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
            return 0
        }
        if failure != 0 { throw ToolError(.input, "the output can't be written (errno \(failure))") }
    }

    static func leave(_ status: Int32) -> Never { exit(status) }
}
