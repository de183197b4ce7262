import FirnBytes
import FirnCore

// MARK: CSV

extension TextImport {
    func forEachRow(_ form: ImportValues, _ table: TableID, _ body: Body) throws {
        var columns: [Int?]?
        let known = names(table)
        try forEachRecord(skipsEmpty: { columns?.count != 1 }) { record, line in
            let fields = try CSVReader.fields(record)
            guard let columns else {
                var seen: Set<[UInt8]> = []
                for field in fields where !seen.insert(field.text).inserted {
                    throw InputFault("the name is there twice", at: field.offset)
                }
                columns = try fields.map { (field) throws(InputFault) in
                    let name = String(decoding: field.text, as: UTF8.self)
                    if name == "$object" { return nil }
                    guard let column = known.columns[name] else {
                        throw unknown(DisplayText.line(name), table, at: field.offset)
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
}
