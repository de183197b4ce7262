import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

/// What a process finds that reads the commits of another one.
@Suite("A process that follows another one", .timeLimit(.minutes(20))) struct FollowerTests {
    /// Two copies of a store go their own ways after version 2. Each seals its segment after version 3.
    private func copy(attempt: Int, isMarked: Bool = false, through last: UInt64 = 4) throws -> (bench: Bench, log: Log)
    {
        let bench = Bench()
        let log = try bench.open()
        for version in 1...last {
            try LogScript.commit(log, version: version, [200], attempt: version < 3 ? 0 : attempt)
            try log.waitUntilDurable(version)
            if version == 3 {
                if isMarked { try log.writeMark() }
                try log.sealSegment()
            }
        }
        return (bench, log)
    }

    private func start(
        _ bench: Bench, through version: UInt64
    ) throws -> (follower: LogFollower, position: LogReadPosition, manifest: Manifest) {
        let folder = try StoreFolder(path: "/store", storage: bench.another().storage)
        let follower = LogFollower(folder)
        let (position, listed) = try follower.read(
            from: LogReadPosition(version: 0), folder.readManifest(), through: version
        ) { _ in }
        return (follower, position, listed)
    }

    /// Reads from version 2 on, and returns the versions read.
    private func follow(_ bench: Bench, _ replace: () throws -> Void) throws -> [UInt64] {
        let (follower, position, listed) = try start(bench, through: 2)
        try replace()
        try follower.refresh()
        var versions: [UInt64] = []
        _ = try follower.read(from: position, listed, through: 4) { versions.append($0.version) }
        return versions
    }

    @Test("reads over the end of a segment, with and without a mark there", arguments: [false, true])
    func end(isMarked: Bool) throws {
        let (bench, log) = try copy(attempt: 0, isMarked: isMarked)
        defer { withExtendedLifetime(log) {} }
        #expect(try follow(bench) {} == [3, 4])
    }

    @Test("is in the open segment when it has read everything", arguments: [false, true])
    func openSegment(isMarked: Bool) throws {
        let (bench, log) = try copy(attempt: 0, isMarked: isMarked, through: 3)
        defer { withExtendedLifetime(log) {} }
        let position = try start(bench, through: 3).position
        #expect(position.segment == 2 && position.version == 3)
    }

    @Test(
        "refuses a sealed segment that ends with another frame than the manifest says", arguments: [false, true])
    func anotherEnd(isMarked: Bool) throws {
        let (bench, log) = try copy(attempt: 0, isMarked: isMarked)
        let (other, otherLog) = try copy(attempt: 1, isMarked: isMarked)
        defer { withExtendedLifetime((log, otherLog)) {} }
        let error = #expect(throws: LogError.self) { try follow(bench) { try bench.takeSegment(of: other) } }
        #expect(error?.code == .damage && error?.path.hasSuffix(Bench.segment) == true)
    }
}
