import FirnCore

/// Collects values for count, min, max, sum and average.
///
/// * Nulls are skipped. In mixed columns, min and max also skip values that are neither numbers nor dates. Sum and
///   average skip values that are no numbers.
/// * **Ints** are added exactly, in 128 bits. A sum that does not fit an Int64 saturates: it becomes the nearest Int64.
///   The average is taken from the exact sum. Nothing traps or wraps.
/// * **Floats** are added as doubles, so their sum is a double. Sums of doubles follow IEEE 754, NaN included. The
///   order of addition is not specified.
/// * **Decimals** are added exactly; the sum or the average is then rounded to 34 digits. Decimal NaNs are skipped.
/// * min and max skip NaN. Numbers of different types in mixed columns are compared by value.
package struct Accumulator {
    private let type: ColumnType
    /// Whether the aggregate is min or max.
    let needsRange: Bool
    /// Whether the aggregate is the sum or the average.
    package let needsSum: Bool
    private(set) var count = 0
    private var integers: Int128 = 0
    private var doubles = 0.0
    private var decimals = DecimalSum()
    private var hasDoubles = false
    private var hasDecimals = false
    private var low = Value.null
    private var high = Value.null

    package init(_ type: ColumnType, for aggregate: PropertyPath.Aggregate) {
        self.type = type
        needsRange = aggregate == .min || aggregate == .max
        needsSum = aggregate == .sum || aggregate == .average
    }

    package mutating func add(_ value: Value) {
        switch value {
        case .int(let x): integers += Int128(x)
        case .float(let x):
            doubles += Double(x)
            hasDoubles = true
        case .double(let x):
            doubles += x
            hasDoubles = true
        case .decimal(let x):
            if x.isNaN { return }
            decimals.add(x)
            hasDecimals = true
        // Dates have an order, but no sum.
        case .date: if needsSum { return }
        default: return
        }
        count += 1
        widen(value)
    }

    /// Adds the sum and the count of one leaf's ints.
    @inline(__always)
    mutating func add(ints sum: Int128, count: Int) {
        integers += sum
        self.count += count
    }

    /// Adds the sum and the count of one leaf's floats or doubles.
    @inline(__always)
    mutating func add(doubles sum: Double, count: Int) {
        doubles += sum
        hasDoubles = true
        self.count += count
    }

    /// Extends min and max by the lowest and the highest value of one leaf.
    mutating func add(low: Value, high: Value) {
        widen(low)
        widen(high)
    }

    private mutating func widen(_ value: Value) {
        if !needsRange { return }
        if ValueComparison.isNaN(value) { return }
        if low == .null || Value.order(value, low) < 0 { low = value }
        if high == .null || Value.order(value, high) > 0 { high = value }
    }

    package func result(_ aggregate: PropertyPath.Aggregate) -> Value {
        switch aggregate {
        case .count: .int(Int64(count))
        case .min: low
        case .max: high
        case .sum: sum
        case .average: average
        }
    }

    private var sum: Value {
        if hasDecimals || type == .decimal { return .decimal(allAsDecimal.bits) }
        if hasDoubles || type == .double || type == .float { return .double(doubles + Double(integers)) }
        return .int(Int64(clamping: integers))
    }

    private var average: Value {
        if count == 0 { return .null }
        if hasDecimals || type == .decimal { return .decimal(allAsDecimal.divided(by: count)) }
        return .double((doubles + Double(integers)) / Double(count))
    }

    /// The sum of all numbers as a decimal. Doubles are added with their shortest decimal form.
    private var allAsDecimal: DecimalSum {
        var all = decimals
        all.add(integers)
        if hasDoubles { all.add(doubles) }
        return all
    }
}
