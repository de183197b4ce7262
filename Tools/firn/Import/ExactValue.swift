import FirnCore

/// A value that equals another one only if all its bits do: to the store, `0.0` and `-0.0` are equal.
struct ExactValue: Equatable {
    let value: Value

    init(_ value: Value) { self.value = value }

    static func == (one: ExactValue, other: ExactValue) -> Bool {
        switch (one.value, other.value) {
        case (.float(let one), .float(let other)): one.bitPattern == other.bitPattern
        case (.double(let one), .double(let other)): one.bitPattern == other.bitPattern
        case (.list(let one), .list(let other)): one.elementsEqual(other) { ExactValue($0) == ExactValue($1) }
        case (.map(let one), .map(let other)):
            one.elementsEqual(other) {
                $0.key.utf8.elementsEqual($1.key.utf8) && ExactValue($0.value) == ExactValue($1.value)
            }
        default: one.value == other.value
        }
    }
}
