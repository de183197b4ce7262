import FirnBytes

extension RecoverReport {
    private func name(_ path: SchemaPath) -> String {
        let table = schema.name(path.table)
        return path.column.map { "\(table).\(schema.name(path.table, $0))" } ?? table
    }

    /// The lines that a person reads.
    var text: [String] {
        var lines: [String] = []
        func list(_ losses: Losses, one: String, many: String, what: String) {
            for (path, loss) in losses.all {
                let amount = Amount.of(loss.count, one: one, many: many)
                lines.append("  \(DisplayText.line(name(path)))  \(amount) \(what)\(loss.text)")
            }
        }
        for (number, table) in schema.tables.enumerated() where !table.isRemoved {
            lines.append(
                "  \(DisplayText.line(table.name))  \(Amount.of(recovered[number] ?? 0, one: "object")) recovered")
        }
        list(lost, one: "object", many: "objects", what: "lost")
        for table in unknown.sorted() {
            lines.append(
                "  \(schema.shownName(table))  further objects of the checkpoint may be lost, how many is not known"
            )
        }
        for (path, version, objects) in outdated {
            let amount = Amount.of(objects.count, one: path.column == nil ? "object" : "value")
            let what = "as of version \(version), since newer states of them are lost"
            lines.append("  \(DisplayText.line(name(path)))  \(amount) \(what)\(objects.text)")
        }
        list(lostValues, one: "value", many: "values", what: "lost, which are as in a new object")
        list(
            doubtful, one: "collection", many: "collections",
            what: "edited after a lost version, which may lack its edits")
        list(cutLinks, one: "link", many: "links", what: "to lost objects removed")
        if isEndLost { lines.append("  the end of the log is missing, and with it any later versions") }
        if !versions.isEmpty {
            let ranges = versions.map { $0.words() }.joined(separator: ", ")
            lines.append("  changes of these versions are lost, or a part of them: " + ranges)
        }
        return lines
    }

    private func json(_ path: SchemaPath) -> [(String, JSON)] {
        [
            ("class", .string(schema.name(path.table))),
            ("property", path.column.map { .string(schema.name(path.table, $0)) } ?? .null),
        ]
    }

    /// The members of the object that a program reads.
    var json: [(String, JSON)] {
        func list(_ losses: Losses) -> JSON {
            .array(losses.all.map { path, loss in .object(json(path) + loss.json) })
        }
        let classes = schema.tables.enumerated().filter { !$0.element.isRemoved }.map { number, table in
            JSON.object([("class", .string(table.name)), ("recovered", .int(recovered[number] ?? 0))])
        }
        let outdated = outdated.map { path, version, objects in
            JSON.object(json(path) + [("version", .int(version))] + objects.json)
        }
        return [
            ("complete", .bool(isComplete)), ("classes", .array(classes)), ("lostObjects", list(lost)),
            ("maybeLost", .array(unknown.sorted().map { .string(schema.name($0)) })), ("outdated", .array(outdated)),
            ("lostValues", list(lostValues)), ("doubtful", list(doubtful)), ("cutLinks", list(cutLinks)),
            ("endLost", .bool(isEndLost)),
            ("lostVersions", .array(versions.map { .array([.int($0.lowerBound), .int($0.upperBound)]) })),
        ]
    }
}

extension Loss {
    fileprivate var text: String {
        guard !keys.isEmpty else { return "" }
        let shown = keys.prefix(8).map { $0.words("#") }
        return ": " + shown.joined(separator: ", ") + (keys.count > 8 || !areAllListed ? ", …" : "")
    }

    fileprivate var json: [(String, JSON)] {
        [
            ("count", .int(count)),
            ("keys", .array(keys.map { .array([.int($0.lowerBound), .int($0.upperBound)]) })),
            ("allListed", .bool(areAllListed)),
        ]
    }
}

extension ClosedRange where Bound: BinaryInteger {
    /// `7`, or `7 to 9`, with a sign before each number.
    fileprivate func words(_ sign: String = "") -> String {
        lowerBound == upperBound ? "\(sign)\(lowerBound)" : "\(sign)\(lowerBound) to \(sign)\(upperBound)"
    }
}
