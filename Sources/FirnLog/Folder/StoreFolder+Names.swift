import FirnStorage

/// The files of the store's folder, by their names. None of these functions takes a path, so what is at the store's
/// path by now makes no difference to them.
extension StoreFolder {
    /// The path of a file as it was when the store was opened, for messages.
    func path(of name: StoreFileName) -> String {
        name.folder == .store ? "\(path)/\(name.name)" : "\(path)/\(name.folder.name)/\(name.name)"
    }

    /// The path of a folder as it was when the store was opened, for messages.
    func path(of folder: StoreFileName.Folder) -> String {
        folder == .store ? path : "\(path)/\(folder.name)"
    }

    /// Returns one of the store's folders, which is opened only once. Throws `.notFound` if it does not exist.
    func folder(_ folder: StoreFileName.Folder) throws(StorageError) -> any StorageFolder {
        if folder == .store { return root }
        let held = inner.withLock { open in open[folder] }
        if let held { return held }
        let opened = try root.openFolder(folder.name)
        // Another thread may have been quicker. Then the handle that this thread has opened is closed outside of the
        // lock.
        return inner.withLock { (open) throws(Never) -> any StorageFolder in
            if let first = open[folder] { return first }
            open[folder] = opened
            return opened
        }
    }

    /// Whether one of the store's folders exists.
    func exists(_ folder: StoreFileName.Folder) throws(StorageError) -> Bool {
        if folder == .store { return true }
        return try root.status(folder.name) != nil
    }

    func open(_ name: StoreFileName, _ mode: OpenMode) throws(StorageError) -> any StorageFile {
        try folder(name.folder).open(name.name, mode)
    }

    /// Creates a file of the store.
    func create(_ name: StoreFileName) throws(StorageError) -> any StorageFile {
        try folder(name.folder).open(name.name, .create, permissions: fileMode)
    }

    /// Opens a segment or a checkpoint file for reading.
    func openToRead(_ name: StoreFileName) throws(StorageError) -> any StorageFile {
        if let file = held?.files[name] { return file }
        return try open(name, .read)
    }

    func status(_ name: StoreFileName) throws(StorageError) -> FileStatus? {
        if name.folder != .store, try !exists(name.folder) { return nil }
        return try folder(name.folder).status(name.name)
    }

    func isLink(_ name: StoreFileName) throws(LogError) -> Bool {
        try stored(folder(name.folder).isLink(name.name))
    }

    /// The names in one of the store's folders.
    func list(_ folder: StoreFileName.Folder) throws(LogError) -> [String] {
        try stored(self.folder(folder).list())
    }

    func sync(_ folder: StoreFileName.Folder) throws(StorageError) { try self.folder(folder).sync() }

    func remove(_ name: StoreFileName) throws(StorageError) { try folder(name.folder).remove(name.name) }

    func removeIfPresent(_ name: StoreFileName) throws(LogError) {
        do throws(StorageError) {
            try remove(name)
        } catch {
            if error.code != .notFound { throw LogError(error) }
        }
    }

    func createFolderIfAbsent(_ folder: StoreFileName.Folder) throws(LogError) {
        do throws(StorageError) {
            try root.createFolder(folder.name, permissions: fileMode)
        } catch {
            if error.code != .exists { throw LogError(error) }
        }
    }

    /// Throws if `log` or `checkpoint` is a symbolic link. Links within a store are never followed, so opening would
    /// fail in any case, but this error says what to do.
    func refuseLinks() throws(LogError) {
        for folder in StoreFileName.Folder.inner where try isLink(StoreFileName(folder.name)) {
            throw LogError(
                StorageError(
                    .input(
                        "it is a symbolic link, which Firn does not follow within a store; put the folder itself there, or make the store's own path a link"
                    ), operation: "open", path: path(of: folder)))
        }
    }
}
