import Foundation
import RealmSwift
import ToDo
import ToDoTestSupport

// firn-todo show STORE: prints how the store was found, and what is to be done. Every byte is checked.
//
// firn-todo make VERSION STORE COUNT: makes a store of that many items, as version 1 or 2 of the application did.
//
// firn-todo work STORE SEED SECONDS: edits its own list and the shared ones, until the time is up or it is killed. The
// store must have the shared lists. After each acknowledged commit it writes a line with the number of steps that its
// own list has seen to standard output, by one write(2).

func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

func show(_ url: URL) throws {
    var configuration = Store.configuration(url)
    configuration.verifyOnOpen = .everything
    let store = try Store(configuration)
    if let recovery = store.realm.recovery { say("\(recovery.outcome): \(recovery)") }
    for item in store.open { say(Row.text(item)) }
}

func work(_ url: URL, seed: UInt64, seconds: Double) throws {
    let store = try Store(at: url)
    var own = OwnList(seed: seed)
    own.catchUp(with: store)
    let end = Date(timeIntervalSinceNow: seconds)
    while Date() < end {
        // A generator for each step: a process that continues after a kill makes no item a second time.
        var shared = RandomEdits(seed: seed &* 1_000_003 &+ UInt64(own.stepCount))
        try store.edit { edit in
            own.advance(edit)
            shared.apply(edit, to: store, limit: 2)
        }
        say("\(own.stepCount)")
    }
}

let words = CommandLine.arguments
func url(_ index: Int) -> URL { URL(fileURLWithPath: words[index]) }

do {
    switch (words.dropFirst().first, words.count) {
    case ("show", 3): try show(url(2))
    case ("make", 5):
        switch (words[2], Int(words[4])) {
        case ("1", let count?): try Version1.make(url(3), count)
        case ("2", let count?): try Version2.make(url(3), count)
        default: exit(64)
        }
    case ("work", 5):
        guard let seed = UInt64(words[3]), let seconds = Double(words[4]) else { exit(64) }
        try work(url(2), seed: seed, seconds: seconds)
    default: exit(64)
    }
} catch {
    FileHandle.standardError.write(Data("firn-todo: \(error)\n".utf8))
    exit(1)
}
