/// The name of a file or folder of a store: the folder of the store that holds it, and its name there.
struct StoreFileName: Hashable, Sendable {
    /// A folder of a store.
    enum Folder: Hashable, Sendable {
        /// The store's own folder.
        case store
        case log
        case checkpoints

        /// The folders inside the store's own folder.
        static var inner: [Folder] { [.log, .checkpoints] }

        /// The folder's name in the store's own folder; empty for the store's own folder.
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
