import Firn
import Foundation

/// A check of the tour that failed. It ends the tour.
struct TourError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The complete tour: index, freeze, change, observe, kill, recover, inspect with the tool. Each step is checked, and
/// a step that fails ends the tour.
final class Tour {
    private let source: TreeSource
    private let scratch: URL
    private let store: IndexStore
    private let program: URL
    private let tools: Toolbox
    private let scratchStatus: FileSystem.Status

    private var found: [Found] = []
    /// The version that the first run made, and its contents.
    private var first: (version: UInt64, count: Int, digest: UInt64) = (0, 0, 0)
    private var second: (version: UInt64, count: Int, digest: UInt64) = (0, 0, 0)
    private var stamps = 0
    /// Lines of the summary.
    private var rates: [String] = []

    init(tree: String, scratch: URL, program: URL, firn: URL) throws {
        let path = FileSystem.bytes(tree)
        source = TreeSource(root: path.count > 1 && path.last == UInt8(ascii: "/") ? Array(path.dropLast()) : path)
        self.scratch = scratch
        self.program = program
        tools = Toolbox(firn: firn)
        store = IndexStore(folder: scratch.appendingPathComponent("index.firn"))
        scratchStatus = try FileSystem.status(FileSystem.bytes(scratch.path))
    }

    func run() throws {
        let start = ContinuousClock.now
        try index()
        try changeAndObserve()
        try killAndRecover()
        try lookWithTool()
        try summarize(start)
    }

    // MARK: 1. Indexing

    private func index() throws {
        Console.title("1. Indexing \(TreePath.text(source.root)) into \(store.folder.path)")
        var walk = TreeWalk(source, excluding: scratchStatus)
        let walking = ContinuousClock.now
        found = try walk.run(Progress("reading the tree"))
        let walked = walking.duration(to: .now)
        let folders = found.count { $0.status.kind == .folder }
        Console.say(
            "  read     \(Amount.of(found.count, one: "entry", many: "entries")), \(Amount.of(folders, one: "folder")) among them, and \(Amount.bytes(walk.bytesHashed)) of small files' contents in \(Amount.seconds(walked))"
        )
        let unread = found.filter { $0.problem != nil }
        if let one = unread.first, let problem = one.problem {
            Console.say(
                "  unread   \(Amount.of(unread.count, one: "entry", many: "entries")), noted in the index; the first: \(Watcher.short(one.path.text)): \(problem)"
            )
        }
        let realm = try store.open()
        let storing = ContinuousClock.now
        try Index(realm: realm).build(found)
        let stored = storing.duration(to: .now)
        first = state(of: realm)
        guard first.count == found.count else {
            throw TourError("\(found.count) entries were stored, but \(first.count) are there.")
        }
        Console.say(
            "  stored   \(Amount.of(first.count, one: "object")) in one transaction, durable, in \(Amount.seconds(stored)): version \(first.version)"
        )
        let size: Int = realm.objects(Entry.self).where { $0.kind == .file }.sum(of: \.size)
        Console.say("  queried  all files together are \(Amount.bytes(size)) long")
        rates.append(
            "storing   \(Amount.rate(found.count, stored)) objects, each with 11 properties, a link and an element in a list"
        )
    }

    private func state(of realm: Realm) -> (version: UInt64, count: Int, digest: UInt64) {
        let index = Index(realm: realm)
        return (index.newestVersion, realm.objects(Entry.self).count, index.digest())
    }

    // MARK: 2. Freezing and observing

