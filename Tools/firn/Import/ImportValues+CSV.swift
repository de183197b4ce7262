import FirnBytes
import FirnCore

// MARK: CSV

extension ImportValues {
    /// Reads a field of CSV. An empty field is nil, or the empty collection. A field that has only blanks is empty,
    /// too.
    func read(_ column: ColumnSchema, _ field: CSVReader.Field) throws(InputFault) -> Parsed {
        let isEmpty = field.isEmpty
        if isEmpty, column.collection == .none {
            if column.isNullable || column.type == .link || column.type == .mixed { return .value(.null) }
            if column.type == .string { return .value(.string("")) }
            throw InputFault("the field of \(DisplayText.line(column.name)) is empty", at: field.offset)
        }
        if isEmpty { return column.collection == .map ? .map([]) : column.collection == .set ? .set([]) : .list([]) }
        func text() throws(InputFault) -> String {
            try Self.checkLength(field.text.count, at: field.offset)
            guard let text = String(validating: field.text, as: UTF8.self) else {
                throw InputFault("the field is not UTF-8", at: field.offset)
            }
            return text
        }
        if column.collection == .none {
            var scalar = column
            var linked: TableID?
            if column.type == .link, let target = column.target, let primaryKey = schema[target].primaryKey {
                scalar = schema[target].columns[primaryKey]
                linked = target
            }
            func result(_ value: Value) -> Parsed { linked.map { .link($0, .primaryKey(value)) } ?? .value(value) }
            if scalar.type == .string { return result(.string(try text())) }
            if scalar.type != .link, scalar.type != .mixed, let value = Self.scalar(scalar.type, try text()) {
                return result(value)
            }
        }
        // Everything else is JSON.
        do throws(InputFault) {
            return try json(field.text) { (reader) throws(InputFault) in
                let parsed = try read(column, &reader)
                try reader.end()
                return parsed
            }
        } catch {
            throw InputFault(
                "in the field of \(DisplayText.line(column.name)): \(error.text)", at: field.offset)
        }
    }

    private func json<T>(
        _ text: [UInt8], _ body: (inout JSONReader) throws(InputFault) -> T
    ) throws(InputFault) -> T {
        var result: Result<T, InputFault>?
        text.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            do throws(InputFault) { result = .success(try body(&reader)) } catch { result = .failure(error) }
        }
        return try result!.get()
    }
}
