import FirnBytes
import FirnStorage

/// Why the log could not be opened, read or written: what, where, and what to do about it.
public struct LogError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: Sendable, Equatable {
        /// What stands at the path is not a Firn store.
        case notAStore
        /// The folder holds other things and no store.
        case foreignFolder
        /// A later release of Firn wrote it.
        case newerFormat(found: UInt32)
        /// Bytes that were durable are not what was written.
        case damage
        /// Another process (or another opener in this one) is opening it for writing and does not get done, or is writing and can't be waited for.
        case locked(processID: Int32?)
        /// More processes have it open than can keep account of each other.
        case tooManyProcesses
        case diskFull
        /// A write or sync failed while this version was being committed: it may or may not be in the store. Reopening tells.
        case unknownOutcome(version: UInt64)
        /// It was opened for reading only.
        case readOnly
        case networkFileSystem(String)
        /// The process was forked after the store was opened.
        case forked
        case closed
        /// The log does not hold this version.
        case versionNotHere(UInt64)
        /// A part or a commit passes a limit.
        case tooLarge
        /// The storage failed otherwise.
        case storage(StorageError)
    }

    public var code: Code
    /// The file or folder.
    public var path: String
    /// Where in the file, in bytes.
    public var offset: Int?
    /// What was found.
    public var detail: String
    /// Too many files were open where a new one was to be made, before anything was changed that counts.
    private(set) var hasChangedNothing = false

    public init(_ code: Code, path: String, offset: Int? = nil, detail: String = "") {
        self.code = code
        self.path = path
        self.offset = offset
        self.detail = detail
    }

    /// A failed call of the storage. A full disk has a code of its own, since it can be helped.
    public init(_ error: StorageError) {
        let code: Code =
            switch error.code {
            case .noSpace: .diskFull
            case .forked: .forked
            default: .storage(error)
            }
        self.init(code, path: error.path, detail: error.description)
    }

    /// Whether the log is as it was, and what failed may be tried again: the disk was full, or too many files were
    /// open.
    var isPassing: Bool { code == .diskFull || hasChangedNothing }

    /// The same, of a call before anything was changed that counts: a file that was to be made bears no name yet that
    /// anybody goes by. A sync that failed stays one, as a second one would prove nothing; but a folder that could not
    /// be opened was not synced.
    var beforeAnyChange: LogError {
        var error = self
        if case .storage(let cause) = code, cause.code == .tooManyOpenFiles { error.hasChangedNothing = true }
        return error
    }

    /// Whether something is wrong with a file, or one is missing: which may be the work of another process that has changed the store meanwhile.
    var isOfFiles: Bool {
        switch code {
        case .damage: true
        case .storage(let error): error.code == .notFound
        default: false
        }
    }

    /// Whether both found the same wrong at the same place. What else they tell may differ: of a log that grows, more versions.
    func isSamePlace(as other: LogError) -> Bool { code == other.code && path == other.path && offset == other.offset }

    /// On a terminal harmless whatever the files are called, see `DisplayText`.
    public var description: String { DisplayText.lines(sentence) }

    private var sentence: String {
        let place = offset.map { "\(path) at byte \($0)" } ?? path
        let found = detail.isEmpty ? "" : " (\(detail))"
        switch code {
        case .notAStore:
            return
                "\(place) is not a Firn store\(found). A store is a folder: give the path of one, or one that does not exist yet."
        case .foreignFolder:
            return
                "the folder \(place) holds other things and no Firn store\(found). Nothing was changed; give an empty or a new folder."
        case .newerFormat(let format):
            return
                "\(place) was written by a later release of Firn (format \(format), this one reads up to \(LogLimits.format))\(found). "
                + "Nothing was changed; open it with that release."
        case .damage:
            return
                "\(place) is damaged\(found). Nothing was changed. `firn verify` lists what is wrong, and `firn replay --to VERSION --output NEW` "
                + "saves every version before the damage."
        case .locked(let processID):
            let who = processID.map { "process \($0)" } ?? "another process, or another opener in this one,"
            return "\(who) is busy opening or writing \(place). Wait for it (longer: `waitMilliseconds`), or end it."
        case .tooManyProcesses:
            return
                "\(place) is open \(SharedPage.slotCount) times already, which is the most. Close it in another process, or open read-only."
        case .diskFull:
            return
                "the disk is full at \(place)\(found). Nothing was committed and the store goes on; free some space, or delete objects."
        case .unknownOutcome(let version):
            return
                "writing or syncing \(place) failed while version \(version) was being committed\(found): whether it is in the store is "
                + "not known. The store takes no more writes; close and reopen it, which tells."
        case .readOnly:
            return "\(place) was opened read-only. Open it with `.readWrite` to write."
        case .networkFileSystem(let name):
            return
                "\(place) lies on a network file system (\(name)), whose locks and syncs Firn can't rely on. Use a local disk."
        case .forked:
            return
                "\(place) was opened before this process was forked, and a store can't be shared that way. Open it again in the child."
        case .closed:
            return "\(place) has been closed. Open it again."
        case .versionNotHere(let version):
            return "the log at \(place) does not hold version \(version)\(found)."
        case .tooLarge:
            return "a commit to \(place) is too large\(found). Split it into several."
        case .storage(let error):
            return detail.isEmpty || detail == error.description ? error.description : "\(error.description): \(detail)"
        }
    }
}

/// Runs a call of the storage and says its failure in the log's words.
@inline(__always)
func stored<T>(_ body: () throws(StorageError) -> T) throws(LogError) -> T {
    do {
        return try body()
    } catch {
        throw LogError(error)
    }
}

/// Syncs. A sync that fails for want of room has lost pages like any other that fails, so it is never a mere full disk.
func synced(_ file: any StorageFile) throws(LogError) {
    do {
        try file.sync()
    } catch {
        throw LogError(.storage(error), path: error.path, detail: error.description)
    }
}
