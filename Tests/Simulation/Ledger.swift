import FirnCore

/// What a store must hold after anything that has happened to it: the content of each version, and which of them may not be lost.
struct Ledger {
    /// What each version holds, for as long as it may be asked for. Of the versions above `shown` some may never have been.
    private(set) var contents: [UInt64: Oracle] = [0: Oracle(StoreSchema())]
    /// When a version was committed, where its commit has returned.
    private(set) var times: [UInt64: Int64] = [:]
    /// The last version that even a power cut may not lose.
    private(set) var durable: UInt64 = 0
    /// The last version that was acknowledged or seen: the end of a process may not lose it.
    private(set) var shown: UInt64 = 0
    /// The last version whose writing was begun.
    private(set) var begun: UInt64 = 0

    /// How many old versions are remembered.
    static let memory: UInt64 = 200

    /// A version is about to be written. Earlier attempts at it, and what came after those, have been found not to be there.
    mutating func begin(_ version: UInt64, _ content: Oracle) {
        forget(after: version - 1)
        contents[version] = content
        begun = version
        if version > Self.memory { contents[version - Self.memory] = nil }
    }

    /// A commit has returned.
    mutating func acknowledge(_ version: UInt64, time: Int64?, isDurable: Bool) {
        shown = max(shown, version)
        if isDurable { durable = max(durable, version) }
        if let time { times[version] = time }
    }

    /// An attempt was told never to have been.
    mutating func withdraw(_ version: UInt64) { forget(after: version - 1) }

    /// The store is at this version after a power cut, and nothing behind it will come back.
    mutating func settle(at version: UInt64) {
        forget(after: version)
        shown = version
        durable = version
    }

    /// The power has gone: what was not durable may be lost.
    mutating func losePower() { shown = durable }

    private mutating func forget(after version: UInt64) {
        while begun > version {
            contents[begun] = nil
            times[begun] = nil
            begun -= 1
        }
    }
}
