import FirnBytes

/// Something that reading a store met and that is worth saying.
struct Finding: Error, Equatable, CustomStringConvertible {
    enum Kind: String {
        /// Bytes that were durable are not what was written.
        case damage
        /// The end of the log, covered by no durable mark; the next open for writing cuts it off.
        case tornTail = "torn tail"
        /// Nothing is wrong; somebody who looks closely wants to know.
        case note
    }

    var kind: Kind
    var file: String
    /// Where in the file, in bytes; nil where it is about the whole file.
    var offset: Int?
    var text: String

    init(_ kind: Kind, _ file: String, _ offset: Int? = nil, _ text: String) {
        self.kind = kind
        self.file = file
        self.offset = offset
        self.text = text
    }

    /// On one line, whatever the file is called and the store's classes are.
    var description: String {
        let place = offset.map { "\(file), byte \($0)" } ?? file
        return DisplayText.line("\(kind.rawValue): \(place): \(text)")
    }
}
