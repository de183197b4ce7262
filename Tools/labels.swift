// Prints the functions that take three or more arguments without a label: `Tools/check labels` runs it.
//
//   swift Tools/labels.swift FOLDER...
//
// An operator between two sides may stand without labels, as in `compare(a, .less, b)`: the middle argument's name is
// `operation`, `symbol` or `word`.
import Foundation

/// The source without what comments and string literals hold: spaces stand there. Code within strings is left out.
func code(of source: [UInt8]) -> [UInt8] {
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

/// The arguments in the parentheses that open at an index.
func arguments(in code: [UInt8], at opening: Int) -> [String] {
    var arguments: [String] = []
    var depth = 0
    var start = opening + 1
    for index in opening..<code.count {
        switch code[index] {
        case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
        case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
        case UInt8(ascii: ",") where depth == 1:
            arguments.append(String(decoding: code[start..<index], as: UTF8.self))
            start = index + 1
        default: continue
        }
        guard depth == 0 else { continue }
        arguments.append(String(decoding: code[start..<index], as: UTF8.self))
        break
    }
    return arguments
}

let declaration = try NSRegularExpression(
    pattern: #"(?<![.\w])(?:func\s+([^\s(<]+)|(init)[?!]?|(subscript))\s*(?:<[^()]*?>)?\("#)
/// An argument without a label, and its name.
let unlabelled = try NSRegularExpression(pattern: #"^\s*(?:@\w+(?:\([^)]*\))?\s+)*_\s+(\w+)\s*:"#)
let operators: Set<String> = ["operation", "symbol", "word"]

var count = 0
var faults: [String] = []
for folder in CommandLine.arguments.dropFirst() {
    guard let files = FileManager.default.enumerator(atPath: folder) else {
        FileHandle.standardError.write(Data("\(folder): no such folder\n".utf8))
        exit(2)
    }
    for case let name as String in files where name.hasSuffix(".swift") && !name.contains(".build/") {
        let path = folder + "/" + name
        let code = code(of: [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))))
        // One byte stands for each byte, so that the offsets are those of the file.
        let text = String(code.map { $0 < 0x80 ? Character(Unicode.Scalar($0)) : "x" })
        for match in declaration.matches(in: text, range: NSRange(location: 0, length: code.count)) {
            count += 1
            let names = arguments(in: code, at: match.range.location + match.range.length - 1)
                .compactMap { argument -> String? in
                    let whole = NSRange(argument.startIndex..., in: argument)
                    return unlabelled.firstMatch(in: argument, range: whole)
                        .flatMap { Range($0.range(at: 1), in: argument) }.map { String(argument[$0]) }
                }
            guard names.count > 2, !operators.contains(names[1]) else { continue }
            let line = code[..<match.range.location].count { $0 == UInt8(ascii: "\n") } + 1
            let name = (1...3).lazy.compactMap { Range(match.range(at: $0), in: text) }.first.map { text[$0] } ?? ""
            faults.append("\(path):\(line): \(name) takes \(names.joined(separator: ", ")) without labels")
        }
    }
}
guard count > 0 else {
    FileHandle.standardError.write(Data("no function was found\n".utf8))
    exit(2)
}
for fault in faults { print(fault) }
exit(faults.isEmpty ? 0 : 1)
