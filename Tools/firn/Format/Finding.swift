import FirnBytes

/// Something worth reporting that was found while a store was read.
struct Finding: Error, Equatable, CustomStringConvertible {
    enum Kind: String {
        /// Bytes that were durable are no longer what was written.
        case damage
        /// The end of the log, which no durable mark covers. The next opening for writing cuts it off.
        case tornTail = "torn tail"
        /// Nothing is wrong, but it may matter in a close examination.
        case note
    }

    var kind: Kind
    var file: String
    /// The offset in the file, in bytes; nil if the finding is about the whole file.
    var offset: Int?
    var text: String

    init(kind: Kind, file: String, offset: Int? = nil, text: String) {
        self.kind = kind
        self.file = file
        self.offset = offset
        self.text = text
    }

    /// The finding on one line, whatever characters the file's name and the store's names have.
    var description: String {
        let location = offset.map { "\(file), byte \($0)" } ?? file
        return DisplayText.line("\(kind.rawValue): \(location): \(text)")
    }
}
