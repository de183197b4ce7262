import Firn
import Foundation

/// Updates the objects of a realm to what a walk found.
struct Index {
    let realm: Realm

    /// What a run changed.
    struct Changes: Sendable {
        var added = 0
        var changed = 0
        var deleted = 0
        var same = 0
    }

    /// Makes an object for each thing found, in one transaction.
    func build(_ found: [Found]) throws {
        let progress = Progress("storing", of: found.count)
        try realm.write {
            // The folders from the root to the current one.
            var open: [Entry] = []
            for (number, thing) in found.enumerated() {
                open.removeLast(max(0, open.count - thing.path.depth))
                let entry = make(thing, in: open.last)
                if thing.status.kind == .folder { open.append(entry) }
                progress.update(number)
            }
        }
    }

    /// Compares each thing found with its object and changes what differs, in one transaction.
    func update(_ found: [Found]) throws -> Changes {
        let progress = Progress("comparing", of: found.count)
        return try realm.write {
            var changes = Changes()
            var seen: Set<String> = []
            for (number, thing) in found.enumerated() {
                let path = thing.path.text
                seen.insert(path)
                if let entry = realm.object(ofType: Entry.self, forPrimaryKey: path) {
                    if set(entry, to: thing) { changes.changed += 1 } else { changes.same += 1 }
                } else {
                    _ = make(thing, in: realm.object(ofType: Entry.self, forPrimaryKey: thing.path.parent.text))
                    changes.added += 1
                }
                progress.update(number)
            }
            let gone = realm.objects(Entry.self).filter { !seen.contains($0.path) }
            changes.deleted = gone.count
            // Deleted objects leave their folders' lists without further work.
            realm.delete(gone)
            return changes
        }
    }

    private func make(_ thing: Found, in folder: Entry?) -> Entry {
        let entry = Entry()
        entry.path = thing.path.text
        entry.name = thing.path.isRoot ? "." : TreePath.text(thing.path.name)
        entry.kind = thing.status.kind
        entry.size = thing.status.size
        entry.modified = thing.status.modified
        entry.mode = thing.status.mode
        entry.contentHash = thing.contentHash
        entry.target = thing.target
        entry.problem = thing.problem
        entry.parent = folder
        realm.add(entry)
        folder?.children.append(entry)
        return entry
    }

    /// Sets the properties that differ. Returns whether there were any.
    private func set(_ entry: Entry, to thing: Found) -> Bool {
        var differs = false
        func set<Value: Equatable>(_ property: ReferenceWritableKeyPath<Entry, Value>, _ value: Value) {
            guard entry[keyPath: property] != value else { return }
            entry[keyPath: property] = value
            differs = true
        }
        set(\.kind, thing.status.kind)
        // The size of a folder itself depends on the file system, and its copy's size may differ.
        if thing.status.kind != .folder { set(\.size, thing.status.size) }
        set(\.modified, thing.status.modified)
        set(\.mode, thing.status.mode)
        set(\.contentHash, thing.contentHash)
        set(\.target, thing.target)
        set(\.problem, thing.problem)
        return differs
    }

    /// A number that tells one state of the index from another.
    func digest() -> UInt64 {
        // A sum, so that the order does not matter.
        var sum: UInt64 = 0
        for entry in realm.objects(Entry.self) {
            var hash = ContentHash()
            hash.add(entry.path.utf8)
            hash.add(entry.size)
            hash.add(entry.mode)
            hash.add(Int(bitPattern: UInt(entry.modified.timeIntervalSinceReferenceDate.bitPattern)))
            hash.add(entry.contentHash ?? 0)
            hash.add((entry.parent?.path ?? "").utf8)
            hash.add(entry.children.count)
            sum &+= hash.value
        }
        return sum
    }

    /// The number of the version that the realm, which has just been written or opened, shows.
    var newestVersion: UInt64 { realm.activeVersions.last?.number ?? 0 }
}
