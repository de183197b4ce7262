// Checks that the code in the articles is code that a test compiles and runs. `Tools/check articles` runs it.
//
//   swift Tools/articles.swift CATALOG TESTS
//
// Each block of Swift in CATALOG/NAME.md must be a region of a test: the lines between `// article: NAME` and `// end`,
// whatever their indentation. The regions of an article stand in the order of its blocks. The first block of an article
// needs no region if it begins with an import. It has what the others need, and `Tools/check pages` compiles and runs
// it. The exit status is 1 if a block differs.
import Foundation

struct Block {
    let article: String
    let line: Int
    let file: String
    let text: [String]
}

/// The lines without the indentation that all of them have, and without blank lines at the ends.
func dedented(_ lines: [String]) -> [String] {
    var lines = lines.map { $0.allSatisfy(\.isWhitespace) ? "" : $0 }
    while lines.first == "" { lines.removeFirst() }
    while lines.last == "" { lines.removeLast() }
    let indentation = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
    return lines.map { String($0.dropFirst(indentation)) }
}

func files(_ folder: String, _ suffix: String) -> [String] {
    let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    return names.filter { $0.hasSuffix(suffix) }.sorted().map { folder + "/" + $0 }
}

func lines(_ file: String) -> [String] {
    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
        FileHandle.standardError.write(Data("\(file) can't be read\n".utf8))
        exit(1)
    }
    return text.components(separatedBy: "\n")
}

/// The blocks of a file. Each one begins behind a line for which `name` returns an article, and ends before the line
/// `end`.
func blocks(_ file: String, upTo end: String, _ name: (String) -> String?) -> [Block] {
    var result: [Block] = []
    var open: (article: String, line: Int, text: [String])?
    for (number, line) in lines(file).enumerated() {
        let trimmed = line.trimmingCharacters(in: .whitespaces)
        if let block = open {
            if trimmed == end {
                result.append(Block(article: block.article, line: block.line, file: file, text: dedented(block.text)))
                open = nil
            } else {
                open?.text.append(line)
            }
        } else if let article = name(trimmed) {
            open = (article, number + 1, [])
        }
    }
    return result
}

guard CommandLine.arguments.count == 3 else {
    FileHandle.standardError.write(Data("usage: swift Tools/articles.swift CATALOG TESTS\n".utf8))
    exit(2)
}
let articles = files(CommandLine.arguments[1], ".md").flatMap { file in
    let name = URL(fileURLWithPath: file).deletingPathExtension().lastPathComponent
    let found = blocks(file, upTo: "```") { $0 == "```swift" ? name : nil }
    let isSetUp = found.first?.text.first?.hasPrefix("import ") == true
    return isSetUp ? Array(found.dropFirst()) : found
}
let regions = files(CommandLine.arguments[2], ".swift").flatMap { file in
    blocks(file, upTo: "// end") { $0.hasPrefix("// article: ") ? String($0.dropFirst(12)) : nil }
}
var faults: [String] = []
for name in Set(articles.map(\.article)).union(regions.map(\.article)).sorted() {
    let (written, tested) = (articles.filter { $0.article == name }, regions.filter { $0.article == name })
    for (block, region) in zip(written, tested) where block.text != region.text {
        let line = zip(block.text, region.text).first { $0 != $1 }?.0 ?? "their lengths"
        faults.append("\(block.file):\(block.line) differs from \(region.file):\(region.line): \(line)")
    }
    for block in written.dropFirst(tested.count) {
        faults.append(
            "\(block.file):\(block.line) is in no test: write it between \"// article: \(name)\" and \"// end\"")
    }
    for region in tested.dropFirst(written.count) {
        faults.append("\(region.file):\(region.line) is in no article: \(name).md has fewer blocks")
    }
}
for fault in faults { FileHandle.standardError.write(Data((fault + "\n").utf8)) }
exit(faults.isEmpty ? 0 : 1)
