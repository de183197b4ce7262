import FirnStorage

/// A Realm file that can't be read, or a part of it: what is wrong, where, and what to do.
public struct RealmFileError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: Sendable, Equatable {
        /// The file has no header of Realm: it is another file, damaged, or encrypted.
        case notARealmFile
        /// The key does not fit the file.
        case wrongKey
        /// A key was given for a file that is not encrypted.
        case notEncrypted
        /// The package was built without what decrypts Realm's files.
        case decryptionUnavailable
        /// The file ends before its contents do.
        case truncated
        /// A format that this version can't read.
        case unsupportedFormat(Int)
        /// Realm began to convert the file to a newer format and did not finish.
        case interruptedUpgrade
        /// Bytes that can't be right.
        case damage
        /// The file system failed.
        case storage(StorageError)
    }

    public var code: Code
    public var path: String
    /// What is wrong, for `damage` and `truncated`.
    public var detail: String
    /// The offset in the file; in an encrypted file the offset in its decrypted bytes. Nil if no byte is to blame.
    public var offset: Int?
    /// The class that the damage makes unreadable. Nil if all of the file is.
    public var className: String?
    /// The property whose values are damaged.
    public var propertyName: String?

    public init(
        _ code: Code, path: String = "", detail: String = "", offset: Int? = nil, className: String? = nil,
        propertyName: String? = nil
    ) {
        self.code = code
        self.path = path
        self.detail = detail
        self.offset = offset
        self.className = className
        self.propertyName = propertyName
    }

    /// Damage at an offset. Whoever knows the class and the property adds them (`within`).
    static func damage(_ detail: String, at offset: Int) -> RealmFileError {
        RealmFileError(.damage, detail: detail, offset: offset)
    }

    /// The same error with the class and the property that can't be read, unless it names them already. An error that
    /// does not come from damage stays as it is.
    package func within(className: String?, propertyName: String? = nil, path: String? = nil) -> RealmFileError {
        guard code == .damage else { return self }
        var error = self
        if let path { error.path = path }
        if error.className == nil { error.className = className }
        if error.propertyName == nil { error.propertyName = propertyName }
        return error
    }

    /// The same error with the file's path.
    func of(_ path: String) -> RealmFileError {
        var error = self
        error.path = path
        return error
    }

    /// Whether other classes of the file may still be readable.
    public var leavesOtherClasses: Bool { code == .damage && className != nil }

    public var description: String {
        let file = "the Realm file \(path)"
        switch code {
        case .notARealmFile:
            return
                "\(path) is not a Realm file, or is damaged, or is encrypted. If it is encrypted, give its key of 64 bytes."
        case .wrongKey:
            return
                "\(file) can't be decrypted: the key is wrong, or the file is damaged at its beginning. Give the 64 bytes with which the file was made, or take another copy of it. \(detail)"
        case .notEncrypted:
            return "\(file) is not encrypted, and a key was given. Open it without a key."
        case .decryptionUnavailable:
            return
                "\(file) needs a key, and this program was built without what decrypts Realm's files. Add the trait \"EncryptedRealmFiles\" where Package.swift depends on Firn: .package(url: ..., traits: [\"EncryptedRealmFiles\"]). On Linux it needs libssl-dev."
        case .truncated:
            return "\(file) is incomplete: \(detail). Copy it again, while no program has it open."
        case .unsupportedFormat(let format):
            return
                "\(file) has format \(format). This version reads the formats 2 to 24. Update Firn, or export the data with the program that made the file."
        case .interruptedUpgrade:
            return
                "\(file) was left half converted to a newer format by a program that ended meanwhile. Use the copy that Realm made before (NAME.v9.backup.realm beside it), or another one. Do not open it with Realm: what its conversion loses can't be restored."
        case .damage:
            let what =
                switch (className, propertyName) {
                case (let className?, let propertyName?): "the property \(propertyName) of the class \(className)"
                case (let className?, nil): "the class \(className)"
                default: "all of the file"
                }
            let position = offset.map { " at byte \($0)" } ?? ""
            let others = className == nil ? "" : " The other classes can be read if the damaged ones are left out."
            return
                "\(file) is damaged\(position): \(detail). This makes \(what) unreadable. Take another copy of the file.\(others)"
        case .storage(let error): return error.description
        }
    }
}

/// Calls the storage, and turns its error into a `RealmFileError`.
@inline(__always)
func stored<T>(_ call: @autoclosure () throws(StorageError) -> T) throws(RealmFileError) -> T {
    do { return try call() } catch { throw RealmFileError(.storage(error)) }
}
