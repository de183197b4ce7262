/// A call of `Storage` that failed: the operation, the path, and the system's answer.
public struct StorageError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: Sendable, Equatable {
        case notFound, permissionDenied, exists, notAFolder, isAFolder, noSpace, tooManyOpenFiles, readOnlyFileSystem
        case notEmpty, nameTooLong, notWritable, outOfMemory, forked
        case closed, input(String), io
    }

    public var code: Code
    /// The call, for example `open` or `sync`.
    public var operation: String
    public var path: String
    /// The system's error number; 0 if the error is Firn's own.
    public var number: Int32

    /// EFBIG, which has this number on every system. To a store, such a limit is a full disk.
    private static let fileTooLong: Int32 = 27

    public init(_ code: Code, operation: String, path: String, number: Int32 = 0) {
        self.code = code
        self.operation = operation
        self.path = path
        self.number = number
    }

    public var description: String {
        let reason =
            switch code {
            case .notFound: "there is no such file or folder"
            case .permissionDenied: "this user may not do that; check the permissions of the file and of its folders"
            case .exists: "something already has that name"
            case .notAFolder: "a component of the path is not a folder"
            case .isAFolder: "it is a folder"
            case .noSpace where number == Self.fileTooLong:
                "the file would be longer than the file system, or the limit of the process (ulimit -f), allows"
            case .noSpace: "the disk is full; free some space and try again"
            case .tooManyOpenFiles: "too many files are open; raise the limit (ulimit -n) or close some"
            case .readOnlyFileSystem:
                "the file system is mounted read-only, by its administrator, or by the system after an error; see the system's log, and mount it for writing again"
            case .notEmpty: "the folder is not empty"
            case .nameTooLong: "a name in the path, or the path, is too long for the file system"
            case .notWritable: "the file was opened for reading only"
            case .outOfMemory: "the system is out of memory or address space"
            case .forked:
                "this process was forked from the one that opened it; open it again after the fork, or use exec"
            case .closed: "the file has been closed"
            case .input(let text): text
            case .io: "the device or the system failed"
            }
        return "\(operation) of \(path): \(reason)" + (number == 0 ? "" : " (errno \(number))")
    }
}