    private func changeAndObserve() throws {
        Console.title("2. Freezing, changing a copy of a part of the tree, indexing again under observers")
        let realm = try store.open()
        let freezing = ContinuousClock.now
        let frozen = realm.freeze()
        Console.say("  frozen at version \(first.version) in \(Amount.seconds(freezing.duration(to: .now)))")

        guard let part = TreeCopy.choosePart(found) else {
            throw TourError("the tree has no folder that can be copied completely.")
        }
        let copy = try TreeCopy(
            of: part, found, source, to: FileSystem.bytes(scratch.appendingPathComponent("copy").path))
        let plan = copy.plan()
        Console.say("  copied \(part.text) to \(TreePath.text(copy.folder)), which replaces it from now on")

        let query = "path BEGINSWITH \"\(part.text)\""
        let prefix = part.isRoot ? "" : part.text
        let watched = (plan.edited + plan.loosened + plan.deleted + [part]).map(\.text)
        let watcher = Watcher(
            realm, paths: watched, results: realm.objects(Entry.self).where { $0.path.starts(with: prefix) },
            named: part.isRoot ? "all" : query)
        guard Watcher.wait(until: { watcher.isReady }) else {
            throw TourError("the results' observer was not called with the initial results.")
        }

        for problem in try copy.change(plan) { Console.say("  this file system refused \(problem)") }
        Console.say(
            "  changed the copy: \(Amount.of(plan.edited.count, one: "file")) edited, \(plan.loosened.count) with other permissions, \(plan.renamed.count) renamed, \(plan.deleted.count) deleted, \(plan.added.count) added"
        )
        try indexAgain(copy.source)
        Console.say("  what the observers saw:")
        guard Watcher.wait(until: { watcher.isDone }) else {
            throw TourError(
                "observers were not called: \(watcher.waiting.sorted())\(watcher.hasResultsUpdate ? "" : ", the results' one")."
            )
        }
        second = state(of: realm)
        try compare(frozen, realm: realm, plan: plan)
    }

    /// The second run, on a queue of its own as in an application. The main thread's observers get old values, since
    /// their own realm did not make the changes.
    private func indexAgain(_ replacement: TreeSource.Replacement) throws {
        var changed = source
        changed.replaced = replacement
        var walk = TreeWalk(changed, excluding: scratchStatus)
        var known: [TreePath: Found] = [:]
        for thing in found { known[thing.path] = thing }
        walk.knownHash = { path, status in
            // As indexers do, it takes a file with the same size and time to be unchanged.
            guard let old = known[path], old.status.size == status.size, old.status.modified == status.modified else {
                return nil
            }
            return old.contentHash
        }
        let start = ContinuousClock.now
        let again = try walk.run(Progress("reading the tree again"))
        let walked = start.duration(to: .now)
        let queue = DispatchQueue(label: "firn-quickstart.indexer")
        let (changes, updated) = try queue.sync { [store] in
            let realm = try store.open(queue: queue)
            let start = ContinuousClock.now
            let changes = try Index(realm: realm).update(again)
            return (changes, start.duration(to: .now))
        }
        Console.say(
            "  indexed again: read in \(Amount.seconds(walked)), compared and stored in \(Amount.seconds(updated)): \(changes.added) added, \(changes.changed) changed, \(changes.deleted) deleted, \(Amount.count(changes.same)) the same"
        )
        rates.append(
            "comparing \(Amount.rate(again.count, updated)) objects found by primary key and compared in 7 properties")
    }

    private func compare(_ frozen: Realm, realm: Realm, plan: TreeCopy.Plan) throws {
        let old = (count: frozen.objects(Entry.self).count, digest: Index(realm: frozen).digest())
        guard old.count == first.count, old.digest == first.digest else {
            throw TourError("the frozen view has changed.")
        }
        guard second.digest != first.digest else { throw TourError("the live view has not changed.") }
        Console.say(
            "  the frozen view: version \(first.version), \(Amount.of(old.count, one: "object")), digest \(String(old.digest, radix: 16)), as when it was frozen"
        )
        Console.say(
            "  the live view:   version \(second.version), \(Amount.of(second.count, one: "object")), digest \(String(second.digest, radix: 16))"
        )
        func line(_ path: TreePath) {
            func size(_ realm: Realm) -> String {
                realm.object(ofType: Entry.self, forPrimaryKey: path.text).map { Amount.of($0.size, one: "byte") }
                    ?? "not there"
            }
            Console.say("    \(Watcher.short(path.text)): frozen \(size(frozen)), live \(size(realm))")
        }
        (plan.edited.prefix(1) + plan.deleted.prefix(1) + plan.renamed.prefix(1).flatMap { [$0.from, $0.to] }
            + plan.added.dropFirst().prefix(1))
            .forEach(line)
        for version in realm.activeVersions {
            Console.say(
                "  version \(version.number) has \(Amount.of(version.holders, one: "holder")) and alone retains \(Amount.bytes(version.retainedBytes)) of memory; files do not grow because of it"
            )
        }
    }

    // MARK: 3. Killing and recovering

