import ArgumentParser
import Firn
import Foundation

/// The program that `Tools/quickstart` runs.
@main
struct QuickstartCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "firn-quickstart", abstract: "Shows Firn at work on a real folder tree.",
        subcommands: [TourCommand.self, WriteCommand.self], defaultSubcommand: TourCommand.self)
}

struct TourCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tour",
        abstract: "Indexes a tree, freezes, changes, observes, kills a writer, recovers, verifies.",
        discussion: "The tree is only read. Links are not followed, and other volumes mounted in it are left alone.")

    @Argument(help: "The folder whose tree is indexed.", completion: .directory)
    var tree = "/usr/share"

    @Option(help: "An existing folder for the stores and the copy; nothing in it is removed.", completion: .directory)
    var scratch: String

    @Option(help: "The firn command; by default the one beside this program.", completion: .file())
    var firn: String?

    func run() throws {
        let program = Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
        let firn =
            self.firn.map { URL(fileURLWithPath: $0) }
            ?? program.deletingLastPathComponent().appendingPathComponent("firn")
        do {
            try Tour(tree: tree, scratch: URL(fileURLWithPath: scratch), program: program, firn: firn).run()
        } catch {
            Console.fail("\(error)")
            throw ExitCode.failure
        }
    }
}
