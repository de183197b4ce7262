import CFirn

/// The Swift types that the program's images declare, as the linker listed them.
///
/// They are all types that are not generic, in the executable and in each loaded shared library. Private and local
/// types are included, whether or not the image is stripped. Generic types are missing, because they do not exist
/// before their first use, and so are the types of images whose file can't be read. A call costs about 0.3 ms.
public enum TypeMetadata {
    /// Calls `body` with the address of each type's context descriptor.
    ///
    /// - Returns: false if an image could not be read, so that types may be missing.
    @discardableResult
    public static func forEachDescriptor(_ body: (UnsafeRawPointer) -> Void) -> Bool {
        withoutActuallyEscaping(body) { body in
            var visitor = Visitor(body: body)
            let unreadable = withUnsafeMutablePointer(to: &visitor) { visitor in
                firn_each_type_section(
                    { start, length, context in
                        let visitor = context.unsafelyUnwrapped.assumingMemoryBound(to: Visitor.self)
                        TypeMetadata.walk(start, length: length, visitor.pointee.body)
                    }, visitor)
            }
            return unreadable == 0
        }
    }

    private struct Visitor {
        let body: (UnsafeRawPointer) -> Void
    }

    /// Each entry is an offset from its own address to a descriptor. The lowest two bits are not part of
    /// the offset: if they are 01, it leads to a pointer to the descriptor.
    private static func walk(_ start: UnsafeRawPointer, length: Int, _ body: (UnsafeRawPointer) -> Void) {
        var entry = start
        let end = start + (length & ~3)
        while entry < end {
            let offset = Int(entry.load(as: Int32.self))
            if offset != 0 {
                let target = entry + (offset & ~3)
                switch offset & 3 {
                case 0: body(target)
                case 1: body(target.load(as: UnsafeRawPointer.self))
                default: break
                }
            }
            entry += 4
        }
    }
}
