/// Runs `body` and ignores its error. The caller states in a comment why the error does not matter.
@inline(__always)
package func ignoringError<Failure: Error>(_ body: () throws(Failure) -> Void) {
    do throws(Failure) { try body() } catch {}
}
