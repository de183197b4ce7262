/// What is wrong in a text that is imported, and at which byte of its line or record.
struct InputFault: Error {
    var text: String
    var offset: Int

    init(_ text: String, at offset: Int) {
        self.text = text
        self.offset = offset
    }
}
