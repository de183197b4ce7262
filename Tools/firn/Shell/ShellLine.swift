/// A line of `firn shell`, split into the arguments of a subcommand.
///
/// ```
/// info                                 any subcommand, without the store
/// query Dog WHERE name == "Rex"        a query needs no quotes around it
/// Dog WHERE name == "Rex"              nor the word `query`
/// ```
enum ShellLine: Equatable {
    case empty
    /// Ends the shell.
    case exit
    /// Shows the subcommands.
    case help
    /// A subcommand with its arguments, the store among them.
    case command([String])

    static let byteCountMax = 100_000

    /// - Throws: what is wrong, as a `ToolError`.
    init(_ line: String, store: String, subcommands: [String]) throws(ToolError) {
        // An argument of a process ends at a NUL, and the system limits its length.
        guard !line.utf8.contains(0) else { throw ToolError(.usage, "the line has a NUL character.") }
        guard line.utf8.count <= Self.byteCountMax else {
            throw ToolError(.usage, "the line has more than \(Self.byteCountMax / 1_000) KB.")
        }
        let line = line.trimmed
        let first = String(line.prefix { !$0.isWhitespace })
        let rest = String(line.dropFirst(first.count)).trimmed
        switch first {
        case "": self = .empty
        case "exit", "quit": self = .exit
        case "help", "?": self = subcommands.contains(rest) ? .command([rest, "--help"]) : .help
        case "shell": throw ToolError(.usage, "this is the shell already.")
        case "query", "explain":
            // With options, or quotes around the query, it is a command as in any other shell.
            let isPlain = !"'\"-".contains(rest.first ?? "-")
            self = .command([first, store] + (isPlain ? [rest] : try Self.words(rest)))
        default:
            if subcommands.contains(first) {
                self = .command([first, store] + (try Self.words(rest)))
            } else if first.first == "-" {
                throw ToolError(.usage, "a line begins with a subcommand or a class. Type help to see them.")
            } else {
                self = .command(["query", store, line])
            }
        }
    }

    /// Splits a line as shells do: at spaces, except in quotes; a backslash takes the character behind it as it is.
    private static func words(_ line: String) throws(ToolError) -> [String] {
        var words: [String] = []
        var word = ""
        // Whether a word has begun: a word in quotes may be empty.
        var isWord = false
        var quote: Character?
        var isEscaped = false
        for character in line {
            if isEscaped {
                word.append(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                (isWord, isEscaped) = (true, true)
            } else if let open = quote {
                if character == open { quote = nil } else { word.append(character) }
            } else if character == "'" || character == "\"" {
                (isWord, quote) = (true, character)
            } else if character.isWhitespace {
                if isWord { words.append(word) }
                (isWord, word) = (false, "")
            } else {
                isWord = true
                word.append(character)
            }
        }
        if let quote { throw ToolError(.usage, "the quote \(quote) does not end. Put one more behind the text.") }
        if isEscaped { throw ToolError(.usage, "nothing follows the backslash at the end of the line.") }
        if isWord { words.append(word) }
        return words
    }
}
