import FirnCore
import FirnRealmFile

/// The keys that the objects of a class get in the store.
///
/// Objects keep the keys of the file, so links need no table to be followed. In formats 10 to 21 keys may come from
/// a hash of the primary key. They are too large for a store, so the objects of such a class are numbered from 0 on in
/// the file's order. The file's keys are remembered in that order: 8 bytes for each object.
struct RealmObjectKeys {
    private let isNumbered: Bool
    private var fileKeys: [Int64] = []
    private var last: Int64 = -1

    /// Keys up to here stay as they are. Half of all possible keys are left for new objects.
    private static let keptLimit: Int64 = 1 << 40

    /// - Parameter lastKey: the greatest key of the class in the file.
    init(lastKey: Int64) { isNumbered = lastKey >= Self.keptLimit }

    /// The key of the next object. Throws if the file's keys do not ascend.
    mutating func next(_ fileKey: Int64) throws(RealmFileError) -> Int64 {
        guard fileKey > last, isNumbered || fileKey < Self.keptLimit else {
            throw RealmFileError(.damage, detail: "the object \(fileKey) follows the object \(last)")
        }
        last = fileKey
        guard isNumbered else { return fileKey }
        fileKeys.append(fileKey)
        return Int64(fileKeys.count - 1)
    }

    /// The key in the store of an object of the file. Whether the object exists is not known if keys are kept.
    func key(of fileKey: Int64) -> Int64? {
        guard isNumbered else { return 0..<Self.keptLimit ~= fileKey ? fileKey : nil }
        let index = fileKeys.firstIndex(notBelow: fileKey)
        return index < fileKeys.count && fileKeys[index] == fileKey ? Int64(index) : nil
    }
}
