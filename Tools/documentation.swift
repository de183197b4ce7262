// Prints the public symbols of a module without documentation, and throwing symbols whose documentation does not say
// what they throw. `Tools/check documentation` runs it.
//
//   swift Tools/documentation.swift GRAPHS SOURCES
//
// GRAPHS is a folder with the module's symbol graphs, SOURCES the folder with its source files. The graphs lack
// functions with a label that begins with an underscore, so these are taken from the sources.
//
// Other names that begin with an underscore exist only for inlining, and are not documented for users.
import Foundation

struct Graph: Decodable {
    struct Symbol: Decodable {
        struct Comment: Decodable { let lines: [Line] }
        struct Line: Decodable { let text: String }
        struct Fragment: Decodable {
            let kind: String
            let spelling: String
        }
        struct Location: Decodable {
            struct Position: Decodable { let line: Int }
            let uri: String
            let position: Position
        }
        let pathComponents: [String]
        let docComment: Comment?
        let declarationFragments: [Fragment]?
        let location: Location?
    }
    let symbols: [Symbol]
}

extension Graph.Symbol {
    var isHidden: Bool { pathComponents.contains { $0.drop { $0 == "." }.hasPrefix("_") } }
    var name: String { pathComponents.joined(separator: ".") }
    var text: [String] { docComment?.lines.map(\.text) ?? [] }
    var throwsErrors: Bool {
        declarationFragments?.contains { $0.kind == "keyword" && $0.spelling == "throws" } ?? false
    }
    var whereItIs: String { location.map { "\(URL(string: $0.uri)?.path ?? $0.uri):\($0.position.line + 1): " } ?? "" }
}

/// Whether a comment says what is thrown, outside of its examples.
func saysWhatIsThrown(_ lines: [String]) -> Bool {
    var isExample = false
    for line in lines {
        if line.drop(while: { $0 == " " }).hasPrefix("```") { isExample.toggle() }
        if !isExample, line.lowercased().contains("throw") { return true }
    }
    return false
}

var faults: [String] = []
/// Where the symbols of the graphs lie: a file's path, a colon, a line's number from 1 on.
var found: Set<String> = []

func check(_ symbol: Graph.Symbol) {
    if symbol.text.isEmpty {
        faults.append("\(symbol.whereItIs)\(symbol.name) has no documentation")
    } else if symbol.throwsErrors, !saysWhatIsThrown(symbol.text) {
        faults.append("\(symbol.whereItIs)\(symbol.name) throws, and its documentation does not say what")
    }
}

let graphs = URL(fileURLWithPath: CommandLine.arguments[1])
for file in try FileManager.default.contentsOfDirectory(at: graphs, includingPropertiesForKeys: nil)
where file.lastPathComponent.hasSuffix(".symbols.json") {
    let graph = try JSONDecoder().decode(Graph.self, from: Data(contentsOf: file))
    for symbol in graph.symbols {
        // Symbols that the compiler has made have no location and cannot be documented.
        guard let location = symbol.location else { continue }
        found.insert("\(URL(string: location.uri)?.path ?? location.uri):\(location.position.line + 1)")
        if !symbol.isHidden { check(symbol) }
    }
}
// Otherwise, empty graphs would pass.
if found.count < 100 { faults.append("only \(found.count) public symbols were found: the graphs are not the module's") }

/// Checks a public declaration that begins in a line of a source file.
func check(_ lines: [String], line: Int, path: String) {
    guard !found.contains("\(path):\(line + 1)") else { return }
    var first = line
    while first > 0, lines[first - 1].hasPrefix("@") { first -= 1 }
    var comment: [String] = []
    while first > 0, lines[first - 1].hasPrefix("///") {
        first -= 1
        comment.insert(String(lines[first].dropFirst(3)), at: 0)
    }
    // A declaration ends where its body begins.
    let end = lines[line...].firstIndex { $0.hasSuffix("{") || $0.hasSuffix("}") || $0.isEmpty } ?? line
    if comment.isEmpty {
        faults.append("\(path):\(line + 1): the declaration has no documentation")
    } else if lines[line...end].contains(where: { $0.contains(" throws ") }), !saysWhatIsThrown(comment) {
        faults.append("\(path):\(line + 1): the declaration throws, and its documentation does not say what")
    }
}

let sources = URL(fileURLWithPath: CommandLine.arguments[2])
let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
while let file = files?.nextObject() as? URL {
    guard file.pathExtension == "swift" else { continue }
    let lines = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
        .map { $0.trimmingCharacters(in: .whitespaces) }
    for (line, text) in lines.enumerated() {
        let declaration = text.split(separator: " ").first { !$0.hasPrefix("@") }
        guard declaration == "public" || declaration == "open", !text.contains(" import ") else { continue }
        // Hidden names are in the graphs, and were left alone there.
        check(lines, line: line, path: file.path)
    }
}

for fault in faults.sorted() { print(fault) }
exit(faults.isEmpty ? 0 : 1)
