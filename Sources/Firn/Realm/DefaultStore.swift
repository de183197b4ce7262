import FirnStorage
import Foundation
import Synchronization

/// Where the default store lies on systems that have no documents folder for each program.
///
/// That is `$XDG_DATA_HOME/PROGRAM/default.firn`, or `$HOME/.local/share/PROGRAM/default.firn` without that variable,
/// as the XDG Base Directory Specification says. Earlier states of Firn had the default store in the documents folder
/// or in the working folder. A program whose store exists only there goes on using it, and gets a warning. An empty
/// store in its stead would look like lost data.
struct DefaultStore {
    /// The store's folder by today's rule.
    let current: URL
    /// The store's folder by the earlier rule.
    let earlier: URL

    /// - Parameters:
    ///   - environment: the process's variables.
    ///   - home: the user's home folder, if `HOME` names none.
    ///   - program: the program's name.
    ///   - earlier: the store's folder by the earlier rule.
    init(environment: [String: String], home: URL, program: String, earlier: URL) {
        self.earlier = earlier
        // The specification ignores a path that is not absolute.
        func folder(_ name: String) -> URL? {
            environment[name].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0) : nil }
        }
        let data = folder("XDG_DATA_HOME") ?? (folder("HOME") ?? home).appendingPathComponent(".local/share")
        current = data.appendingPathComponent(program).appendingPathComponent("default.firn")
    }

    /// Whether a folder holds a store.
    private static func isStore(_ url: URL) -> Bool {
        FileManager.default.fileExists(atPath: url.appendingPathComponent("manifest").path)
    }

    /// The folder to use: the earlier one if it alone holds a store, otherwise today's.
    var url: URL { !Self.isStore(current) && Self.isStore(earlier) ? earlier : current }

    /// The warning for a program that opens the default store; nil if there is no store at the earlier folder.
    var warning: String? {
        guard Self.isStore(earlier) else { return nil }
        let line = "Realm.Configuration.defaultConfiguration.fileURL = URL(fileURLWithPath: "
        guard Self.isStore(current) else {
            return
                "The default store is \(earlier.path), where earlier states of Firn had it. It belongs at \(current.path). Move it there while no program has it open, or pin it: \(line)\"\(earlier.path)\")"
        }
        return
            "The default store is \(current.path). There is another one at \(earlier.path), where earlier states of Firn had it, which is not used. Remove it, or pin it: \(line)\"\(earlier.path)\")"
    }

    #if !canImport(Darwin)
        /// The default store of this process.
        static var own: DefaultStore {
            DefaultStore(
                environment: ProcessInfo.processInfo.environment, home: FileManager.default.homeDirectoryForCurrentUser,
                program: ProcessInfo.processInfo.processName, earlier: earlierURL)
        }
    #endif

    /// `default.firn` in the user's documents folder, or in the working folder if there is none.
    static var earlierURL: URL {
        let folder =
            FileManager.default.urls(for: .documentDirectory, in: .userDomainMask).first
            .flatMap { FileManager.default.fileExists(atPath: $0.path) ? $0 : nil }
            ?? URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
        return folder.appendingPathComponent("default.firn")
    }

    // Whether the warning was logged. Atomic: stores are opened on any thread.
    private static let hasWarned = Atomic<Bool>(false)

    /// The warning for a program that opens a store beside the default one, such as one for each user. Nil if there is
    /// nothing to warn of.
    ///
    /// - Parameter url: the store's folder, in the folder that `current` lies in.
    func warning(beside url: URL) -> String? {
        let old = earlier.deletingLastPathComponent().appendingPathComponent(url.lastPathComponent)
        guard !Self.isStore(url), Self.isStore(old) else { return nil }
        return
            "There is no store \(url.path) yet, but there is one at \(old.path), beside which earlier states of Firn had the default store. Move that one while no program has it open, or set fileURL = URL(fileURLWithPath: \"\(old.path)\")"
    }

    /// Makes the folder that holds the default store and those beside it, if a configuration names one of them. Logs
    /// the warning, if there is one; for the default store, only once.
    static func prepare(for configuration: Realm.Configuration) throws {
        #if !canImport(Darwin)
            guard let path = configuration.fileURL?.storePath,
                let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
            else { return }
            var parent = path[..<slash]
            while parent.hasSuffix("/") { parent.removeLast() }
            // Most programs name a store of their own, so this is all that each opening costs them.
            guard path.hasSuffix("/default.firn") || parent.hasSuffix("/" + ProcessInfo.processInfo.processName) else {
                return
            }
            let own = own
            let (url, folder) = (URL(fileURLWithPath: path), own.current.deletingLastPathComponent())
            let isBeside = url.deletingLastPathComponent().path == folder.path
            let warning =
                if path == own.url.path {
                    own.warning.flatMap { hasWarned.exchange(true, ordering: .relaxed) ? nil : $0 }
                } else {
                    isBeside ? own.warning(beside: url) : nil
                }
            if let warning { RealmLogger.shared.log(.warn, warning) }
            guard isBeside, !configuration.readOnly else { return }
            do {
                // The specification wants folders that only the user can read.
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            } catch {
                var reason = error.localizedDescription
                while reason.hasSuffix(".") { reason.removeLast() }
                throw Realm.Error(
                    .filePermissionDenied,
                    "The folder of the default store can't be made: \(reason). Set XDG_DATA_HOME to a folder that can be written, or Realm.Configuration.defaultConfiguration.fileURL.",
                    fileURL: configuration.fileURL)
            }
        #endif
    }
}
