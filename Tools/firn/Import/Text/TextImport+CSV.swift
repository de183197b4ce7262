import FirnBytes
import FirnCore

// MARK: CSV

extension TextImport {
    func forEachRow(_ form: ImportValues, table: TableID, body: Body) throws {
        var columns: [Int?]?
        let known = names(table)
        try forEachRecord(skipsEmpty: { columns?.count != 1 }) { record, line in
            let fields = try CSVReader.fields(record)
            guard let columns else {
                // Names that differ only in their Unicode normalization are the same.
                var seen: Set<String> = []
                columns = try fields.map { (field) throws(InputFault) in
                    let name = try Self.name(field)
                    guard seen.insert(name).inserted else {
                        throw InputFault("the name is there twice", at: field.offset)
                    }
                    if name == "$object" { return nil }
                    guard let column = known.columns[name] else {
                        throw unknown(DisplayText.name(name), table, at: field.offset)
                    }
                    return column
                }
                return true
            }
            guard fields.count == columns.count else {
                throw InputFault("the line has \(fields.count) fields, but the first one \(columns.count)", at: 0)
            }
            known.clear()
            var number: Int64?
            for (column, field) in zip(columns, fields) {
                if let column {
                    if column == schema[table].primaryKey, field.isEmpty,
                        !schema[table].columns[column].isNullable
                    {
                        throw InputFault(
                            "the primary key is missing; the empty text as a key stands in quotes", at: field.offset)
                    }
                    known.values[column] = try form.read(known.descriptions[column], field)
                } else {
                    number = Int64(String(decoding: field.text, as: UTF8.self)).flatMap { $0 >= 0 ? $0 : nil }
                    if number == nil { throw InputFault("$object should be a number of an object", at: field.offset) }
                }
            }
            try body(table, number, &known.values, line)
            return true
        }
    }

    /// The name of a property in the first line.
    static func name(_ field: CSVReader.Field) throws(InputFault) -> String {
        guard let name = String(validating: field.text, as: UTF8.self), !field.text.contains(0) else {
            throw InputFault("the name is not UTF-8; convert the text, with iconv for example", at: field.offset)
        }
        return name
    }
}
