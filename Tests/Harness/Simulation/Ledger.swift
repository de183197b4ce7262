import FirnCore

/// What a store must contain, whatever has happened to it: the content of each version, and which versions must not
/// be lost.
struct Ledger {
    /// The content of each version, for as long as a process may ask for it. Some of the versions above `shown` may
    /// not exist in the store.
    private(set) var contents: [UInt64: Oracle] = [0: Oracle(StoreSchema())]
    /// The time of each version whose commit has returned.
    private(set) var times: [UInt64: Int64] = [:]
    /// When the commit of each version was begun, by the time that has really passed.
    private(set) var begunAt: [UInt64: Int64] = [:]
    /// The last version that not even a power cut may lose.
    private(set) var durable: UInt64 = 0
    /// The last version that was acknowledged or seen. The end of a process must not lose it.
    private(set) var shown: UInt64 = 0
    /// The last version whose commit was begun.
    private(set) var begun: UInt64 = 0

    /// How many old versions are remembered.
    static let memory: UInt64 = 200

    /// A version is about to be written. So earlier attempts at it, and the versions after those, have turned out to
    /// be lost.
    mutating func begin(_ version: UInt64, _ content: Oracle, at passed: Int64) {
        forget(after: version - 1)
        contents[version] = content
        begunAt[version] = passed
        begun = version
        if version > Self.memory { contents[version - Self.memory] = nil }
    }

    /// A commit has returned.
    mutating func acknowledge(_ version: UInt64, time: Int64?, isDurable: Bool) {
        shown = max(shown, version)
        if isDurable { durable = max(durable, version) }
        if let time { times[version] = time }
    }

    /// A commit has failed with an error that says that its version does not exist.
    mutating func withdraw(_ version: UInt64) { forget(after: version - 1) }

    /// The store is at this version after a power cut, and no later version will come back.
    mutating func reset(to version: UInt64) {
        forget(after: version)
        shown = version
        durable = version
    }

    /// The power has failed: what was not durable may be lost.
    mutating func losePower() { shown = durable }

    private mutating func forget(after version: UInt64) {
        while begun > version {
            contents[begun] = nil
            times[begun] = nil
            begunAt[begun] = nil
            begun -= 1
        }
    }
}
