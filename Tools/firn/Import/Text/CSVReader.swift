/// Reads records of CSV as RFC 4180 describes it: fields between commas; a field in quotes may have commas, line ends
/// and doubled quotes.
enum CSVReader {
    /// A field: its text, whether it was in quotes, and where it begins in its record.
    struct Field {
        var text: [UInt8]
        var isQuoted: Bool
        var offset: Int

        /// Whether it has no value: it has nothing but blanks, and no quotes.
        var isEmpty: Bool { !isQuoted && text.allSatisfy(CSVReader.isBlank) }
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    /// The end of the record that begins at the first byte. See `RecordSource.next`.
    static func end(_ bytes: UnsafeRawBufferPointer, isLast: Bool, seen: inout RecordSource.Seen) -> Int? {
        // A quote within quotes is doubled, so a byte is within quotes if an odd number of quotes precedes it.
        while seen.count < bytes.count {
            let byte = bytes[seen.count]
            if byte == UInt8(ascii: "\"") {
                seen.isQuoted.toggle()
            } else if byte == 0x0A, !seen.isQuoted {
                return seen.count
            } else if byte == 0x0A {
                seen.lines += 1
            }
            seen.count += 1
        }
        return isLast && !bytes.isEmpty ? bytes.count : nil
    }

    /// Splits a record into its fields.
    static func fields(_ record: UnsafeRawBufferPointer) throws(InputFault) -> [Field] {
        var fields: [Field] = []
        var end = record.count
        if end > 0, record[end - 1] == 0x0D { end -= 1 }
        var offset = 0
        while true {
            let start = offset
            var field = Field(text: [], isQuoted: false, offset: start)
            if offset < end, record[offset] == UInt8(ascii: "\"") {
                field.isQuoted = true
                offset += 1
                while true {
                    guard offset < end else { throw InputFault("the quote that begins here does not end", at: start) }
                    let byte = record[offset]
                    offset += 1
                    if byte != UInt8(ascii: "\"") {
                        field.text.append(byte)
                    } else if offset < end, record[offset] == UInt8(ascii: "\"") {
                        field.text.append(byte)
                        offset += 1
                    } else {
                        break
                    }
                }
                guard offset == end || record[offset] == UInt8(ascii: ",") else {
                    throw InputFault("a comma or the end of the line should follow the quote", at: offset)
                }
            } else {
                while offset < end, record[offset] != UInt8(ascii: ",") {
                    guard record[offset] != UInt8(ascii: "\"") else {
                        throw InputFault("a quote within a field: put the field in quotes, and double it", at: offset)
                    }
                    guard record[offset] != 0x0D else {
                        throw InputFault(
                            "a carriage return within a field: put the field in quotes, or end lines with a line feed",
                            at: offset)
                    }
                    field.text.append(record[offset])
                    offset += 1
                }
            }
            fields.append(field)
            guard offset < end else { return fields }
            offset += 1
            if offset == end {
                fields.append(Field(text: [], isQuoted: false, offset: offset))
                return fields
            }
        }
    }
}

/// Reads lines: records of NDJSON.
enum LineReader {
    static func end(_ bytes: UnsafeRawBufferPointer, isLast: Bool, seen: inout RecordSource.Seen) -> Int? {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[seen.count...])
        if let found = rest.withMemoryRebound(to: UInt8.self, { $0.firstIndex(of: 0x0A) }) { return seen.count + found }
        seen.count = bytes.count
        return isLast && !bytes.isEmpty ? bytes.count : nil
    }
}
