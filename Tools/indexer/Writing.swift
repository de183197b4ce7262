import ArgumentParser
import Firn
import Foundation

/// The child process: commits stamps until it is killed. It prints when it begins a commit, and when that is
/// acknowledged.
struct WriteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write",
        abstract:
            "Commits in a loop until it is killed; prints when each commit begins and when it is acknowledged.")

    @Argument(help: "The store's folder.", completion: .directory)
    var store: String

    func run() throws {
        let realm = try IndexStore(folder: URL(fileURLWithPath: store)).open()
        var number = realm.object(ofType: Counter.self, forPrimaryKey: 0)?.last ?? 0
        while true {
            number += 1
            let bytes = Stamp.payload(number)
            Console.put("begin \(number)\n", 1)
            try realm.write {
                let stamp = Stamp()
                stamp.number = number
                stamp.bytes = bytes
                realm.add(stamp)
                realm.create(Counter.self, value: ["id": 0, "last": number], update: .modified)
            }
            Console.put("done \(number)\n", 1)
        }
    }
}

/// The parent's side: starts the child, kills it, and looks at what it left.
struct KilledWriter {
    let store: IndexStore
    let program: URL

    struct Round {
        /// The last commit that the child said was acknowledged.
        var acknowledged: Int
        /// The last commit that is in the store.
        var present: Int
        var recovery: Realm.Recovery?
    }

    /// Starts a child, lets it commit a few times, kills it during the next commit, and reopens the store.
    ///
    /// - Parameter moment: when in the commit, from 0 for its beginning to 1 for its likely end.
    func round(commits: Int, moment: Double, known: Int) throws -> Round {
        let child = Process()
        child.executableURL = program
        child.arguments = ["write", store.folder.path]
        let pipe = Pipe()
        child.standardOutput = pipe
        child.standardInput = FileHandle.nullDevice
        try child.run()
        var output = ChildOutput()
        var isOpen = true
        while isOpen, output.done < commits || !output.isCommitting {
            isOpen = output.add(pipe.fileHandleForReading.availableData)
        }
        if isOpen {
            usleep(UInt32(min(max(output.usualDuration / .microseconds(1) * moment, 0), 1e6)))
            kill(child.processIdentifier, SIGKILL)
            while output.add(pipe.fileHandleForReading.availableData) {}
        }
        child.waitUntilExit()
        guard child.terminationReason == .uncaughtSignal, child.terminationStatus == SIGKILL else {
            throw TourError(
                "the writing child ended by itself with status \(child.terminationStatus), before it could be killed.")
        }
        let realm = try store.open()
        return Round(
            acknowledged: output.acknowledged ?? known, present: try check(realm, from: known), recovery: realm.recovery
        )
    }

    /// The child's output so far.
    private struct ChildOutput {
        private var rest = ""
        private var began = ContinuousClock.now
        private var durations: [Duration] = []
        private(set) var isCommitting = false
        private(set) var acknowledged: Int?

        var done: Int { durations.count }
        var usualDuration: Duration { durations.sorted()[durations.count / 2] }

        /// Adds output. Returns false at its end. An incomplete line does not count yet.
        mutating func add(_ bytes: Data) -> Bool {
            rest += String(decoding: bytes, as: UTF8.self)
            let lines = rest.split(separator: "\n", omittingEmptySubsequences: false)
            rest = String(lines[lines.count - 1])
            for line in lines.dropLast() {
                isCommitting = line.hasPrefix("begin")
                if isCommitting {
                    began = .now
                } else {
                    durations.append(began.duration(to: .now))
                    acknowledged = line.split(separator: " ").last.flatMap { Int($0) }
                }
            }
            return !bytes.isEmpty
        }
    }

    /// Checks that the stamps are intact and without a gap. Returns the last stamp's number.
    private func check(_ realm: Realm, from known: Int) throws -> Int {
        let stamps = realm.objects(Stamp.self)
        let last = realm.object(ofType: Counter.self, forPrimaryKey: 0)?.last ?? 0
        guard stamps.count == last else {
            throw TourError("the counter says \(last), but there are \(stamps.count) stamps: half a commit is visible.")
        }
        for number in stride(from: known + 1, through: last, by: 1) {
            guard let stamp = realm.object(ofType: Stamp.self, forPrimaryKey: number) else {
                throw TourError("stamp \(number) of \(last) is missing.")
            }
            guard stamp.bytes == Stamp.payload(number) else {
                throw TourError("stamp \(number) does not hold what was committed.")
            }
        }
        return last
    }
}
