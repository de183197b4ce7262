import Firn
import Foundation

/// The observers of the second run: of single objects, and of a query's results. They belong to the main thread, while
/// the run is on a queue.
final class Watcher {
    private var tokens: [NotificationToken] = []
    private(set) var isReady = false
    private(set) var hasResultsUpdate = false
    /// The paths of the watched objects whose observers have not been called yet.
    private(set) var waiting: Set<String> = []
    private(set) var propertyChanges = 0

    /// Watches objects by their paths, and the results as a whole.
    init(_ realm: Realm, paths: [String], results: Results<Entry>, named query: String) {
        for path in paths {
            guard let entry = realm.object(ofType: Entry.self, forPrimaryKey: path) else { continue }
            waiting.insert(path)
            tokens.append(
                entry.observe { [weak self] (change: ObjectChange<Entry>) in self?.objectChanged(path, change) })
        }
        tokens.append(
            // Without key paths, a change of a folder would also count for all objects that link to it, up to four
            // links away.
            results.observe(keyPaths: [\.size, \.modified, \.mode, \.contentHash]) { [weak self] change in
                switch change {
                case .initial(let results):
                    self?.isReady = true
                    Console.say("  the results of \(query) hold \(Amount.of(results.count, one: "object"))")
                case .update(let results, let deletions, let insertions, let modifications):
                    self?.hasResultsUpdate = true
                    Console.say(
                        "  the results of \(query): \(deletions.count) deleted, \(insertions.count) inserted, \(modifications.count) modified, now \(Amount.of(results.count, one: "object"))"
                    )
                    for index in insertions.prefix(4) {
                        Console.say("    inserted at \(index): \(Watcher.short(results[index].path))")
                    }
                    if insertions.count > 4 { Console.say("    and \(insertions.count - 4) more") }
                case .error(let error): Console.fail("the results' observer failed: \(error)")
                }
            })
    }

    var isDone: Bool { hasResultsUpdate && waiting.isEmpty }

    private func objectChanged(_ path: String, _ change: ObjectChange<Entry>) {
        waiting.remove(path)
        switch change {
        case .change(_, let properties):
            Console.say("  \(Watcher.short(path))")
            for property in properties {
                propertyChanges += 1
                let old = Watcher.text(property.name, property.oldValue)
                let new = Watcher.text(property.name, property.newValue)
                Console.say(
                    property.name == "children"
                        ? "    children: edited (values of a list are not shown)"
                        : "    \(property.name): \(old) -> \(new)")
            }
        case .deleted: Console.say("  \(Watcher.short(path))\n    deleted")
        case .error(let error): Console.fail("an object's observer failed: \(error)")
        }
    }

    private static func text(_ name: String, _ value: Any?) -> String {
        guard let value else { return "nil" }
        switch (name, value) {
        case ("mode", let mode as NSNumber): return "0" + String(mode.intValue, radix: 8)
        case ("contentHash", let hash as NSNumber):
            return String(UInt64(bitPattern: hash.int64Value), radix: 16)
        case (_, let date as Date): return date.formatted(.iso8601)
        default: return "\(value)"
        }
    }

    /// A path, shortened to fit on a line. Its end is kept, because that identifies the file best.
    static func short(_ path: String) -> String {
        path.count <= 90 ? path : "…" + path.suffix(89)
    }

    /// Lets the run loop deliver until `condition` holds. Returns whether it did in time.
    static func wait(_ seconds: TimeInterval = 20, until condition: () -> Bool) -> Bool {
        let end = Date(timeIntervalSinceNow: seconds)
        while !condition(), Date() < end {
            // `run` returns at once if nothing could ever wake it.
            if !RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: 0.05)) { usleep(10_000) }
        }
        return condition()
    }
}
