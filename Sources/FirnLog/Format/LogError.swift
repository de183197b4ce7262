import FirnBytes
import FirnStorage

/// Why the log could not be opened, read or written: what happened, to which file, and what to do about it.
package struct LogError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// The file or folder at the path is not a Firn store.
        case notAStore
        /// The folder holds files that Firn did not make, or something exists at the path of a new copy.
        case foreignFolder
        /// A later release of Firn wrote the store, or a prerelease with a feature that this release does not know.
        case newerFormat(found: UInt32)
        /// The store and the key of the opener do not go together.
        case key(KeyProblem)
        /// Bytes that were durable are no longer what was written.
        case damage
        /// A file or folder that the log has open is no longer the one at its name: it was moved, replaced or removed.
        case replaced
        /// Another opener, in this process or another one, is in the way: it has the store open, or is opening, writing
        /// or deleting it. The call can't wait for it, or has waited for as long as it may.
        case locked(processID: Int32?)
        /// As many openers have the store open as the shared page has slots.
        case tooManyProcesses
        case diskFull
        /// A write or sync failed while this version was being committed: the version may or may not be in the store.
        /// Reopening the store shows which.
        case unknownOutcome(version: UInt64)
        /// The store was opened read-only.
        case readOnly
        case networkFileSystem(String)
        /// The process was forked after the store was opened.
        case forked
        case closed
        /// The log does not hold this version.
        case versionNotHere(UInt64)
        /// A part or a commit exceeds a limit.
        case tooLarge
        /// The storage failed in another way.
        case storage(StorageError)
    }

    /// Why a store can't be opened with the key that was given.
    package enum KeyProblem: Sendable, Equatable {
        /// The store is encrypted, and no key was given.
        case missing
        /// The store is encrypted with another key.
        case wrong
        /// A key was given, and the store is not encrypted.
        case notEncrypted
        /// This build has no cryptography, or not the store's algorithm.
        case unavailable
        /// The store's key was changed, but the old key still opens the manifest's block before the current one.
        case oldRemains
    }

    package var code: Code
    /// The file or folder.
    package var path: String
    /// The offset in the file, in bytes.
    package var offset: Int?
    /// What was found.
    package var detail: String
    /// Whether the call failed before it changed anything in force. The cause is then that too many files were open to
    /// create a new one, or that a name could not be looked up.
    private(set) var hasChangedNothing = false

    package init(_ code: Code, path: String, offset: Int? = nil, detail: String = "") {
        self.code = code
        self.path = path
        self.offset = offset
        self.detail = detail
    }

    /// A failed call of the storage. A full disk has a code of its own, because the caller can do something about it.
    package init(_ error: StorageError) {
        let code: Code =
            switch error.code {
            case .noSpace: .diskFull
            case .forked: .forked
            default: .storage(error)
            }
        self.init(code, path: error.path, detail: error.description)
    }

    /// A failed call whose repetition would prove nothing, such as a sync. Whatever the cause, the code is not
    /// `.diskFull`.
    package init(lasting error: StorageError, detail: String? = nil) {
        self.init(.storage(error), path: error.path, detail: detail ?? error.description)
    }

    /// Bytes of a file that are wrong; the offset counts from the beginning of the file.
    init(_ damage: Damage, path: String) {
        self.init(.damage, path: path, offset: damage.offset, detail: damage.text)
    }

    /// The store was changed under the log that has it open.
    ///
    /// - Parameter found: what is different now, in words.
    static func replaced(_ path: String, _ found: String) -> LogError {
        LogError(
            .replaced, path: path,
            detail: "\(found): it was moved, replaced or removed while the store was open")
    }

    /// Whether the log is unchanged, so that the failed call may be tried again. The cause is a full disk, too many
    /// open files, or a name that could not be looked up.
    var isTransient: Bool { code == .diskFull || hasChangedNothing }

    /// This error, marked as transient if its cause is too many open files. Used for errors thrown before anything in
    /// force was changed: no reader looks yet for the name of the file that was to be created. A failed sync is never
    /// marked, because a second sync would prove nothing. A folder that could not be opened, however, was not synced at
    /// all, so that failure is marked.
    var markedUnchanged: LogError {
        var error = self
        if case .storage(let cause) = code, cause.code == .tooManyOpenFiles { error.hasChangedNothing = true }
        return error
    }

    /// This error, marked as transient: nothing was changed, so the call may be tried again.
    var markedTransient: LogError {
        var error = self
        error.hasChangedNothing = true
        return error
    }

    /// Whether a file is damaged or missing. The cause may be that another process has changed the store meanwhile.
    var mayBeStaleFile: Bool {
        switch code {
        case .damage: true
        case .storage(let error): error.code == .notFound
        default: false
        }
    }

    /// Whether both errors report the same damage at the same file and offset. Their details may differ: if the
    /// log grows, the second one may name more versions.
    func isSameDamage(as other: LogError) -> Bool {
        code == other.code && path == other.path && offset == other.offset
    }

    /// The message, which is safe to print on a terminal whatever the files are called (see `DisplayText`).
    package var description: String { DisplayText.lines(sentence) }

    private var sentence: String {
        let location = offset.map { "\(path) at byte \($0)" } ?? path
        let found = detail.isEmpty ? "" : " (\(detail))"
        switch code {
        case .notAStore:
            return
                "\(location) is not a Firn store\(found). A store is a folder: give the path of one, or one that does not exist yet."
        case .foreignFolder:
            return
                "the folder \(location) holds other things and no Firn store\(found). Nothing was changed; give an empty or a new folder."
        case .newerFormat(let format):
            return
                "\(location) was written by another release of Firn (format \(format), this one reads up to \(LogLimits.format))\(found). "
                + "Nothing was changed; open it with that release."
        case .key(let problem): return "\(location) \(problem.sentence)\(found)"
        case .damage:
            return
                "\(location) is damaged\(found). Nothing was changed. `firn verify STORE` lists what is wrong, and `firn recover STORE --output NEW` "
                + "makes a new store of everything that can still be read."
        case .replaced:
            return
                "\(location) is not the file or folder that an opener of the store has open\(found). Nothing more is written here. Release everything of "
                + "the store, then open it again; while a store is open, remove, replace and move nothing within it."
        case .locked(let processID):
            let holder = processID.map { "process \($0)" } ?? "another process, or another opener in this one,"
            return
                "\(holder) is opening or writing \(location). Wait for it (the configuration's `lockTimeout` says for how long), or end it."
        case .tooManyProcesses:
            return
                "\(location) is already open \(LogLimits.openerCount) times, which is the maximum. Close it in another process, or open it with `readOnly`."
        case .diskFull:
            return
                "the disk is full at \(location)\(found). Nothing was committed and the store remains usable; free some space, or delete objects."
        case .unknownOutcome(let version):
            return
                "writing or syncing \(location) failed while version \(version) was being committed\(found): it is not known whether that "
                + "version is in the store. The store takes no more writes; to find out, release everything of it, then open it again."
        case .readOnly:
            return
                "\(location) was opened read-only. To write, release everything of the store, then open it without `readOnly`."
        case .networkFileSystem(let name):
            return
                "\(location) is on a network file system (\(name)), whose locks and syncs Firn can't rely on. Use a local disk."
        case .forked:
            return
                "\(location) was opened before this process was forked, and a store can't be shared that way. Open it again in the child."
        case .closed:
            return "\(location) has been closed. Open it again."
        case .versionNotHere(let version):
            return "the log at \(location) does not hold version \(version)\(found)."
        case .tooLarge:
            return "a commit to \(location) is too large\(found). Split it into several."
        case .storage(let error):
            return detail.isEmpty || detail == error.description ? error.description : "\(error.description): \(detail)"
        }
    }
}

