import FirnStorage

/// A version held: while it lives, everything the version reaches stays in memory, unchanged. Making and dropping one is O(1); dropping the last pin of a
/// version frees what only that version reached.
///
/// A pin may be passed to any thread. It remembers where it was made, for `Store.activeVersions`.
public final class Pin: @unchecked Sendable {
    /// The version's number; 0 for a state inside a transaction.
    public let version: UInt64
    /// When it was committed, in nanoseconds since 1970.
    public let time: Int64
    /// The version. Stops the program in a process that was forked off the one that made the pin: it has its parent's memory, but what lies in files may have changed there since.
    public var snapshot: Snapshot {
        if isForked { stopInForkedChild("a version of a store") }
        return pinned
    }
    private let pinned: Snapshot
    private let forkMark = ForkMark()
    /// Where it was made.
    public let place: CallSite

    /// The table that counts this pin; nil for the pins of a state inside a transaction, which `release` gives back.
    private let table: VersionTable?
    let entry: VersionTable.Entry?
    private let release: (() -> Void)?

    /// Its place in the version table's chain of the version's pins; nil for a state inside a transaction.
    private let link: UnsafeMutablePointer<PinLink>?

    init(
        entry: VersionTable.Entry, table: VersionTable, snapshot: Snapshot, link: UnsafeMutablePointer<PinLink>
    ) {
        version = entry.version
        time = entry.time
        pinned = snapshot
        place = link.pointee.place
        self.link = link
        self.table = table
        self.entry = entry
        release = nil
    }

    /// The pin of a state inside a transaction, which belongs to the transaction's thread.
    init(transactionState snapshot: Snapshot, release: @escaping () -> Void) {
        version = 0
        time = 0
        pinned = snapshot
        place = CallSite("", 0)
        link = nil
        table = nil
        entry = nil
        self.release = release
    }

    /// The birth stamp of the version's newest nodes.
    var stamp: UInt64 {
        guard let entry else { preconditionFailure("Firn: a state inside a transaction has no stamp of its own") }
        return entry.stamp
    }

    /// The checkpoint that the version lies on, if any.
    var mapping: CheckpointMapping? { entry?.mapping }

    /// Another pin of the same version, counted for another holder.
    public func again(file: StaticString = #fileID, line: UInt = #line) -> Pin { again(at: CallSite(file, line)) }

    public func again(at place: CallSite) -> Pin {
        if isForked { stopInForkedChild("a version of a store") }
        guard let table, let entry else {
            preconditionFailure("Firn: a state inside a transaction cannot be pinned twice")
        }
        return table.pin(entry, at: place)
    }

    /// The version could not be written out: it counts again.
    func failSpill(_ error: any Error) { table?.failSpill(self, error) }

    /// Whether this process was forked off the one that made the pin.
    var isForked: Bool { forkMark.isForked }

    deinit {
        // The parent's version table may be locked by a thread that has stayed there, and nothing is to be freed here.
        if isForked { return }
        if let entry, let table, let link { table.unpin(link, entry) }
        release?()
    }
}

/// A pin's place among the pins of its version, guarded by the version table's lock.
///
/// Raw memory, not references between pins: a pin that is going has no count left to retain, and the last release of another one must not happen under the lock, which its end takes.
struct PinLink {
    var previous: UnsafeMutablePointer<PinLink>?
    var next: UnsafeMutablePointer<PinLink>?
    let place: CallSite
    /// False for the store's own work.
    let isHolder: Bool
}

/// A line of a program, as `#fileID` and `#line` give it: which call a pin was made for.
public struct CallSite: Sendable, CustomStringConvertible {
    public let file: StaticString
    public let line: UInt

    public init(_ file: StaticString, _ line: UInt) {
        self.file = file
        self.line = line
    }

    public var description: String { "\(file):\(line)" }
}

/// A forked child has used what is its parent's.
@inline(never)
func stopInForkedChild(_ what: String) -> Never {
    fatalError(
        "Firn: \(what) was used in a process that was forked off the one that opened it. Open the store there, or let the child run another program at once (exec)."
    )
}
