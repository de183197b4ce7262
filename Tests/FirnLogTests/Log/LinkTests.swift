import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Links within a store's folder, on the system's own files.
@Suite("Links", .timeLimit(.minutes(20))) struct LinkTests {
    private let parent = TemporaryFolder()
    private let storage = PosixStorage.shared

    private func options(_ name: String, _ access: LogOptions.Access = .readWrite(waitMilliseconds: 0)) -> LogOptions {
        var options = LogOptions(folder: parent.path + "/" + name, access: access)
        options.reserveByteCount = 0
        options.segmentByteCount = 4096
        return options
    }

    /// Two stores, the first of which has written checkpoints.
    private func makeStores() throws {
        for (name, count) in [("victim", 3), ("other", 0)] {
            let log = try Log.open(options(name), storage: storage)
            for version in 1..<UInt64(count + 1) {
                try LogScript.commit(log, version: version, [100])
                try log.waitUntilDurable(version)
                try log.sealSegment()
                let file = try log.beginCheckpoint(start: 0)
                try log.publish(
                    try file.finish(version: version, time: 0, earlier: [], state: []), keepingVersionsAfter: version)
            }
            try log.removeUnneeded(held: [])
            try log.close()
        }
    }

    private func put(_ name: String, inPlaceOf inner: String) throws {
        let path = parent.path + "/other/" + inner
        try storage.rename(path, to: path + ".away")
        #expect(symlink("../\(name)/\(inner)", path) == 0)
    }

    private func names() throws -> [String] {
        try ["log", "checkpoint"].flatMap { try storage.list(parent.path + "/victim/" + $0) }.sorted()
    }

    @Test(
        "a folder of the store that is a link is refused, and nothing behind the link is changed",
        arguments: ["log", "checkpoint"])
    func folders(_ inner: String) throws {
        try makeStores()
        try put("victim", inPlaceOf: inner)
        try storage.rename(parent.path + "/other/\(inner).away", to: parent.path + "/\(inner).away")
        let before = try names()
        for access in [LogOptions.Access.readWrite(waitMilliseconds: 0), .readOnly] {
            let error = #expect(throws: LogError.self) { try Log.open(options("other", access), storage: storage) }
            let text = error.map { "\($0)" } ?? ""
            #expect(text.contains("/other/\(inner)") && text.contains("symbolic link"), "\(text)")
        }
        #expect(try names() == before)
        try storage.remove(parent.path + "/other/" + inner)
        try storage.rename(parent.path + "/\(inner).away", to: parent.path + "/other/" + inner)
        for (name, version) in [("victim", 3), ("other", 0)] {
            let log = try Log.open(options(name), storage: storage)
            #expect(log.recovery.lastVersion == UInt64(version))
            try log.close()
        }
    }

    @Test("a link that appears while the store is open is refused before anything is removed")
    func whileOpen() throws {
        try makeStores()
        let log = try Log.open(options("other"), storage: storage)
        try put("victim", inPlaceOf: "checkpoint")
        let before = try names()
        #expect(throws: LogError.self) { try log.removeUnneeded(held: []) }
        #expect(throws: LogError.self) { try log.beginCheckpoint(start: 0) }
        #expect(try names() == before)
        // What was written is in the segment, but the store at this path is no longer whole.
        let error = #expect(throws: LogError.self) { try log.close() }
        #expect(error.map { "\($0)" }?.contains("moved, replaced or removed") == true)
        #expect(try names() == before)
    }

    @Test("no store is made if one of its folders is a link", arguments: ["log", "checkpoint"])
    func newStore(_ inner: String) throws {
        try storage.createFolder(parent.path + "/elsewhere")
        try storage.createFolder(parent.path + "/new")
        #expect(symlink("../elsewhere", parent.path + "/new/\(inner)") == 0)
        #expect(throws: LogError.self) { try Log.open(options("new"), storage: storage) }
        #expect(try storage.list(parent.path + "/elsewhere").isEmpty)
        #expect(try storage.list(parent.path + "/new") == [inner])
    }

    @Test("the store's own folder may be a link")
    func wholeStore() throws {
        try makeStores()
        #expect(symlink("victim", parent.path + "/link") == 0)
        let log = try Log.open(options("link"), storage: storage)
        #expect(log.recovery.lastVersion == 3)
        try log.close()
    }
}
