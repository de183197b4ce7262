import Foundation

/// Replaces a file's text.
public enum FileReplacement {
    /// Writes a file anew. It keeps its mode, and after a crash it has the old text or the new one.
    ///
    /// A link stays a link: the file that it leads to is written.
    ///
    /// - Parameters:
    ///   - path: the file, which exists.
    ///   - text: its new text.
    public static func write(_ text: String, to path: String) throws {
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        let mode = try FileManager.default.attributesOfItem(atPath: target.path)[.posixPermissions]
        let new = target.deletingLastPathComponent().appending(
            path: ".\(target.lastPathComponent).\(UUID().uuidString)")
        do {
            guard FileManager.default.createFile(atPath: new.path, contents: nil) else {
                throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: new.path])
            }
            let handle = try FileHandle(forWritingTo: new)
            try handle.write(contentsOf: Data(text.utf8))
            // The text must be there before the name is.
            try handle.synchronize()
            try handle.close()
            if let mode { try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: new.path) }
            guard rename(new.path, target.path) == 0 else {
                throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: target.path])
            }
        } catch {
            try? FileManager.default.removeItem(at: new)
            throw error
        }
    }
}
