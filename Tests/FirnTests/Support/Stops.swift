import FirnTestSupport
import Testing

/// Checks that a process stopped with a message that has the given parts. An exit test that only wants a failure
/// would also pass if the program failed for another reason.
func expectMessage(_ result: ExitTest.Result?, _ parts: String..., at location: SourceLocation = #_sourceLocation) {
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    for part in parts { #expect(text.contains(part), "the message was: \(text)", sourceLocation: location) }
}
