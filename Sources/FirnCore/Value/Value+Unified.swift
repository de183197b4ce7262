extension Value {
    /// The form that all equal values have: decimals without the zeros at their end.
    package var unified: Value {
        if case .decimal(let bits) = self { .decimal(bits.normalized) } else { self }
    }

    /// The form that all numbers of one value have, whatever their types. A NaN, and what is no number, stays as it is.
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
