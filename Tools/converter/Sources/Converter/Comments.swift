import SwiftSyntax

/// The text between two words: spaces, line ends and comments.
struct Gap {
    var text: String

    init(_ text: String) { self.text = text }

    // Nothing but comments holds a slash here.
    var hasComment: Bool { text.unicodeScalars.contains("/") }

    var hasLineEnd: Bool { text.unicodeScalars.contains { $0 == "\n" || $0 == "\r" } }

    /// Whether a line comment is the last of it.
    var endsWithLineComment: Bool {
        var (isLine, depth, before): (Bool, Int, Unicode.Scalar) = (false, 0, " ")
        for scalar in withoutTrailingSpace.text.unicodeScalars {
            let pair = (before, scalar)
            before = scalar
            switch pair {
            case (_, "\n"), (_, "\r"): isLine = false
            case _ where isLine: break
            case ("/", "*"): (depth, before) = (depth + 1, " ")
            case ("*", "/") where depth > 0: (depth, before) = (depth - 1, " ")
            case ("/", "/") where depth == 0: isLine = true
            default: break
            }
        }
        return isLine
    }

    var startsWithLineEnd: Bool {
        text.unicodeScalars.first { $0 != " " && $0 != "\t" }.map { $0 == "\n" || $0 == "\r" } ?? false
    }

    /// What stands behind the last line end.
    var lastLine: Gap {
        let scalars = text.unicodeScalars
        let end = scalars.lastIndex { $0 == "\n" || $0 == "\r" }
        return Gap(String(scalars[(end.map { scalars.index(after: $0) } ?? scalars.startIndex)...]))
    }

    /// The text from the first comment.
    var withoutLeadingSpace: Gap { Gap(String(text.unicodeScalars.drop { Self.isSpace($0) })) }

    var withoutTrailingSpace: Gap {
        var scalars = text.unicodeScalars
        while let last = scalars.last, Self.isSpace(last) { scalars.removeLast() }
        return Gap(String(scalars))
    }

    /// The space before the first comment.
    private var leadingSpace: Gap { Gap(String(text.unicodeScalars.prefix { Self.isSpace($0) })) }

    /// What stays between two words when the one between this gap and the next goes.
    func merged(with next: Gap) -> Gap {
        guard next.hasComment else { return text.isEmpty ? next : self }
        guard next.leadingSpace.hasLineEnd else { return Gap(text + next.withoutLeadingSpace.text) }
        return hasComment ? Gap(withoutTrailingSpace.text + next.text) : next
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool { " \t\r\n".unicodeScalars.contains(scalar) }
}

extension SyntaxProtocol {
    /// The comments within the syntax, between its first word and its last.
    var innerComments: [String] {
        var comments: [String] = []
        let tokens = Array(tokens(viewMode: .sourceAccurate))
        for (number, token) in tokens.enumerated() {
            if number > 0 { comments += token.leadingTrivia.comments }
            if number < tokens.count - 1 { comments += token.trailingTrivia.comments }
        }
        return comments
    }
}

extension Trivia {
    var comments: [String] {
        compactMap { piece in
            switch piece {
            case .lineComment(let text), .blockComment(let text), .docLineComment(let text),
                .docBlockComment(let text):
                return text
            default: return nil
            }
        }
    }
}