    private func killAndRecover() throws {
        Console.title("3. Killing a writing process in mid-commit, by SIGKILL, and reopening")
        let writer = KilledWriter(store: store, program: program)
        let rounds = 8
        // How many kills left nothing, half a commit or a complete one behind the last acknowledged commit.
        var left = (nothing: 0, half: 0, complete: 0)
        for round in 1...rounds {
            let result = try writer.round(commits: 2, moment: .random(in: 0...1), known: stamps)
            guard result.present >= result.acknowledged else {
                throw TourError(
                    "commit \(result.acknowledged) was acknowledged, but the store ends with \(result.present).")
            }
            guard result.present <= result.acknowledged + 1 else {
                throw TourError(
                    "commit \(result.present) is there, but only \(result.acknowledged) was acknowledged before it.")
            }
            if result.present > result.acknowledged {
                left.complete += 1
            } else if result.recovery?.outcome == .tornTail {
                left.half += 1
            } else {
                left.nothing += 1
            }
            Console.say(
                "  round \(round): acknowledged up to commit \(result.acknowledged), there up to \(result.present)\(result.present > result.acknowledged ? " (the last was complete when the kill came, and not yet acknowledged)" : "")"
            )
            Console.say("    recovery: \(result.recovery?.description ?? "nothing to do")")
            stamps = result.present
        }
        let realm = try store.open()
        guard state(of: realm).digest == second.digest else {
            throw TourError("the index is not what it was before the kills.")
        }
        Console.say(
            "  All commits that were acknowledged are there, complete and in order. Of \(rounds) kills \(left.half) left half a commit, which was cut off, \(left.complete) left a complete one, which is kept, and \(left.nothing) left nothing."
        )
    }

    // MARK: 4. Inspecting

    private func lookWithTool() throws {
        Console.title("4. The store as `firn` sees it")
        Console.say("  $ firn log \(store.folder.lastPathComponent)")
        Toolbox.show(try tools.run("log", store.folder.path), first: 4, last: 3)
        Console.say("  $ firn verify \(store.folder.lastPathComponent)")
        let start = ContinuousClock.now
        Toolbox.show(try tools.run("verify", store.folder.path), first: 12)
        let verified = start.duration(to: .now)
        let new = scratch.appendingPathComponent("replayed.firn")
        Console.say(
            "  $ firn replay \(store.folder.lastPathComponent) --to \(first.version) --output \(new.lastPathComponent)")
        Toolbox.show(
            try tools.run("replay", store.folder.path, "--to", "\(first.version)", "--output", new.path), first: 6)
        let replayed = state(of: try IndexStore(folder: new).open(readOnly: true))
        guard replayed.count == first.count, replayed.digest == first.digest else {
            throw TourError("the replayed store is not what version \(first.version) was.")
        }
        Console.say(
            "  The replayed store holds what was frozen: \(Amount.of(replayed.count, one: "object")), digest \(String(replayed.digest, radix: 16))."
        )
        let bytes = try tools.json("info", store.folder.path)["fileBytes"] as? Int ?? 0
        rates.append("verifying \(Amount.bytes(Int(Double(bytes) / max(verified / .seconds(1), 1e-9))))/s, every byte")
    }

    // MARK: 5. The summary

    private func summarize(_ start: ContinuousClock.Instant) throws {
        let info = try tools.json("info", store.folder.path)
        func number(_ name: String) throws -> Int {
            guard let value = info[name] as? Int else {
                throw TourError("`firn info --json` has no number \"\(name)\".")
            }
            return value
        }
        let classes = (info["classes"] as? [[String: Any]] ?? []).map {
            "\($0["name"] ?? "?") \(Amount.count($0["objects"] as? Int ?? 0))"
        }
        Console.title("Summary")
        Console.say("  objects   \(classes.joined(separator: ", "))")
        Console.say("  versions  \(Amount.count(try number("lastVersion")))")
        Console.say(
            "  bytes     \(Amount.bytes(try number("rawBytes"))) of changes raw, \(Amount.bytes(try number("storedBytes"))) stored, \(Amount.bytes(try number("fileBytes"))) in files (the \(stamps) stamps are noise, \(Amount.bytes(stamps * Stamp.byteCount)) that can't shrink)"
        )
        for (name, version) in [("first", first.version), ("second", second.version)] {
            let line = try tools.run("log", store.folder.path, "--json", "--from", "\(version)", "--to", "\(version)")
            if let fields = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                let raw = fields["rawBytes"] as? Int,
                let stored = fields["storedBytes"] as? Int
            {
                Console.say(
                    "            the \(name) run of the index: \(Amount.bytes(raw)) raw, \(Amount.bytes(stored)) on disk"
                )
            }
        }
        for rate in rates { Console.say("  \(rate)") }
        Console.say("  time      \(Amount.seconds(start.duration(to: .now)))")
    }
}
