/// The checks of offsets and ranges that every implementation of `Storage` makes in the same way. A path is built only
/// for an error: a file knows its folder and its name, and joining them costs more than the check.
package enum FileRange {
    /// Mappings begin at multiples of this. The largest page of the systems that Firn supports is 16 KiB, so 64 KiB
    /// leaves a margin.
    package static let mappingAlignment = 64 << 10

    /// Holes begin and end at multiples of this, the unit in which file systems allocate.
    package static let blockByteCount = 4096

    package static func check(offset: Int, _ operation: String, _ path: @autoclosure () -> String) throws(StorageError)
    {
        if offset < 0 {
            throw StorageError(.input("offset \(offset) is negative"), operation: operation, path: path())
        }
    }

    /// Checks the length of a file after a write of `count` bytes at `offset`, or after a truncation to `offset`. No
    /// file system allows more than the limit, so the arithmetic on lengths can't overflow.
    package static func check(
        length offset: Int, adding count: Int = 0, _ operation: String, _ path: @autoclosure () -> String
    )
        throws(StorageError)
    {
        try check(offset: offset, operation, path())
        if offset > lengthLimit - count {
            throw StorageError(
                .input("no file can be longer than \(lengthLimit) bytes"), operation: operation, path: path())
        }
    }

    private static let lengthLimit = 1 << 62

    /// Checks that a hole lies within the file and consists of whole blocks.
    package static func check(deallocating range: Range<Int>, size: Int, _ path: @autoclosure () -> String)
        throws(StorageError)
    {
        if range.lowerBound < 0 || range.upperBound > size || range.lowerBound % blockByteCount != 0
            || range.upperBound % blockByteCount != 0
        {
            throw StorageError(
                .input(
                    "the hole \(range.lowerBound)..<\(range.upperBound) passes the file's \(size) bytes, or does not begin and end at a multiple of 4,096"
                ),
                operation: "deallocate", path: path())
        }
    }

    /// Checks that a mapping begins at a multiple of the alignment, is not empty and lies within the file. Access to
    /// memory beyond a file's end kills the process.
    package static func check(mapping range: Range<Int>, size: Int, _ path: @autoclosure () -> String)
        throws(StorageError)
    {
        if range.lowerBound < 0 || range.lowerBound % mappingAlignment != 0 {
            throw StorageError(
                .input("a mapping must begin at a multiple of \(mappingAlignment), not at \(range.lowerBound)"),
                operation: "map", path: path())
        }
        if range.isEmpty || range.upperBound > size {
            throw StorageError(
                .input(
                    "the range \(range.lowerBound)..<\(range.upperBound) to map is empty or passes the file's \(size) bytes"
                ),
                operation: "map", path: path())
        }
    }
}
