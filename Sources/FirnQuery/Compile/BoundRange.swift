import FirnCore

/// The range of a column type's values that fulfil comparisons with constants.
enum BoundRange {
    /// The range of values for which all of `tests` hold (==, <, <=, >, >=, not negated, no null).
    ///
    /// Nil if the type has no ranges, or if a range can't express a comparison with a constant of this kind. An empty
    /// range has its low bound above its high bound.
    static func range(of type: ColumnType, _ tests: [ConstantTest]) -> FixedRange? {
        switch type {
        case .int: integers(tests)
        case .link: links(tests)
        case .double: doubles(tests)
        case .float: floats(tests)
        case .bool: bools(tests)
        case .date:
            ordered(
                tests, first: Timestamp(seconds: .min, nanoseconds: -999_999_999),
                last: Timestamp(seconds: .max, nanoseconds: 999_999_999),
                take: { if case .date(let x) = $0 { x } else { nil } }, next: \.successor, \.predecessor
            ).map { .date($0, $1) }
        case .uuid:
            ordered(
                tests, first: UUIDBytes(high: 0, low: 0), last: UUIDBytes(high: .max, low: .max),
                take: { if case .uuid(let x) = $0 { x } else { nil } }, next: \.successor, \.predecessor
            ).map { .uuid($0, $1) }
        case .objectID:
            ordered(
                tests, first: ObjectIDBytes(a: 0, b: 0, c: 0), last: ObjectIDBytes(a: .max, b: .max, c: .max),
                take: { if case .objectID(let x) = $0 { x } else { nil } }, next: \.successor, \.predecessor
            ).map { .objectID($0, $1) }
        case .string, .data, .mixed, .decimal: nil
        }
    }

    /// Narrows the full range by each comparison. `next` returns nil for the last value, and `previous` returns nil for
    /// the first value.
    private static func ordered<T: Comparable>(
        _ tests: [ConstantTest], first: T, last: T, take: (Value) -> T?, next: (T) -> T?, _ previous: (T) -> T?
    ) -> (T, T)? {
        var (low, high) = (first, last)
        for test in tests {
            guard let value = take(test.value) else { return nil }
            switch test.operation {
            case .equal: (low, high) = (max(low, value), min(high, value))
            case .greaterOrEqual: low = max(low, value)
            case .lessOrEqual: high = min(high, value)
            case .greater:
                guard let after = next(value) else { return (last, first) }
                low = max(low, after)
            case .less:
                guard let before = previous(value) else { return (last, first) }
                high = min(high, before)
            default: return nil
            }
        }
        return (low, high)
    }

    // MARK: Numbers

    private static func integers(_ tests: [ConstantTest]) -> FixedRange? {
        var integerTests: [ConstantTest] = []
        for test in tests {
            switch test.value {
            case .int: integerTests.append(test)
            case .double(let x): integerTests.append(integerTest(test.operation, x))
            case .float(let x): integerTests.append(integerTest(test.operation, Double(x)))
            default: return nil
            }
        }
        func take(_ value: Value) -> Int64? { if case .int(let x) = value { x } else { nil } }
        func next(_ x: Int64) -> Int64? { x == .max ? nil : x + 1 }
        func previous(_ x: Int64) -> Int64? { x == .min ? nil : x - 1 }
        return ordered(integerTests, first: Int64.min, last: Int64.max, take: take, next: next, previous).map {
            .int64($0, $1)
        }
    }

    /// The comparison with an integer that is equivalent to a comparison with the double `x`.
    private static func integerTest(_ operation: Comparison.Operation, _ x: Double) -> ConstantTest {
        func test(_ operation: Comparison.Operation, _ value: Int64) -> ConstantTest {
            ConstantTest(operation: operation, options: [], values: [.int(value)])
        }
        let everything = test(.greaterOrEqual, .min)
        let nothing = test(.greater, .max)
        if x.isNaN { return nothing }
        if x >= 0x1p63 { return operation == .less || operation == .lessOrEqual ? everything : nothing }
        if x < -0x1p63 { return operation == .greater || operation == .greaterOrEqual ? everything : nothing }
        let floor = Int64(x.rounded(.down))
        let isWhole = x.rounded(.down) == x
        switch operation {
        case .equal: return isWhole ? test(.equal, floor) : nothing
        // If x is between two integers, "below x" means "up to its floor", and "above x" means "above its floor".
        case .less: return isWhole ? test(.less, floor) : test(.lessOrEqual, floor)
        case .lessOrEqual: return test(.lessOrEqual, floor)
        case .greater: return test(.greater, floor)
        default: return isWhole ? test(.greaterOrEqual, floor) : test(.greater, floor)
        }
    }