extension LogError.KeyProblem {
    /// What is wrong and what to do, behind the store's path.
    fileprivate var sentence: String {
        switch self {
        case .missing:
            "is encrypted, and no key was given. Nothing was read or changed; open it with its `encryptionKey`."
        case .wrong:
            "is encrypted with another key than the one that was given. Nothing was read or changed; open it with its own key. "
                + "Without that key nobody can read it."
        case .notEncrypted:
            "is not encrypted, but a key was given. Nothing was changed; open it without `encryptionKey`, and make an "
                + "encrypted copy with `writeCopy` or `firn encrypt`."
        case .oldRemains:
            "has the new key, and only that opens it. But its manifest still holds the generation before, which the old key "
                + "opens. Change the key once more, to any other, to remove that."
        case .unavailable:
            "is to be encrypted, or is, and this build of Firn has no cryptography for it. Add the trait to the package's line in "
                + "Package.swift: `traits: [\"Encryption\"]`."
        }
    }
}

/// Calls the storage, and turns its error into a `LogError`.
@inline(__always)
func stored<T>(_ call: @autoclosure () throws(StorageError) -> T) throws(LogError) -> T {
    do { return try call() } catch { throw LogError(error) }
}

/// Runs a closure that calls the storage, and turns its error into a `LogError`.
@inline(__always)
func stored<T>(_ calls: () throws(StorageError) -> T) throws(LogError) -> T {
    do { return try calls() } catch { throw LogError(error) }
}

/// Syncs a file or a folder. A sync that fails because the disk is full has lost pages like any other failed sync, so
/// it is never reported as `.diskFull`.
func synced(_ sync: @autoclosure () throws(StorageError) -> Void) throws(LogError) {
    do { try sync() } catch { throw LogError(lasting: error) }
}
