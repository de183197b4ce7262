import FirnStorage

/// A call that a process made to its simulated storage.
public struct SimulatedCall: Sendable, CustomStringConvertible {
    public enum Operation: String, Sendable {
        case open, create, createFolder, openFolder, list, status, rename, remove, syncFolder, lockFile, tryLock,
            isLocked, unlock,
            sharedMemory, volume
        case size, read, write, sync, writeback, truncate, deallocate, map

        /// True for calls that can change what is on the disk. A stop before one differs from a stop after it.
        public var changesDisk: Bool {
            switch self {
            case .create, .createFolder, .rename, .remove, .syncFolder, .lockFile, .sharedMemory, .write, .sync,
                .truncate, .deallocate:
                true
            case .open, .openFolder, .list, .status, .tryLock, .isLocked, .unlock, .volume, .size, .read, .writeback,
                .map:
                false
            }
        }
    }

    /// True for calls that change the names of a folder, or make such changes durable.
    public var changesNames: Bool {
        switch operation {
        case .create, .createFolder, .rename, .remove, .syncFolder: true
        default: false
        }
    }

    /// The number of the process that made it; the first is 1.
    public var process: Int
    /// Its index among that process's calls, from 0.
    public var index: Int
    public var operation: Operation
    public var path: String
    /// The offset in the file; for `truncate` the new length, for a lock the byte.
    public var offset: Int
    /// How many bytes.
    public var length: Int
    /// The error that it threw.
    public var error: StorageError.Code?

    public var description: String {
        let range = length > 0 ? " @\(offset) +\(length)" : offset > 0 ? " @\(offset)" : ""
        return "p\(process)#\(index) \(operation.rawValue) \(path)\(range)" + (error.map { " ✗ \($0)" } ?? "")
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

/// A failure that a test injects.
public struct SimulatedFault: Sendable {
    /// The effect of a call that fails.
    public enum Residue: Sendable {
        /// A write has written none of its bytes. After a sync, everything since the last successful one shows in
        /// reads until the power fails, and is never written, not even by a later sync.
        case nothing
        /// A write has written its first bytes; the seed decides how many. A sync is as with `nothing`, but the seed
        /// picks sectors that are on the disk.
        case some
        /// A write has written all its bytes. After a sync, everything is on the disk. A rename, a removal, a
        /// creation or a truncation took effect, and yet failed.
        case all
    }

    public var code: StorageError.Code
    public var number: Int32
    public var residue: Residue
    /// How many more calls will fail.
    public var remaining: Int
    public var applies: @Sendable (SimulatedCall) -> Bool

    /// A fault of the calls that `applies` selects.
    ///
    /// - Parameter times: how many of these calls fail.
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
