/// Finds the pieces of the document that `realm2json` writes, so that it need not be in memory as a whole:
///
/// ```
/// { "class_Dog": [ object, object, … ], "class_Person": [ … ], … }
///   head           object  object         head             …      end
/// ```
struct RealmDocument {
    enum Piece: Equatable {
        /// What stands before the objects of a class: a brace or a comma, the class's name, and a colon.
        case head(name: String)
        case object
        /// What stands between the brackets of a class without objects.
        case nothing
        /// What stands behind the objects of the last class.
        case end
    }

    private enum Next {
        case head, object, end
    }

    /// The kind of the piece that comes next.
    private var next = Next.head
    private var isFirst = true
    /// Whether a comma stands before the piece, so that it can't be empty.
    private var followsComma = false

    var isComplete: Bool { next == .end }

    /// The end of the piece that begins at the first byte. It is the offset of the `[`, `,` or `]` behind the piece.
    /// This byte belongs to no piece. See `RecordSource.next`.
    func end(_ bytes: UnsafeRawBufferPointer, isLast: Bool, seen: inout RecordSource.Seen) -> Int? {
        while seen.count < bytes.count {
            let byte = bytes[seen.count]
            if seen.isQuoted {
                if byte == UInt8(ascii: "\\") {
                    // An escaped character ends nothing. If it is not here yet, more has to be read first.
                    guard seen.count + 1 < bytes.count else { break }
                    seen.count += 1
                } else if byte == UInt8(ascii: "\"") {
                    seen.isQuoted = false
                }
            } else {
                switch byte {
                case UInt8(ascii: "\""): seen.isQuoted = true
                case UInt8(ascii: "["):
                    if next != .object { return seen.count }
                    seen.depth += 1
                case UInt8(ascii: "{"): seen.depth += 1
                case UInt8(ascii: "}"): seen.depth -= 1
                case UInt8(ascii: "]"):
                    if next == .object, seen.depth <= 0 { return seen.count }
                    seen.depth -= 1
                case UInt8(ascii: ","): if next == .object, seen.depth <= 0 { return seen.count }
                case 0x0A: seen.lines += 1
                default: break
                }
            }
            seen.count += 1
        }
        return isLast && !bytes.isEmpty ? bytes.count : nil
    }

    /// Moves behind a piece, and returns its kind.
    ///
    /// - Parameter terminator: the byte behind it; nil at the end of the document.
    mutating func take(
        _ piece: UnsafeRawBufferPointer, _ terminator: UInt8?
    ) throws(InputFault) -> Piece {
        guard next != .object else {
            guard let terminator else {
                throw InputFault("the document ends within the objects of a class", at: piece.count)
            }
            let isEmpty = !piece.contains { $0 > 0x20 }
            if isEmpty, followsComma || terminator == UInt8(ascii: ",") {
                throw InputFault("an object should be here", at: piece.count)
            }
            followsComma = terminator == UInt8(ascii: ",")
            if !followsComma { next = .head }
            return isEmpty ? .nothing : .object
        }
        guard let terminator else {
            // A Realm without objects is {}.
            let brackets = piece.filter { $0 > 0x20 }
            guard brackets.elementsEqual(isFirst ? "{}".utf8 : "}".utf8) else {
                throw InputFault("this is not what realm2json writes: the document ends before its }", at: piece.count)
            }
            next = .end
            return .end
        }
        var reader = JSONReader(piece)
        let start = piece.isEmpty ? nil : try reader.separator()
        guard start == UInt8(ascii: isFirst ? "{" : ","), terminator == UInt8(ascii: "[") else {
            throw InputFault("this is not what realm2json writes: the objects of a class should begin here", at: 0)
        }
        let name = try reader.string()
        guard try reader.separator() == UInt8(ascii: ":") else {
            throw InputFault("a colon should follow the class's name", at: reader.offset)
        }
        try reader.end()
        (next, isFirst, followsComma) = (.object, false, false)
        return .head(name: name)
    }
}
