import Foundation

/// The Swift files in files and folders.
public struct SwiftFiles {
    /// Where tools write: the program's own files are elsewhere.
    private static let foreign: Set<Substring> = [".build", "DerivedData", "Pods", "Carthage"]

    /// The files, sorted.
    public private(set) var files: [String] = []
    private var known: Set<String> = []
    /// The folders that are left out.
    public private(set) var skipped: [String] = []

    /// Adds a file, or the Swift files in a folder.
    ///
    /// - Returns: whether there is a file or folder at the path.
    public mutating func add(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return false }
        guard isFolder.boolValue else {
            append([path])
            return true
        }
        var found: [String] = []
        var hidden: Set<String> = []
        let enumerator = FileManager.default.enumerator(atPath: path)
        while let name = enumerator?.nextObject() as? String {
            let parts = name.split(separator: "/")
            guard let last = parts.last else { continue }
            if Self.foreign.contains(last) {
                var isFolder: ObjCBool = false
                _ = FileManager.default.fileExists(atPath: path + "/" + name, isDirectory: &isFolder)
                if isFolder.boolValue {
                    hidden.insert(name)
                    enumerator?.skipDescendants()
                    continue
                }
            }
            guard name.hasSuffix(".swift") else { continue }
            if let number = parts.dropLast().firstIndex(where: { $0.hasPrefix(".") }) {
                // A hidden folder is named only if it has something to convert.
                hidden.insert(parts[...number].joined(separator: "/"))
            } else if !last.hasPrefix(".") {
                found.append(path + "/" + name)
            }
        }
        append(found.sorted())
        skipped += hidden.sorted().map { path + "/" + $0 }
        return true
    }

    /// Adds files that are not there yet, by whatever path.
    private mutating func append(_ paths: [String]) {
        for path in paths where known.insert(URL(fileURLWithPath: path).resolvingSymlinksInPath().path).inserted {
            files.append(path)
        }
    }

    /// No files.
    public init() {}
}
