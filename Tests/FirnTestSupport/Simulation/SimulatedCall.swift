import FirnStorage

/// A call that a process made to its simulated storage.
public struct SimulatedCall: Sendable, CustomStringConvertible {
    public enum Operation: String, Sendable {
        case open, create, createFolder, list, status, rename, remove, syncFolder, lockFile, tryLock, isLocked, unlock,
            sharedMemory, volume
        case size, read, write, sync, writeback, truncate, deallocate, map

        /// True for calls that can change what a disk holds: a stop before one and a stop after it are different stories.
        public var changesDisk: Bool {
            switch self {
            case .create, .createFolder, .rename, .remove, .syncFolder, .lockFile, .sharedMemory, .write, .sync,
                .truncate, .deallocate:
                true
            case .open, .list, .status, .tryLock, .isLocked, .unlock, .volume, .size, .read, .writeback, .map: false
            }
        }
    }

    /// True for calls that change the names of a folder, or make such changes durable.
    public var isOfNames: Bool {
        switch operation {
        case .create, .createFolder, .rename, .remove, .syncFolder: true
        default: false
        }
    }

    /// Which process made it; the first is 1.
    public var process: Int
    /// Which of that process's calls it was, from 0.
    public var index: Int
    public var operation: Operation
    public var path: String
    /// Where in the file; for `truncate` the new length, for a lock the byte.
    public var offset: Int
    /// How many bytes.
    public var length: Int
    /// What it failed with.
    public var error: StorageError.Code?

    public var description: String {
        let place = length > 0 ? " @\(offset) +\(length)" : offset > 0 ? " @\(offset)" : ""
        return "p\(process)#\(index) \(operation.rawValue) \(path)\(place)" + (error.map { " ✗ \($0)" } ?? "")
    }
}

extension StorageError {
    /// True for the error that every call of a stopped or killed process throws.
    public var isSimulatedStop: Bool { code == .io && operation == Self.simulatedStop }

    static let simulatedStop = "simulated stop"

    static func stop(_ path: String) -> StorageError {
        StorageError(.io, operation: simulatedStop, path: path)
    }
}

/// A failure that a test has ordered.
public struct SimulatedFault: Sendable {
    /// What a failed write or sync leaves behind.
    public enum Residue: Sendable {
        /// A write: none of its bytes. A sync: everything since the last good one shows in reads until the power goes, and is never
        /// written, not even by a later sync.
        case nothing
        /// A write: its first bytes, how many the seed says. A sync: as `nothing`, but the seed picks sectors that are on the disk.
        case some
        /// A write: all its bytes. A sync: everything is on the disk. A rename, a removal, a creation, a truncation: it took effect, and yet failed.
        case all
    }

    public var code: StorageError.Code
    public var number: Int32
    public var residue: Residue
    /// How many calls fail yet.
    public var remaining: Int
    public var applies: @Sendable (SimulatedCall) -> Bool

    /// A fault of the calls that `applies` picks.
    ///
    /// - Parameter times: how many calls fail, from the first that is picked.
    public init(
        _ code: StorageError.Code, number: Int32 = 5, residue: Residue = .some, times: Int = 1,
        when applies: @escaping @Sendable (SimulatedCall) -> Bool
    ) {
        self.code = code
        self.number = number
        self.residue = residue
        remaining = times
        self.applies = applies
    }

    /// A fault of the process's call number `index`.
    public init(_ code: StorageError.Code, number: Int32 = 5, residue: Residue = .some, atCall index: Int) {
        self.init(code, number: number, residue: residue) { $0.index == index }
    }
}
