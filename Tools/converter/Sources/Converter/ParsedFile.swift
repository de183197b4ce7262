import SwiftParser
import SwiftSyntax

/// A file and its syntax.
final class ParsedFile {
    let name: String
    let text: String
    let tree: SourceFileSyntax
    private let bytes: [UInt8]
    private let lines: SourceLocationConverter
    /// What ends the file's lines.
    let lineEnd: String
    /// Whether the names of RealmSwift are known in it.
    let importsRealm: Bool

    init(name: String, text: String) {
        self.name = name
        self.text = text
        bytes = Array(text.utf8)
        tree = Parser.parse(source: text)
        lines = SourceLocationConverter(fileName: name, tree: tree)
        let firstLine = bytes.prefix { $0 != UInt8(ascii: "\n") }
        lineEnd = firstLine.last == UInt8(ascii: "\r") && firstLine.count < bytes.count ? "\r\n" : "\n"
        importsRealm = tree.statements.contains { statement in
            guard let module = statement.item.as(ImportDeclSyntax.self)?.path.first?.name.text else { return false }
            return TypeTable.modules.contains(module)
        }
    }

    /// The line of a piece of syntax.
    func line(of syntax: some SyntaxProtocol) -> Int {
        lines.location(for: syntax.positionAfterSkippingLeadingTrivia).line
    }

    /// The line of the first error of syntax.
    var firstErrorLine: Int {
        let finder = ErrorFinder(viewMode: .all)
        finder.walk(tree)
        return finder.position.map { lines.location(for: $0).line } ?? 1
    }

    subscript(range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// Whether a comment stands between two words.
    func hasComment(_ range: Range<Int>) -> Bool { Gap(self[range]).hasComment }

    /// The spaces and tabs at the start of the line in which an offset lies.
    func indentation(at offset: Int) -> String {
        let start = lineStart(offset)
        return self[start..<(bytes[start..<offset].firstIndex { !Self.isBlank($0) } ?? offset)]
    }

    /// Whether only space stands before an offset in its line.
    func startsLine(_ offset: Int) -> Bool { bytes[lineStart(offset)..<offset].allSatisfy(Self.isBlank) }

    /// Whether only space stands behind an offset in its line.
    func endsLine(_ offset: Int) -> Bool {
        for byte in bytes[offset...] {
            if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") { return true }
            if !Self.isBlank(byte) { return false }
        }
        return true
    }

    /// The offset behind the spaces and tabs that follow an offset.
    func skipBlanks(_ offset: Int) -> Int { bytes[offset...].firstIndex { !Self.isBlank($0) } ?? bytes.count }

    /// One more level of indentation than a line has.
    func deeper(than indentation: String) -> String {
        let unit =
            indentation.first.map { $0 == "\t" ? "\t" : "    " }
            ?? (bytes.indices.contains { bytes[$0] == UInt8(ascii: "\t") && startsLine($0) } ? "\t" : "    ")
        return indentation + unit
    }

    private func lineStart(_ offset: Int) -> Int {
        (bytes[..<offset].lastIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }).map { $0 + 1 } ?? 0
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}

/// Finds the first error of syntax.
private final class ErrorFinder: SyntaxAnyVisitor {
    var position: AbsolutePosition?

    override func visitAny(_ node: Syntax) -> SyntaxVisitorContinueKind {
        guard position == nil, node.hasError else { return .skipChildren }
        if node.is(UnexpectedNodesSyntax.self) { position = node.positionAfterSkippingLeadingTrivia }
        return .visitChildren
    }

    override func visit(_ token: TokenSyntax) -> SyntaxVisitorContinueKind {
        guard position == nil, token.hasError else { return .skipChildren }
        // A word that is missing belongs behind the one before.
        position =
            token.presence == .missing
            ? token.previousToken(viewMode: .sourceAccurate)?.endPositionBeforeTrailingTrivia ?? token.position
            : token.positionAfterSkippingLeadingTrivia
        return .skipChildren
    }
}
