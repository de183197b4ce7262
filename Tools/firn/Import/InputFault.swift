import FirnBytes

/// What is wrong in a text that is imported, and at which byte of its line or record.
struct InputFault: Error {
    /// The fault on one line, whatever names and values it repeats.
    let text: String
    let offset: Int

    init(_ text: String, at offset: Int) {
        self.text = DisplayText.line(text)
        self.offset = offset
    }
}