    private static func links(_ tests: [ConstantTest]) -> FixedRange? {
        guard let test = tests.first, tests.count == 1, test.operation == .equal, case .link(let key) = test.value
        else {
            return nil
        }
        return .int64(key, key)
    }

    private static func bools(_ tests: [ConstantTest]) -> FixedRange? {
        guard let test = tests.first, tests.count == 1, test.operation == .equal, case .bool(let value) = test.value
        else {
            return nil
        }
        return .bool(value ? 1 : 0, value ? 1 : 0)
    }

    private static func doubles(_ tests: [ConstantTest]) -> FixedRange? {
        var (low, high) = (-Double.infinity, Double.infinity)
        for test in tests {
            guard let (from, through) = doubleBounds(test) else { return nil }
            (low, high) = (Swift.max(low, from), Swift.min(high, through))
        }
        return .double(low, high)
    }

    private static func doubleBounds(_ test: ConstantTest) -> (Double, Double)? {
        let nothing = (Double.infinity, -Double.infinity)
        switch test.value {
        case .double(let x): return bounds(test.operation, x: x, nothing: nothing)
        case .int(let integer):
            let x = Double(integer)
            let order = Value.order(.double(x), .int(integer))
            if order == 0 { return bounds(test.operation, x: x, nothing: nothing) }
            // The integer is between two doubles, and x is one of them.
            switch test.operation {
            case .equal: return nothing
            case .less, .lessOrEqual: return (-.infinity, order < 0 ? x : x.nextDown)
            default: return (order > 0 ? x : x.nextUp, .infinity)
            }
        default: return nil
        }
    }

    private static func floats(_ tests: [ConstantTest]) -> FixedRange? {
        var (low, high) = (-Float.infinity, Float.infinity)
        for test in tests {
            guard case .float(let x) = test.value,
                let (from, through) = bounds(test.operation, x: x, nothing: (Float.infinity, -Float.infinity))
            else { return nil }
            (low, high) = (Swift.max(low, from), Swift.min(high, through))
        }
        return .float(low, high)
    }

    private static func bounds<T: BinaryFloatingPoint>(
        _ operation: Comparison.Operation, x: T, nothing: (T, T)
    ) -> (T, T)? {
        if x.isNaN { return nothing }
        switch operation {
        case .equal: return (x, x)
        case .less: return x == -.infinity ? nothing : (-.infinity, x.nextDown)
        case .lessOrEqual: return (-.infinity, x)
        case .greater: return x == .infinity ? nothing : (x.nextUp, .infinity)
        case .greaterOrEqual: return (x, .infinity)
        default: return nil
        }
    }
}

// MARK: - Neighbours

extension Timestamp {
    fileprivate var successor: Timestamp? { moved(by: 1) }
    fileprivate var predecessor: Timestamp? { moved(by: -1) }

    /// The neighbouring pair (seconds, nanoseconds) in numeric order. It need not be a valid date, which is harmless as
    /// the bound of a range.
    private func moved(by step: Int32) -> Timestamp? {
        var moved = self
        let (nanoseconds, overflow) = nanoseconds.addingReportingOverflow(step)
        if overflow { return nil }
        moved.nanoseconds = nanoseconds
        return moved
    }
}

extension UUIDBytes {
    fileprivate var successor: UUIDBytes? {
        low != .max ? UUIDBytes(high: high, low: low + 1) : high != .max ? UUIDBytes(high: high + 1, low: 0) : nil
    }
    fileprivate var predecessor: UUIDBytes? {
        low != 0 ? UUIDBytes(high: high, low: low - 1) : high != 0 ? UUIDBytes(high: high - 1, low: .max) : nil
    }
}

extension ObjectIDBytes {
    private var number: UInt128 { UInt128(words.0) << 64 | UInt128(words.1) << 32 | UInt128(words.2) }

    private init(_ number: UInt128) {
        self.init(
            a: UInt32(truncatingIfNeeded: number >> 64), b: UInt32(truncatingIfNeeded: number >> 32),
            c: UInt32(truncatingIfNeeded: number))
    }

    fileprivate var successor: ObjectIDBytes? {
        number >> 96 == 0 && number + 1 < 1 << 96 ? ObjectIDBytes(number + 1) : nil
    }
    fileprivate var predecessor: ObjectIDBytes? { number > 0 ? ObjectIDBytes(number - 1) : nil }
}
