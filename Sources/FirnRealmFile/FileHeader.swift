import FirnStorage

/// The first bytes of a file, before anything is decrypted.
struct FileHeader {
    /// Whether the file has any content. Realm takes an empty file for a database without commits.
    let isPresent: Bool

    init(_ file: any StorageFile, _ key: [UInt8]?) throws(RealmFileError) {
        let size = try stored(file.size())
        let bytes = try stored(file.read(RealmFile.headerByteCount, at: 0))
        isPresent = size > 0
        guard isPresent else { return }
        let isPlain = bytes.withUnsafeBytes(RealmFile.isHeader)
        if key != nil {
            if isPlain { throw RealmFileError(.notEncrypted) }
            guard PageCipher.plainByteCount(of: size) > 0 else {
                throw RealmFileError(.truncated, detail: "an encrypted file has at least 8192 bytes, this has \(size)")
            }
        } else {
            guard bytes.count == RealmFile.headerByteCount else {
                throw RealmFileError(.truncated, detail: "its header has 24 bytes, and the file \(size)")
            }
            if !isPlain { throw RealmFileError(.notARealmFile) }
        }
    }
}

/// The root that the header chooses.
struct FileRoot {
    let reference: Int
    let format: Int
    /// Whether the file is in streaming form.
    let isStreaming: Bool

    var isKnown: Bool { 2...24 ~= format }
}

extension RealmFile {
    /// Whether a file that begins with these bytes has Realm's header. An encrypted file has it only when it is
    /// decrypted.
    package static func isHeader(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count >= 20 && bytes[16..<20].elementsEqual(magic)
    }

    static func root(_ pages: FilePages) throws(RealmFileError) -> FileRoot {
        guard pages.byteCount >= headerByteCount else {
            throw RealmFileError(.truncated, detail: "its header has 24 bytes, and the file \(pages.byteCount)")
        }
        try pages.prepare(0, headerByteCount)
        let bytes = UnsafeRawBufferPointer(start: pages.base, count: headerByteCount)
        // Only with a key whose second half is right: the first one decrypts.
        guard isHeader(bytes) else {
            throw RealmFileError(.wrongKey, detail: "The last 32 bytes fit, the first 32 do not.")
        }
        let slot = Int(bytes[23] & 1)
        let format = Int(bytes[20 + slot])
        let root = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: slot * 8, as: UInt64.self))
        guard slot == 0, root == .max else {
            return FileRoot(reference: try checked(root, pages), format: format, isStreaming: false)
        }
        let footer = 16
        guard pages.byteCount >= headerByteCount + footer else {
            throw RealmFileError(.truncated, detail: "it ends before its footer")
        }
        let start = pages.byteCount - footer
        try pages.prepare(start, footer)
        let found = UnsafeRawBufferPointer(start: pages.base + start, count: footer)
        guard found.loadUnaligned(fromByteOffset: 8, as: UInt64.self) == UInt64(littleEndian: streamingCookie) else {
            throw RealmFileError(.truncated, detail: "it does not end with the footer of a file that was copied whole")
        }
        let reference = UInt64(littleEndian: found.loadUnaligned(as: UInt64.self))
        return FileRoot(reference: try checked(reference, pages), format: format, isStreaming: true)
    }

    private static func checked(_ reference: UInt64, _ pages: FilePages) throws(RealmFileError) -> Int {
        guard reference < UInt64(pages.byteCount) else {
            throw RealmFileError(
                .truncated,
                detail: "its newest commit is at byte \(reference), and the file has \(pages.byteCount) bytes")
        }
        guard reference & 7 == 0 else { throw .damage("the root is not aligned", at: Int(reference)) }
        return Int(reference)
    }
}
