import FirnStorage

/// A counted claim that keeps a version: while the pin lives, everything that the version reaches stays in memory,
/// unchanged. Making and dropping a pin is O(1); dropping the last pin of a version frees what only that version
/// reached.
///
/// A pin may be passed to any thread. It remembers the call site that made it, for `Store.activeVersions`.
package final class Pin: @unchecked Sendable {
    /// The version's number; 0 for a transaction snapshot.
    package var version: UInt64 { pinned.version }
    /// When the version was committed, in nanoseconds since 1970.
    package var time: Int64 { pinned.time }
    /// The pinned version. Reading it stops the program in a process that was forked after the pin was made. The child
    /// has its parent's memory, but what lies in files may have changed since.
    package var snapshot: Snapshot {
        if isForked { stopInForkedChild("a version of a store") }
        return pinned.snapshot
    }
    /// The call site that made the pin, or that moved it last.
    package var callSite: CallSite { link?.pointee.callSite ?? CallSite("", 0) }
    /// Nil for the pin of a transaction snapshot.
    var entry: VersionTable.Entry? { pinned.entry }
    private let forkMark = ForkMark()

    /// The version or transaction snapshot that is pinned.
    private struct Pinned {
        let version: UInt64
        let time: Int64
        let snapshot: Snapshot
        let entry: VersionTable.Entry?

        init(_ entry: VersionTable.Entry) {
            version = entry.version
            time = entry.time
            snapshot = entry.snapshot
            self.entry = entry
        }

        init(transactionState snapshot: Snapshot) {
            version = 0
            time = 0
            self.snapshot = snapshot
            entry = nil
        }
    }
    /// Changes only when the pin is moved (`move`), for which its caller must have the only reference to it.
    @exclusivity(unchecked) private var pinned: Pinned

    /// The table that counts this pin; nil for the pin of a transaction snapshot, which `release` drops.
    let table: VersionTable?
    private let release: (() -> Void)?

    /// The pin's link in the version table's chain of the version's pins; nil for a transaction snapshot.
    let link: UnsafeMutablePointer<PinLink>?

    init(_ entry: VersionTable.Entry, table: VersionTable, link: UnsafeMutablePointer<PinLink>) {
        pinned = Pinned(entry)
        self.link = link
        self.table = table
        release = nil
    }

    /// Makes the pin of a transaction snapshot, which belongs to the transaction's thread.
    init(transactionState snapshot: Snapshot, release: @escaping () -> Void) {
        pinned = Pinned(transactionState: snapshot)
        link = nil
        table = nil
        self.release = release
    }

    /// The birth stamp of the version's newest nodes.
    var stamp: UInt64 {
        guard let entry else { preconditionFailure("Firn: a transaction snapshot has no stamp of its own") }
        return entry.stamp
    }

    /// The checkpoint's files that hold the version's older nodes, if any.
    var mapping: CheckpointMapping? { entry?.mapping }

    /// Makes another pin of the same version, counted for another holder.
    package func again(file: StaticString = #fileID, line: UInt = #line) -> Pin { again(at: CallSite(file, line)) }

    package func again(at callSite: CallSite) -> Pin {
        if isForked { stopInForkedChild("a version of a store") }
        guard let table, let entry else {
            preconditionFailure("Firn: a transaction snapshot cannot be pinned twice")
        }
        return table.pin(entry, at: callSite)
    }

    /// Makes this the pin of another version, whose chain must already contain the pin's link.
    func move(to entry: VersionTable.Entry) { pinned = Pinned(entry) }

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
/// retain. And the last release of another pin must not happen under the lock, because its `deinit` takes that lock.
struct PinLink {
    var previous: UnsafeMutablePointer<PinLink>?
    var next: UnsafeMutablePointer<PinLink>?
    /// Set under the lock, and only by the pin's holder, who may therefore read it without the lock.
    var callSite: CallSite
    /// False if the pin serves the store's own work.
    let isHolder: Bool
}

/// A pin whose holder requests another pin, and will then release this one.
package struct OwnPin {
    /// Nil if the caller has none.
    let pin: Pin?
    /// Whether the caller has the only reference to it.
    let isOnlyReference: Bool

    package static var none: OwnPin { OwnPin(shared: nil) }

    package init(_ pin: inout Pin?) {
        isOnlyReference = isKnownUniquelyReferenced(&pin)
        self.pin = pin
    }

    /// A pin to which there are other references.
    package init(shared pin: Pin?) {
        isOnlyReference = false
        self.pin = pin
    }
}

/// A line of a program, as `#fileID` and `#line` give it: the call that a pin was made for.
package struct CallSite: Sendable, CustomStringConvertible {
    package let file: StaticString
    package let line: UInt

    package init(_ file: StaticString, _ line: UInt) {
        self.file = file
        self.line = line
    }

    /// The file and the line; if the line is 0, only what `file` says.
    package var description: String { line == 0 ? "\(file)" : "\(file):\(line)" }
}

/// Stops the program because of a mistake at a call site. The message begins with the call site. A call through a
/// protocol has no line, and a call that another module of Firn passes on has that module's line. In both cases the
/// line is found as for a call that names none.
@inline(never)
package func stopProgram(_ message: String, at callSite: CallSite) -> Never {
    if callSite.line == 0 || CallerLine.isOwn(fileID: "\(callSite.file)") {
        stopProgram(message, file: callSite.file, line: callSite.line)
    }
    fatalError("Firn: \(message)", file: callSite.file, line: callSite.line)
}

/// Stops the program because a forked child used what belongs to its parent.
@inline(never)
func stopInForkedChild(_ what: String) -> Never {
    fatalError(
        "Firn: \(what) was used in a process that was forked off the one that opened it. Open the store there, or let the child run another program at once (exec)."
    )
}
