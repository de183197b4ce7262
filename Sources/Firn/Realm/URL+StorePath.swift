import Foundation

extension URL {
    /// `path`, found in a tenth of the time when it is first read in a process: Foundation then prepares what only
    /// relative URLs need.
    var storePath: String {
        guard baseURL == nil else { return path }
        var path = path(percentEncoded: false)
        // The URL of a folder that existed when the URL was made ends with a slash.
        while path.hasSuffix("/"), path.utf8.count > 1 { path.removeLast() }
        return path
    }
}
