extension Value {
    /// A form that is the same for all equal values of one type: decimals lose the zeros at their end.
    package var unified: Value {
        if case .decimal(let bits) = self { .decimal(bits.normalized) } else { self }
    }

    /// A form that is the same for all numbers of equal value, whatever their types. A binary NaN becomes `Double.nan`.
    /// A decimal NaN, and a value that is not a number, does not change.
    package var unifiedNumber: Value {
        switch self {
        case .float(let number): return Value.double(Double(number)).unifiedNumber
        // A NaN may have any sign and payload.
        case .double(let number) where number.isNaN: return .double(.nan)
        case .double(let number): return Int64(exactly: number).map { .int($0) } ?? self
        case .decimal(let number) where !number.isNaN:
            if let whole = number.wholePart.flatMap({ Int64(exactly: $0) }), Value.order(.int(whole), self) == 0 {
                return .int(whole)
            }
            let double = Value.double(number.double)
            return Value.order(double, self) == 0 ? double : .decimal(number.normalized)
        default: return self
        }
    }
}
