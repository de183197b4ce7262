import FirnStorage

/// A counted claim that keeps a version: while the pin lives, everything that the version reaches stays in memory,
/// unchanged. Making and dropping a pin is O(1); dropping the last pin of a version frees what only that version
/// reached.
///
/// A pin may be passed to any thread. It remembers the call site that made it, for `Store.activeVersions`.
package final class Pin: @unchecked Sendable {
    /// The version's number; 0 for a transaction snapshot.
    package let version: UInt64
    /// When it was committed, in nanoseconds since 1970.
    package let time: Int64
    /// The pinned version. Reading it stops the program in a process that was forked off the one that made the pin:
    /// the child has its parent's memory, but what lies in files may have changed since.
    package var snapshot: Snapshot {
        if isForked { stopInForkedChild("a version of a store") }
        return pinned
    }
    private let pinned: Snapshot
    private let forkMark = ForkMark()
    /// The call site that made it.
    package let callSite: CallSite

    /// The table that counts this pin; nil for the pin of a transaction snapshot, which `release` drops.
    private let table: VersionTable?
    let entry: VersionTable.Entry?
    private let release: (() -> Void)?

    /// Its link in the version table's chain of the version's pins; nil for a transaction snapshot.
    private let link: UnsafeMutablePointer<PinLink>?

    init(
        entry: VersionTable.Entry, table: VersionTable, snapshot: Snapshot, link: UnsafeMutablePointer<PinLink>
    ) {
        version = entry.version
        time = entry.time
        pinned = snapshot
        callSite = link.pointee.callSite
        self.link = link
        self.table = table
        self.entry = entry
        release = nil
    }

    /// Makes the pin of a transaction snapshot, which belongs to the transaction's thread.
    init(transactionState snapshot: Snapshot, release: @escaping () -> Void) {
        version = 0
        time = 0
        pinned = snapshot
        callSite = CallSite("", 0)
        link = nil
        table = nil
        entry = nil
        self.release = release
    }

    /// The birth stamp of the version's newest nodes.
    var stamp: UInt64 {
        guard let entry else { preconditionFailure("Firn: a transaction snapshot has no stamp of its own") }
        return entry.stamp
    }

    /// The files that hold the version's older nodes, if any.
    var files: (any VersionFiles)? { entry?.files }

    /// Makes another pin of the same version, counted for another holder.
    package func again(file: StaticString = #fileID, line: UInt = #line) -> Pin { again(at: CallSite(file, line)) }

    package func again(at callSite: CallSite) -> Pin {
        if isForked { stopInForkedChild("a version of a store") }
        guard let table, let entry else {
            preconditionFailure("Firn: a transaction snapshot cannot be pinned twice")
        }
        return table.pin(entry, at: callSite)
    }

    /// Notes that the version could not be written out, so that it counts against the limits again.
    func failSpill(_ error: any Error) { table?.failSpill(self, error) }

    /// Whether this process was forked off the one that made the pin.
    var isForked: Bool { forkMark.isForked }

    deinit {
        // A thread that exists only in the parent may hold the version table's lock, and a child must not free
        // anything here.
        if isForked { return }
        if let entry, let table, let link { table.unpin(link, entry) }
        release?()
    }
}

/// A pin's link in the chain of its version's pins, guarded by the version table's lock.
///
/// This is raw memory, not references between pins. A pin that is being deinitialized has no reference count left to
/// retain, and the last release of another pin must not happen under the lock, because its `deinit` takes that lock.
struct PinLink {
    var previous: UnsafeMutablePointer<PinLink>?
    var next: UnsafeMutablePointer<PinLink>?
    let callSite: CallSite
    /// False if the pin serves the store's own work.
    let isHolder: Bool
}

/// A line of a program, as `#fileID` and `#line` give it: the call that a pin was made for.
package struct CallSite: Sendable, CustomStringConvertible {
    package let file: StaticString
    package let line: UInt

    package init(_ file: StaticString, _ line: UInt) {
        self.file = file
        self.line = line
    }

    package var description: String { "\(file):\(line)" }
}

/// Stops the program because a forked child used what belongs to its parent.
@inline(never)
func stopInForkedChild(_ what: String) -> Never {
    fatalError(
        "Firn: \(what) was used in a process that was forked off the one that opened it. Open the store there, or let the child run another program at once (exec)."
    )
}
