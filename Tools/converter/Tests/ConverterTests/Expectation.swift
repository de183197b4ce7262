import Converter
import Testing

/// Converts files, which are called `0.swift`, `1.swift` and so on.
func convert(_ sources: String...) -> Conversion { convert(sources) }

func convert(_ sources: [String]) -> Conversion {
    Conversion(sources.enumerated().map { (name: "\($0.offset).swift", text: $0.element) })
}

/// Expects what becomes of a file and what is reported of it, and that a second run changes nothing.
func expect(
    _ source: String, becomes expected: String, reports findings: [String] = [],
    location: SourceLocation = #_sourceLocation
) {
    let conversion = convert(source)
    #expect(conversion.files[0].after == expected, sourceLocation: location)
    #expect(conversion.findings.map(\.text) == findings, sourceLocation: location)
    #expect(!convert(conversion.files[0].after).files[0].isChanged, sourceLocation: location)
}

/// Expects that a file stays as it is, and what is reported of its lines.
func expect(
    _ source: String, staysAndReports findings: [Int: String], location: SourceLocation = #_sourceLocation
) {
    let conversion = convert(source)
    #expect(conversion.files[0].after == source, sourceLocation: location)
    let found = Dictionary(conversion.findings.map { ($0.line, $0.text) }) { "\($0) \($1)" }
    #expect(found == findings, sourceLocation: location)
}

/// Expects what becomes of the members of a class `Dog: Object`, and the lines of the members that are reported.
func expect(
    members: String, become expected: String, reportedLines lines: [Int] = [],
    location: SourceLocation = #_sourceLocation
) {
    let (start, end) = ("class Dog: Object {\n", "\n}\n")
    let conversion = convert(start + members + end)
    #expect(conversion.files[0].after == start + expected + end, sourceLocation: location)
    #expect(conversion.findings.map { $0.line - 1 } == lines, sourceLocation: location)
    #expect(!convert(conversion.files[0].after).files[0].isChanged, sourceLocation: location)
}
