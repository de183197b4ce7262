import FirnBytes
import FirnStorage

/// An opener of a store, as its slot of the shared page says: a process, or one of several openers in a process.
///
/// ```
///  0 process id u64 · 8 opened at, nanoseconds since 1970, i64 · 16 version read up to u64
/// 24 oldest active version u64 · 32 active versions u64 · 40 bytes that they retain u64 · 48 two fields, 16 bytes
/// ```
struct StoreOpener: Equatable {
    static let slotCount = 60
    static let slotsStart = 256
    static let slotByteCount = 64

    let process: UInt64
    /// Nanoseconds since 1970.
    let opened: Int64
    /// The version up to which the opener has read the log. It is 0 while it opens the store, and `.max` if it reads no
    /// further (`isReadOnly`).
    let version: UInt64
    let oldest: UInt64
    /// The number of versions that are active in the opener.
    let active: UInt64
    /// The bytes that its versions before the newest retain; 0 unless some opener limits the retained bytes.
    let byteCount: UInt64

    fileprivate init(_ fields: Fields, _ slot: Int) {
        let start = Self.slotsStart + slot * Self.slotByteCount
        process = fields.u64(start)
        opened = fields.i64(start + 8)
        version = fields.u64(start + 16)
        oldest = fields.u64(start + 24)
        active = fields.u64(start + 32)
        byteCount = fields.u64(start + 40)
    }

    /// Whether the opener reads nothing that others write. It was opened read-only, or its log has failed, or it has
    /// ceased reading because another process changed the schema.
    var isReadOnly: Bool { version == .max }

    var text: String {
        var text = "process \(process)\(isReadOnly ? ", read-only" : "")  since \(TimeText.milliseconds(opened))  "
        if version == 0 { return text + "opening the store" }
        text += active == 0 ? "no active version" : Amount.of(active, one: "active version")
        if active > 0 { text += ", the oldest \(oldest)" }
        if byteCount > 0 { text += ", \(Amount.bytes(Int(clamping: byteCount))) retained" }
        return text
    }

    var json: JSON {
        .object([
            ("process", .int(process)), ("opened", .string(TimeText.milliseconds(opened))),
            ("readOnly", .bool(isReadOnly)), ("version", isReadOnly ? .null : .int(version)),
            ("activeVersions", .int(active)), ("oldestVersion", active > 0 ? .int(oldest) : .null),
            ("retainedBytes", .int(byteCount)),
        ])
    }
}

extension OpenedStore {
    /// The openers that have the store open at this moment, in the order of their slots. A slot whose owner has died
    /// is not locked any more.
    func openers() throws(ToolError) -> [StoreOpener] {
        guard page != nil, try stored(files.storage.status(files.lock)) != nil,
            let bytes = try? files.contents(of: files.shared, limit: 1 << 20),
            bytes.count >= PageState.byteCount
        else { return [] }
        return try stored { () throws(StorageError) in
            let lock = try files.storage.lockFile(files.lock, .existing)
            defer { lock.close() }
            var openers: [StoreOpener] = []
            for slot in 0..<StoreOpener.slotCount {
                let opener = bytes.withUnsafeBytes { StoreOpener(Fields($0), slot) }
                if opener.process != 0, try lock.isLocked(64 + slot, exclusive: true) { openers.append(opener) }
            }
            return openers
        }
    }
}
