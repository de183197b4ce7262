/// Runs `body` and ignores its error. The caller says why nobody needs to hear of it.
@inline(__always)
package func ignoringError<Failure: Error>(_ body: () throws(Failure) -> Void) {
    do throws(Failure) { try body() } catch {}
}
