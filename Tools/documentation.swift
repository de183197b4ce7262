// Reads the symbol graphs of a module and prints the public symbols without documentation, and those that throw and do
// not say what: `Tools/check documentation` runs it.
//
//   swift Tools/documentation.swift FOLDER
//
// Names that begin with an underscore are for inlining alone: they are not documented to users.
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
    var text: String { docComment?.lines.map(\.text).joined(separator: "\n") ?? "" }
    var throwsErrors: Bool {
        declarationFragments?.contains { $0.kind == "keyword" && $0.spelling == "throws" } ?? false
    }
    var whereItIs: String { location.map { "\(URL(string: $0.uri)?.path ?? $0.uri):\($0.position.line + 1): " } ?? "" }
}

let folder = URL(fileURLWithPath: CommandLine.arguments[1])
let graphs = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    .filter { $0.lastPathComponent.hasSuffix(".symbols.json") }
var count = 0
var faults: [String] = []
for file in graphs {
    let graph = try JSONDecoder().decode(Graph.self, from: Data(contentsOf: file))
    for symbol in graph.symbols where !symbol.isHidden {
        count += 1
        if symbol.text.isEmpty {
            faults.append("\(symbol.whereItIs)\(symbol.name) has no documentation")
        } else if symbol.throwsErrors, !symbol.text.lowercased().contains("throw") {
            faults.append("\(symbol.whereItIs)\(symbol.name) throws, and its documentation does not say what")
        }
    }
}
for fault in faults.sorted() { print(fault) }
// An empty graph would say that all is well.
if count < 100 { print("only \(count) public symbols were found: the symbol graph is not the module's") }
exit(faults.isEmpty && count >= 100 ? 0 : 1)
