/// Ranges of versions. A range that continues the last one extends it.
struct VersionRanges {
    private(set) var all: [ClosedRange<UInt64>] = []

    mutating func add(_ range: ClosedRange<UInt64>) {
        if let last = all.last, range.lowerBound <= last.upperBound &+ 1, range.lowerBound >= last.lowerBound {
            all[all.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
        } else {
            all.append(range)
        }
    }

    mutating func sort() { all.sort { $0.lowerBound < $1.lowerBound } }
}
