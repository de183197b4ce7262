/// A mistake of a caller or of a model class, described by a text.
package struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
    package let text: String

    package init(_ text: String) { self.text = text }

    package var description: String { text }
}
