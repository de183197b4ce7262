/// The name of a file or folder of a store: in which of the store's folders it is, and its name there.
struct StoreFileName: Hashable, Sendable {
    /// A folder of a store.
    enum Folder: Hashable, Sendable {
        /// The store's own folder.
        case store
        case log
        case checkpoints

        /// The folders in the store's own.
        static var inner: [Folder] { [.log, .checkpoints] }

        /// Its name in the store's folder; empty for that folder itself.
        var name: String {
            switch self {
            case .store: ""
            case .log: "log"
            case .checkpoints: "checkpoint"
            }
        }
    }

    var folder: Folder
    var name: String

    init(_ name: String, in folder: Folder = .store) {
        self.folder = folder
        self.name = name
    }
}
