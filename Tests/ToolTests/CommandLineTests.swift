import ArgumentParser
import FirnStorage
import FirnTestSupport
import Foundation
import Testing

@testable import FirnTool

/// The built command on real files: its exit status is a promise to scripts.
@Suite("The command line", .serialized, .timeLimit(.minutes(20))) struct CommandLineTests {
    /// The sample store, copied to disk.
    static func onDisk(_ sample: SampleStore) throws -> TemporaryFolder {
        let folder = TemporaryFolder()
        let storage = PosixStorage.shared
        for name in ["/store", "/store/log", "/store/checkpoint"] { try storage.createFolder(folder.path + name) }
        for path in try sample.files() {
            let file = try storage.open(folder.path + path, .create)
            try sample.bytes(path).withUnsafeBytes { try file.write($0, at: 0) }
            file.close()
        }
        return folder
    }

    static func firn(
        _ arguments: [String], input: String? = nil
    ) throws -> (status: Int32, out: String, error: String) {
        try BuiltProgram.run("firn", arguments, input: input)
    }

    @Test("a killed import leaves nothing behind the next one") func killedImport() throws {
        let folder = TemporaryFolder()
        let store = folder.path + "/new"
        func partial() throws -> [String] {
            try PosixStorage.shared.list(folder.path).filter { $0.hasSuffix(".partial") }
        }
        let process = Process()
        process.executableURL = BuiltProgram.url("firn")
        process.arguments = ["import", store, "--type", "P", "-"]
        // It waits for its input.
        let input = Pipe()
        process.standardInput = input
        try process.run()
        let deadline = TestTimeout.deadline(TestTimeout.seconds)
        while try partial().isEmpty, SystemClock.shared.monotonic() < deadline { sleepThread(nanoseconds: 5_000_000) }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        #expect(try partial().count == 1)
        let next = try Self.firn(["import", store, "--type", "P", "-"], input: "{\"id\":1}\n")
        #expect(next.status == 0 && next.error.contains(", which a run that was killed has left."), "\(next)")
        #expect(try partial() == [] && PosixStorage.shared.list(folder.path) == ["new"])
        try input.fileHandleForWriting.close()
    }

    #if Encryption
        @Test("reads a key once, so that it may come through a pipe", .disabled(if: TestEnvironment.hasKey))
        func keyFromPipe() throws {
            let digits = String(repeating: "07", count: 64)
            let folder = try Self.onDisk(SampleStore(key: StoreKeySource.key(digits: digits)))
            let store = folder.path + "/store"
            for arguments in [["info", store], ["log", store], ["query", store, "Person"], ["verify", store]] {
                let run = try Self.firn(arguments + ["--key-file", "/dev/stdin"], input: digits)
                #expect(run.status == 0 && !run.out.isEmpty && run.error.isEmpty, "\(arguments): \(run)")
            }
            let copy = try Self.firn(
                ["copy", store, "--output", folder.path + "/new", "--key-file", "/dev/stdin"], input: digits)
            #expect(copy.status == 0, "\(copy)")
        }
    #endif

    @Test("exits with 0 if all is well, and leaves the store as it was") func fine() throws {
        let folder = try Self.onDisk(SampleStore())
        let store = folder.path + "/store"
        for arguments in [
            ["info", store], ["log", store], ["show", store, "2"], ["verify", store + "/"], ["log", store, "--json"],
            ["info", "--json", store], ["verify", store, "--json"], ["show", store, "3", "--json"],
            ["verify", store, "--deep"], ["diff", store, "1", "4"],
            ["diff", store, "1", "2023-11-14T22:13:26Z", "--json"],
            ["history", store, "Person", "Anna"], ["history", store, "Dog", "--object", "0", "--json"],
            ["tail", store, "--from", "2", "--no-follow"], ["query", store, "Person WHERE age > 0"],
            ["query", store, "--json", "Person"], ["explain", store, "Person WHERE name == 'Anna'"], ["export", store],
            ["export", store, "--type", "Person", "--format", "csv", "--version", "2"],
            ["log", store, "--type", "Dog"],
            ["log", store, "--type", "Person", "--key", "Ben", "--since", "2023-11-14T22:13:24Z"],
        ] {
            let run = try Self.firn(arguments)
            #expect(run.status == 0 && !run.out.isEmpty && run.error.isEmpty, "\(arguments): \(run)")
        }
        #expect(try PosixStorage.shared.list(store).sorted() == ["checkpoint", "log", "manifest"])
        let replay = try Self.firn(["replay", store, "--to", "3", "--output", folder.path + "/new"])
        #expect(replay.status == 0, "\(replay)")
        #expect(try Self.firn(["verify", folder.path + "/new"]).status == 0)
        for (name, arguments) in [("recovered", ["recover"]), ("copy", ["copy"])] {
            let made = try Self.firn(arguments + [store, "--output", folder.path + "/" + name])
            #expect(made.status == 0, "\(made)")
            #expect(try Self.firn(["verify", "--deep", folder.path + "/" + name]).status == 0)
        }
        #expect(try Self.firn(["--help"]).status == 0)
        for shell in ["bash", "zsh", "fish"] {
            let script = try Self.firn(["--generate-completion-script", shell])
            #expect(script.status == 0 && script.out.contains("history"), "\(shell)")
        }
    }

    @Test("imports from its input and through links, compacts, and exports") func data() throws {
        let folder = TemporaryFolder()
        let store = folder.path + "/store"
        let lines = (0..<500).map { "{\"id\":\($0),\"name\":\"n\($0 % 7)\"}\n" }.joined()
        let first = try Self.firn(["import", store, "--type", "P", "--primary-key", "id", "-"], input: lines)
        #expect(first.status == 0 && first.out.contains("500 new objects"), "\(first)")
        let exported = try Self.firn(["export", store, "--output", folder.path + "/p.ndjson", "--type", "P"])
        #expect(exported.status == 0, "\(exported)")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/link", withDestinationPath: folder.path + "/p.ndjson")
        let second = try Self.firn([
            "import", folder.path + "/copy", "--type", "P", "--primary-key", "id", folder.path + "/link",
        ])
        #expect(second.status == 0, "\(second)")
        #expect(try Self.firn(["export", folder.path + "/copy", "--type", "P"]).out == lines)
        let refused = try Self.firn(["import", store, "--type", "P", "-"], input: "{\"id\":1,\"name\":5}\n")
        #expect(refused.status == 2 && refused.error.contains("the input:1:16: this is no string"), "\(refused)")
        #expect(try Self.firn(["import", store, "--type", "P", folder.path + "/none"]).status == 3)
        #expect(try Self.firn(["import", store, "-"], input: "").status == 2)
        let compacted = try Self.firn(["compact", store])
        #expect(compacted.status == 0 && compacted.out.contains("version 1"), "\(compacted)")
        #expect(try Self.firn(["verify", "--deep", store]).status == 0)
    }

    @Test("each subcommand's help has an example, and each takes --json") func help() {
        for command in FirnCommand.configuration.subcommands {
            let help = command.helpMessage(columns: 100)
            let name = command.configuration.commandName ?? ""
            #expect(help.contains("Example: ") && help.contains(" firn \(name) "), "\(help)")
            #expect(help.contains("--json"), "\(help)")
        }
    }

    @Test("exits with 1 for damage, 2 for wrong usage, 3 if the path is not a store") func failures() throws {
        let sample = try SampleStore()
        try sample.flip(try sample.files()[1], byte: 700, bit: 2)
        let folder = try Self.onDisk(sample)
        let store = folder.path + "/store"
        for arguments in [["info", store], ["log", store], ["verify", store], ["show", store, "5"]] {
            let run = try Self.firn(arguments)
            #expect(run.status == 1 && (run.out + run.error).contains("damage"), "\(arguments): \(run)")
        }
        for arguments in [
            ["log"], ["log", store, "--from", "x"], ["log", store, "--from", "3", "--to", "2"], ["nonsense"],
            ["show", store, "0"], ["replay", store, "--to", "1", "--output", folder.path],
            ["recover", store, "--output", folder.path], ["log", store, "--key", "x"],
            ["log", store, "--since", "yesterday"],
            ["history", store, "Person"], ["history", store, "Person", "Anna", "--object", "1"], ["diff", store],
            ["diff", store, "77"], ["tail", store, "--from", "x"],
        ] {
            let run = try Self.firn(arguments)
            #expect(run.status == 2 && !run.error.isEmpty, "\(arguments): \(run)")
        }
        for path in [folder.path + "/nothing", folder.path, "/dev/null"] {
            let run = try Self.firn(["verify", path])
            #expect(run.status == 3 && !run.error.isEmpty, "\(path): \(run)")
        }
    }
}
