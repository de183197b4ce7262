import ArgumentParser

/// The options that choose versions of the log.
struct RangeArguments: ParsableArguments {
    @Option(help: "The first version.")
    var from: UInt64 = 1
    @Option(help: "The last version.")
    var to: UInt64?
    @Option(help: "Only versions from then on, \(Moment.help).")
    var since: Moment?

    func validate() throws {
        if let to, to < from { throw ValidationError("--to \(to) is before --from \(from).") }
    }
}
