import ArgumentParser

/// The option of subcommands that import.
struct BatchArguments: ParsableArguments {
    @Option(help: ArgumentHelp("Commit each time so many objects are read, not all at once.", valueName: "objects"))
    var batch: Int?

    func validate() throws {
        if let batch, batch < 1 { throw ValidationError("--batch is at least 1.") }
    }
}
