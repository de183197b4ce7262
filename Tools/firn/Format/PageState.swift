import FirnBytes
import FirnStorage

/// The contents of the shared page: the file `shared`. The tool reads this file and never maps it, since mapping could
/// change it.
///
/// ```
///  0 magic FIRNPAGE · 8 format u32 · 12 epoch u32 · 16 store id, first half u64 · 24 CRC of 0 ..< 24, u32 · 28 zero
/// 32 durable mark u64 · 40 its check · 48 durable mark u64 · 56 its check
///    (check: mark ^ store id's first half ^ "MARK")
/// 64 published version u64 · 72 failure mark u64 · 80 wake word u32 · 88 manifest's generation u64
/// 96 writer's process id u64 · 240 device and 248 inode of the file in which the page was made u64
/// ```
///
/// The durable mark is written to the two pairs in turn, so that one of them is valid at any moment. A pair whose
/// check does not agree is ignored.
struct PageState: Equatable {
    static let byteCount = 4096
    private static let magic: UInt64 = 0x4547_4150_4E52_4946
    private static let salt: UInt64 = 0x4D41_524B

    var epoch: UInt32
    var storeHigh: UInt64
    var durable: UInt64
    var published: UInt64
    var hasFailed: Bool
    var writerProcess: UInt64
    /// Whether the page was made in another file than the one that was read: somebody has copied the store's folder.
    var isCopied: Bool

    /// Reads the page; nil if the bytes are not a page.
    ///
    /// - Parameter file: the file that has the bytes.
    static func read(_ bytes: UnsafeRawBufferPointer, in file: FileIdentity) -> PageState? {
        guard bytes.count >= byteCount else { return nil }
        let fields = Fields(bytes)
        guard fields.u64(0) == magic, fields.u32(8) == FormatNumbers.format,
            fields.u64(24) == UInt64(fields.crc(to: 24))
        else { return nil }
        let storeHigh = fields.u64(16)
        var durable: UInt64 = 0
        for pair in [32, 48] where fields.u64(pair + 8) == fields.u64(pair) ^ storeHigh ^ salt {
            durable = max(durable, fields.u64(pair))
        }
        return PageState(
            epoch: fields.u32(12), storeHigh: storeHigh, durable: durable, published: fields.u64(64),
            hasFailed: fields.u64(72) != 0, writerProcess: fields.u64(96),
            isCopied: fields.u64(248) != 0
                && FileIdentity(device: fields.u64(240), number: fields.u64(248)) != file)
    }
}
