import Foundation

extension URL {
    /// The value of `path`. The first read in a process takes a tenth of `path`'s time, because for `path` Foundation
    /// prepares what only relative URLs need.
    var storePath: String {
        guard baseURL == nil else { return path }
        var path = path(percentEncoded: false)
        // The URL of a folder that existed when the URL was made ends with a slash.
        while path.hasSuffix("/"), path.utf8.count > 1 { path.removeLast() }
        return path
    }

    /// `storePath`, if the URL names a folder on this machine.
    ///
    /// - Parameter what: what the URL names, for the message.
    /// - Throws: `.invalidInput` if the URL is no file URL, names a file of another machine, or contains a NUL. The
    ///   system would cut it off there.
    func checkedStorePath(of what: String) throws -> String {
        // Programs write `URL(string: "/path")` where they mean `URL(fileURLWithPath: "/path")`.
        guard isFileURL || scheme == nil && path.hasPrefix("/") else {
            throw Realm.Error(.invalidInput, "\(what) must name a local folder.", fileURL: self)
        }
        if !absoluteString.hasPrefix("file:///"), let host = host(percentEncoded: false), !host.isEmpty,
            host.lowercased() != "localhost"
        {
            throw Realm.Error(
                .invalidInput, "\(what) names the machine \(host). It must name a local folder, as file:///path does.",
                fileURL: self)
        }
        let path = storePath
        guard !path.utf8.contains(0) else {
            throw Realm.Error(
                .invalidInput, "\(what) contains a NUL (%00), at which the system would cut the path off.",
                fileURL: self)
        }
        return path
    }
}
