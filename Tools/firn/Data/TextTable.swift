import FirnBytes
import FirnCore

/// Objects as a table for people: a line of names, and a line for each object. Values that are too long are shortened.
struct TextTable {
    private let table: TableID
    private let view: StoreView
    private let form: ObjectJSON
    private let columns: [(number: Int?, name: String, isNumber: Bool)]

    /// The number of objects whose values decide how wide the columns are.
    private static let sampleCount = 1_000
    private static let widthMax = 40
    private static let widthMin = 4

    init(table: TableID, view: StoreView, form: ObjectJSON) {
        self.table = table
        self.view = view
        self.form = form
        let description = view.schema[table]
        let own = description.columns.enumerated().filter { !$0.element.isRemoved }.map { number, column in
            (
                number as Int?, DisplayText.line(column.name),
                column.collection == .none && [.int, .float, .double, .decimal].contains(column.type)
            )
        }
        columns = (description.primaryKey == nil ? [(nil, "#", true)] : []) + own
    }

    func write(_ count: Int, width: Int, key: (Int) -> Int64, output: Output) throws {
        guard count > 0 else { return }
        var sample: [[String]] = []
        for index in 0..<min(count, Self.sampleCount) { sample.append(try cells(key(index))) }
        var widths = columns.indices.map { column in
            min(
                Self.widthMax,
                max(
                    DisplayWidth.of(columns[column].name),
                    sample.reduce(0) { max($0, DisplayWidth.of($1[column])) }))
        }
        // The widest columns are narrowed first.
        while widths.reduce(0, +) + 2 * (widths.count - 1) > width,
            let widest = widths.indices.max(by: { widths[$0] < widths[$1] }), widths[widest] > Self.widthMin
        {
            widths[widest] -= 1
        }
        try view.checkDamage()
        try output.line(line(columns.map(\.name), widths), .bold)
        for index in 0..<count {
            if index % 1_000 == 0 { try Interrupts.check() }
            let cells = try index < sample.count ? sample[index] : cells(key(index))
            try view.checkDamage()
            try output.line(line(cells, widths))
        }
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var line = ""
        for (index, cell) in cells.enumerated() {
            let isLong = DisplayWidth.of(cell) > widths[index]
            let shown = isLong ? DisplayWidth.prefix(cell, widths[index] - 1) + "…" : cell[...]
            let space = String(repeating: " ", count: max(0, widths[index] - DisplayWidth.of(shown)))
            line += columns[index].isNumber ? space + shown : shown + space
            if index + 1 < cells.count { line += "  " }
        }
        while line.last == " " { line.removeLast() }
        return line
    }

    private func cells(_ key: Int64) throws -> [String] {
        let rows = view.snapshot.table(table)
        guard let (leaf, row) = rows.find(key) else { return columns.map { _ in "" } }
        return try columns.map { column in
            guard let number = column.number else { return "#\(key)" }
            let value = rows.value(number, leaf: leaf, row: row)
            if case .null = value { return "" }
            var bytes: [UInt8] = []
            if case .string(let text) = value {
                // Only as many characters as can be shown, so that a long text costs no more than a short one.
                return DisplayText.line(String(text.prefix(Self.widthMax + 1)))
            }
            try form.append(value, view.schema[table].columns[number], to: &bytes)
            var text = String(decoding: bytes.prefix(4 * Self.widthMax), as: UTF8.self)
            if text == "null" { return "" }
            if text.hasPrefix("\""), text.hasSuffix("\"") { text = String(text.dropFirst().dropLast()) }
            return DisplayText.line(text)
        }
    }
}
