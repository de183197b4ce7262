/// Converts the model classes of a program from the style of Objective-C's time (`@objc dynamic var`) to `@Persisted`.
///
/// It takes all files of the program together, since a class may inherit from one in another file. It changes
/// stored properties of classes that inherit from `Object` or `EmbeddedObject`, and what belongs to them:
/// - the functions that name keys and indexes;
/// - the attributes of the class;
/// - the enums that are stored;
/// - `#keyPath`, everywhere.
///
/// What it can't decide stays, and is reported; so does a file with errors of syntax. A file that was converted before
/// does not change.
public struct Conversion {
    /// The files in the order in which they were given.
    public private(set) var files: [ConvertedFile] = []
    /// What a person has to look at, by file and line.
    public private(set) var findings: [Finding] = []

    /// Converts the files of a program.
    ///
    /// - Parameter sources: their names and texts.
    public init(_ sources: [(name: String, text: String)]) {
        let parsed = sources.map { ParsedFile(name: $0.name, text: $0.text) }
        let program = Program(parsed)
        let converters = parsed.map { FileConverter($0, program) }
        for converter in converters where !converter.file.tree.hasError { converter.convert() }
        // Only now it is known which functions are gone.
        for converter in converters where !converter.file.tree.hasError { converter.reportCalls() }
        for converter in converters {
            let file = converter.file
            if file.tree.hasError {
                converter.report(
                    line: file.firstErrorLine, "the file is not correct Swift here, so it stays as it is.")
            }
            findings += converter.findings.enumerated().sorted {
                ($0.element.line, $0.offset) < ($1.element.line, $1.offset)
            }.map(\.element)
            files.append(ConvertedFile(name: file.name, before: file.text, after: converter.result))
        }
    }
}
