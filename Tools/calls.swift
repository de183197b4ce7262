// Prints what is wrong with calls and functions of Swift files: `Tools/check labels` and `Tools/check stops` run it.
//
//     swift Tools/calls.swift labels FOLDER...    functions that take three or more arguments without a label
//     swift Tools/calls.swift stops FOLDER...     what stops the program without a message that begins with "Firn: "
//
// An operator between two sides may stand without labels, as in `compare(a, .less, b)`: the middle argument's name is
// `operation`, `symbol` or `word`. An `assert` may stand without a message.
import Foundation

/// The source with spaces instead of comments and string literals, including the code within strings.
func blanked(_ source: [UInt8]) -> [UInt8] {
    var code = source
    var at = 0
    func begins(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        return at + count <= source.count && (0..<count).allSatisfy { source[at + $0] == text.utf8Start[$0] }
    }
    func blank(_ count: Int = 1) {
        for index in at..<min(at + count, source.count) where source[index] != UInt8(ascii: "\n") {
            code[index] = UInt8(ascii: " ")
        }
        at += count
    }
    /// Blanks a string literal, whose quotes are `quotes`.
    func literal(_ quotes: StaticString) {
        blank(quotes.utf8CodeUnitCount)
        while at < source.count, !begins(quotes) {
            if begins("\\(") {
                blank(2)
                var depth = 1
                while at < source.count, depth > 0 {
                    if begins("\"") {
                        literal("\"")
                        continue
                    }
                    if begins("(") { depth += 1 }
                    if begins(")") { depth -= 1 }
                    blank()
                }
            } else {
                blank(begins("\\") ? 2 : 1)
            }
        }
        blank(quotes.utf8CodeUnitCount)
    }
    while at < source.count {
        if begins("//") {
            while at < source.count, source[at] != UInt8(ascii: "\n") { blank() }
        } else if begins("/*") {
            while at < source.count, !begins("*/") { blank() }
        } else if begins("#\"") {
            while at < source.count, !begins("\"#") { blank() }
            blank(2)
        } else if begins("\"\"\"") {
            literal("\"\"\"")
        } else if begins("\"") {
            literal("\"")
        } else {
            at += 1
        }
    }
    return code
}

/// The ranges of the arguments in the parentheses that open at an index.
func arguments(in code: [UInt8], at opening: Int) -> [Range<Int>] {
    var arguments: [Range<Int>] = []
    var depth = 0
    var start = opening + 1
    for index in opening..<code.count {
        switch code[index] {
        case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
        case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
        case UInt8(ascii: ",") where depth == 1:
            arguments.append(start..<index)
            start = index + 1
        default: continue
        }
        guard depth == 0 else { continue }
        arguments.append(start..<index)
        break
    }
    return arguments
}

/// A Swift file.
struct Source {
    let bytes: [UInt8]
    let code: [UInt8]
    /// The code. One character stands for each byte, so that offsets are the same as in the file.
    let text: String

    init(_ path: String) throws {
        bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        code = blanked(bytes)
        text = String(code.map { $0 < 0x80 ? Character(Unicode.Scalar($0)) : "x" })
    }

    func matches(_ expression: NSRegularExpression) -> [NSTextCheckingResult] {
        expression.matches(in: text, range: NSRange(location: 0, length: code.count))
    }

    func line(at offset: Int) -> Int { code[..<offset].count { $0 == UInt8(ascii: "\n") } + 1 }

    /// The text of a group of a match; nil if it did not match.
    func text(_ match: NSTextCheckingResult, _ group: Int) -> String? {
        Range(match.range(at: group), in: text).map { String(text[$0]) }
    }
}

let declaration = try NSRegularExpression(
    pattern: #"(?<![.\w])(?:func\s+([^\s(<]+)|(init)[?!]?|(subscript))\s*(?:<[^()]*?>)?\("#)
/// An argument without a label, and its name.
let unlabelled = try NSRegularExpression(pattern: #"^\s*(?:@\w+(?:\([^)]*\))?\s+)*_\s+(\w+)\s*:"#)
let operators: Set<String> = ["operation", "symbol", "word"]
let stop = try NSRegularExpression(
    pattern: #"(?<![.\w])(fatalError|preconditionFailure|precondition|assertionFailure|assert)\("#)

/// What is wrong with the functions that a file declares, and how many it declares.
func checkLabels(_ source: Source, _ path: String) -> (count: Int, faults: [String]) {
    let matches = source.matches(declaration)
    let faults = matches.compactMap { match -> String? in
        let names = arguments(in: source.code, at: match.range.upperBound - 1).compactMap { range -> String? in
            let argument = String(decoding: source.code[range], as: UTF8.self)
            return unlabelled.firstMatch(in: argument, range: NSRange(argument.startIndex..., in: argument))
                .flatMap { Range($0.range(at: 1), in: argument) }.map { String(argument[$0]) }
        }
        guard names.count > 2, !operators.contains(names[1]) else { return nil }
        let name = (1...3).lazy.compactMap { source.text(match, $0) }.first ?? ""
        let line = source.line(at: match.range.location)
        return "\(path):\(line): \(name) takes \(names.joined(separator: ", ")) without labels"
    }
    return (matches.count, faults)
}

/// What is wrong with the messages with which a file stops the program, and how often it does.
func checkStops(_ source: Source, _ path: String) -> (count: Int, faults: [String]) {
    let matches = source.matches(stop)
    let faults = matches.compactMap { match -> String? in
        guard let name = source.text(match, 1) else { return nil }
        let all = arguments(in: source.code, at: match.range.upperBound - 1)
        let takesCondition = name == "precondition" || name == "assert"
        let line = source.line(at: match.range.location)
        guard let message = all.dropFirst(takesCondition ? 1 : 0).first else {
            return name == "assert" ? nil : "\(path):\(line): \(name) has no message"
        }
        let text = String(decoding: source.bytes[message], as: UTF8.self).trimmingCharacters(
            in: .whitespacesAndNewlines)
        let isFirns = ["\"Firn: ", "\"\"\"\n"].contains { text.hasPrefix($0) }
        return isFirns ? nil : "\(path):\(line): \(name) says \(text)"
    }
    return (matches.count, faults)
}

func exit(saying text: String) -> Never {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
    exit(2)
}

let check: (Source, String) -> (count: Int, faults: [String])
switch CommandLine.arguments.dropFirst().first {
case "labels": check = checkLabels
case "stops": check = checkStops
default: exit(saying: "usage: swift Tools/calls.swift labels|stops FOLDER...")
}
var count = 0
var faults: [String] = []
for folder in CommandLine.arguments.dropFirst(2) {
    guard let files = FileManager.default.enumerator(atPath: folder) else { exit(saying: "\(folder): no such folder") }
    for case let name as String in files where name.hasSuffix(".swift") && !name.contains(".build/") {
        let path = folder + "/" + name
        let found = check(try Source(path), path)
        count += found.count
        faults += found.faults
    }
}
guard count > 0 else { exit(saying: "nothing was found to be checked") }
for fault in faults { print(fault) }
exit(faults.isEmpty ? 0 : 1)
