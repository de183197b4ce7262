import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

/// Several openers of one log: whose turn it is, and what each reads of the others.
@Suite("Turns", .timeLimit(.minutes(20))) struct TurnTests {
    /// Reads what others have published; returns the versions.
    @discardableResult
    private func readPublished(_ log: Log) throws -> [UInt64] {
        var versions: [UInt64] = []
        if let progress = try log.readPublished({ versions.append($0.version) }) { log.advance(to: progress) }
        return versions
    }

    /// Makes it this log's turn; returns the versions read on the way.
    @discardableResult
    private func takeTurn(_ log: Log) throws -> [UInt64] {
        var versions: [UInt64] = []
        try log.awaitWriting()
        let progress = try log.readToEnd { commit in
            versions.append(commit.version)
            while let part = try commit.next() { #expect(part.kind == .changes) }
        }
        log.advance(to: progress)
        try log.beginWriting()
        return versions
    }

    private func isLocked(_ body: () throws -> Void) -> Bool {
        do {
            try body()
            return false
        } catch {
            if case .locked = (error as? LogError)?.code { return true }
            Issue.record("\(error)")
            return false
        }
    }

    private func check(_ bench: Bench, lengths: [UInt64: [Int]], acknowledged: UInt64, context: String) throws {
        let script = LogScript([])
        script.lengths = lengths
        script.acknowledged = acknowledged
        script.begun = UInt64(lengths.count)
        try script.check(try bench.open(), context)
    }

    /// The store shows a version of another process before the log has moved on to it.
    @Test("what others have published can be read before this log has moved on to it") func readBeforeAdvance() throws {
        let bench = Bench()
        let first = try bench.open()
        let second = try bench.another().open()
        for _ in 1...3 { try first.waitUntilDurable(try bench.commit(first)) }
        #expect(second.writtenVersion == 0)
        var versions: [UInt64] = []
        try second.replay(after: 1, through: 3) { commit in
            versions.append(commit.version)
            while try commit.next() != nil {}
        }
        #expect(versions == [2, 3])
        let error = #expect(throws: LogError.self) { try second.replay(after: 1, through: 4) { _ in } }
        #expect(error?.code == .versionNotHere(4))
    }

    @Test("two openers write in turns, over several segments, and each reads what the other wrote") func turns() throws
    {
        let a = Bench { $0.segmentByteCount = 4096 }
        let b = a.another()
        let logs = try [a.open(), b.open()]
        var lengths: [UInt64: [Int]] = [:]
        var chance = SeededRandom(seed: 11)
        var writer = 0
        var read: [UInt64] = [0, 0]
        for version in 1...120 as ClosedRange<UInt64> {
            if chance.below(4) == 0 {
                let next = writer ^ 1
                #expect(isLocked { try logs[next].awaitWriting() })
                logs[writer].releaseWriting()
                let seen = try takeTurn(logs[next])
                #expect(seen == Array(read[next] + 1..<version))
                writer = next
            }
            #expect(isLocked { _ = try logs[writer ^ 1].beginCommit(version: version) })
            lengths[version] = (0...chance.below(2)).map { _ in chance.below(900) }
            try LogScript.commit(logs[writer], version: version, lengths[version]!)
            #expect(
                try readPublished(logs[writer ^ 1]).allSatisfy { $0 < version },
                "a version was read before it was durable")
            try logs[writer].waitUntilDurable(version)
            read[writer] = version
            read[writer ^ 1] = logs[writer ^ 1].publishedVersion
            if chance.below(2) == 0 {
                #expect(try readPublished(logs[writer ^ 1]) == Array(read[writer ^ 1] + 1...version))
                read[writer ^ 1] = version
            }
        }
        #expect(logs[writer].writer!.tail.snapshot().manifest.segments.count > 10)
        #expect(logs[writer].writer!.tail.snapshot().manifest.epoch == 1, "nobody died")
        // A process that does not write leaves the log alone when it closes.
        try logs[writer ^ 1].close()
        try logs[writer].close()
        try check(a.another(), lengths: lengths, acknowledged: 120, context: "after turns")
    }

    @Test("an opener that comes while another writes reads what is published, and no more") func joining() throws {
        let a = Bench { $0.segmentByteCount = 4096 }
        let log = try a.open()
        for _ in 1...9 { try log.waitUntilDurable(try a.commit(log, [700])) }
        try a.commit(log, [700])
        let other = try a.another().open()
        #expect(other.recovery.outcome == .clean && other.recovery.lastVersion == 9 && other.publishedVersion == 9)
        var seen: [UInt64] = []
        try other.replay(after: 0, through: 9) { seen.append($0.version) }
        #expect(seen == Array(1...9))
        try log.waitUntilDurable(10)
        #expect(try readPublished(other) == [10])
    }

    @Test(
        "a writer that dies is followed by another, with all that it had acknowledged, under a new epoch"
    )
    func death() throws {
        for torn in [false, true] {
            let a = Bench()
            let log = try a.open()
            let b = a.another()
            let other = try b.open()
            var lengths: [UInt64: [Int]] = [1: [300], 2: [500], 3: torn ? [4000] : [400]]
            for version in 1...2 as ClosedRange<UInt64> {
                try log.waitUntilDurable(try a.commit(log, lengths[version]!))
            }
            if torn {
                // The next write is cut short.
                a.storage.crashAt = a.storage.callCount
                _ = try? a.commit(log, lengths[3]!)
            } else {
                // The commit is complete, although it was never acknowledged.
                try a.commit(log, lengths[3]!)
                a.storage.disk.kill(a.storage)
            }
            let seen = try takeTurn(other)
            #expect(seen == [1, 2, 3] || torn && seen == [1, 2])
            let manifest = other.writer!.tail.snapshot().manifest
            #expect(manifest.epoch == 2 && other.publishedVersion == other.durableVersion)
            let last = other.writtenVersion
            lengths[last + 1] = [200]
            lengths = lengths.filter { $0.key <= last + 1 }
            try other.waitUntilDurable(try b.commit(other))
            // A third process opens the store in the new epoch, beside the second one.
            let third = try a.another().open()
            #expect(third.publishedVersion == last + 1)
            try check(b.afterPowerCut(keeping: 0), lengths: lengths, acknowledged: last + 1, context: "torn: \(torn)")
        }
    }

    @Test(
        "a writer whose sync failed gives no other process wrong data: its successor recovers the log under a new epoch"
    )
    func failedSync() throws {
        for residue in [SimulatedFault.Residue.nothing, .some, .all] {
            let a = Bench()
            let log = try a.open()
            let b = a.another()
            let other = try b.open()
            try log.waitUntilDurable(try a.commit(log))
            #expect(try readPublished(other) == [1])
            a.storage.inject(
                SimulatedFault(.io, residue: residue) { $0.operation == .sync && $0.path.hasSuffix("segment") })
            try a.commit(log)
            #expect(throws: LogError.self) { try log.waitUntilDurable(2) }
            a.storage.removeFaults()
            #expect(try readPublished(other).isEmpty)
            #expect(log.shouldReleaseWriting && log.isTimeSliceOver)
            log.releaseWriting()
            // Version 2 was never acknowledged, but it is intact, and is rewritten.
            #expect(try takeTurn(other) == [2])
            #expect(other.writer!.tail.snapshot().manifest.epoch == 2)
            #expect(throws: LogError.self) { try log.awaitWriting() }
            #expect(!log.hasUnreadVersions && log.publishedVersion == 1)
            try other.waitUntilDurable(try b.commit(other))
            try check(
                b.afterPowerCut(keeping: 0), lengths: [1: [200], 2: [200], 3: [200]], acknowledged: 3,
                context: "residue \(residue)")
        }
    }

    @Test(
        "wherever a process stops while it takes over from one that died, nothing acknowledged is lost",
        arguments: [true, false])
    func stopsDuringRecovery(powerGoes: Bool) throws {
        var calls = 0
        var stops = 0
        var stop = 0
        while stop <= calls {
            let a = Bench { $0.segmentByteCount = 4096 }
            let log = try a.open()
            let b = a.another()
            let other = try b.open()
            for _ in 1...4 { try log.waitUntilDurable(try a.commit(log, [900])) }
            // One complete commit, and half of another.
            try a.commit(log, [900])
            a.storage.crashAt = a.storage.callCount
            _ = try? a.commit(log, [900])
            let before = b.storage.callCount
            if stop > 0 { b.storage.crashAt = before + stop - 1 }
            var acknowledged: UInt64 = 4
            do {
                try takeTurn(other)
                acknowledged = other.writtenVersion
                try other.waitUntilDurable(try b.commit(other, [900]))
                acknowledged += 1
            } catch {
                stops += 1
            }
            if stop == 0 {
                calls = b.storage.callCount - before
                #expect(acknowledged >= 6)
            } else {
                let context = "stopped at call \(stop) of \(calls)"
                #expect(b.storage.isStopped, "\(context)")
                var lengths: [UInt64: [Int]] = [:]
                for version in 1...7 as ClosedRange<UInt64> { lengths[version] = [900] }
                let after = powerGoes ? b.afterPowerCut(keeping: 0.5, seed: UInt64(stop)) : b.another()
                try check(after, lengths: lengths, acknowledged: acknowledged, context: context)
            }
            stop += 1
        }
        #expect(stops == calls && calls > 20)
    }

    @Test("the slots of the shared page list the living processes") func slots() throws {
        let a = Bench()
        let log = try a.open()
        #expect(log.otherProcesses.isEmpty && log.oldestVersionNeededByOthers == nil && log.isAlone)
        let b = a.another()
        let other = try b.open()
        var reading = a.another()
        reading.options.access = .readOnly
        let reader = try reading.open()
        #expect(!log.isAlone)
        other.publishHoldings(version: 7, oldest: 3, activeCount: 5, retainedByteCount: 70)
        reader.publishHoldings(version: 9, oldest: 9, activeCount: 1, retainedByteCount: 0)
        var others = log.otherProcesses
        #expect(others.map(\.version) == [7, .max] && others.map(\.oldestVersion) == [3, 9])
        #expect(others.map(\.activeVersionCount) == [5, 1])
        #expect(others.allSatisfy { $0.processID == currentProcessID() && $0.openedAt > 0 })
        #expect(log.oldestVersionNeededByOthers == 7)
        // The newest version of a process does not count.
        #expect(log.heldByOthers.versionCount == 4 && log.heldByOthers.byteCount == 70)
        #expect(other.heldByOthers.versionCount == 0)
        #expect(!other.isAskedForRetainedBytes)
        log.askForRetainedBytes()
        #expect(other.isAskedForRetainedBytes && reader.isAskedForRetainedBytes && !log.isAskedForRetainedBytes)
        // One process dies, the other closes the log.
        b.storage.disk.kill(b.storage)
        others = log.otherProcesses
        #expect(others.map(\.version) == [.max])
        #expect(log.heldByOthers.versionCount == 0 && log.heldByOthers.byteCount == 0)
        try reader.close()
        #expect(log.otherProcesses.isEmpty && log.isAlone)
        // A dead process's slot is used again, and shows nothing of its old content.
        let third = try a.another().open()
        #expect(log.otherProcesses.map(\.version) == [0])
        try third.close()
    }

    @Test("a store can have as many openers as there are slots, and one more gets an error") func slotLimit() throws {
        let a = Bench()
        var logs = [try a.open()]
        for _ in 1..<LogLimits.openerCount { logs.append(try a.another().open()) }
        #expect(logs.count == 60)
        let error = #expect(throws: LogError.self) { _ = try a.another().open() }
        #expect(error?.code == .tooManyProcesses)
        try logs.removeLast().close()
        logs.append(try a.another().open())
        #expect(logs[0].otherProcesses.count == 59)
    }

    @Test("one compactor at a time over all processes, and its lock dies with its process") func compactor() throws {
        let a = Bench()
        let log = try a.open()
        let b = a.another()
        let other = try b.open()
        let ran = try log.withCompactorLock { () -> Bool in
            #expect(try log.withCompactorLock { true } == nil)
            return try other.withCompactorLock { true } == nil
        }
        #expect(ran == true)
        let died: Bool? = try other.withCompactorLock {
            b.storage.disk.kill(b.storage)
            return try log.withCompactorLock { true } == true
        }
        #expect(died == true)
    }

    @Test("an opener waits while another one recovers the store, as long as its options say") func opening() throws {
        let a = Bench()
        try a.open().close()
        // Like an opener that has got as far as the locks.
        let lock = try a.storage.disk.newProcess().lockFile("/store/lock")
        #expect(try lock.tryLock(0, exclusive: true))
        #expect(try lock.tryLock(2, exclusive: true))
        var waiting = a.another()
        waiting.options.access = .readWrite(waitMilliseconds: 20)
        #expect(isLocked { _ = try waiting.open() })
        lock.close()
        _ = try waiting.open()
    }

    @Test(
        "a waiting process gets the lock when the other one is done, idle, or dead",
        arguments: [0, 1, 2])
    func waiting(_ end: Int) throws {
        let disk = SimulatedDisk(seed: 1)
        let storage = disk.newProcess()
        var options = LogOptions(folder: "/store")
        options.idleMilliseconds = end == 1 ? 1 : 60_000
        let log = try Log.open(options, storage: storage)
        let other = try Log.open(options, storage: disk.newProcess())
        try LogScript.commit(log, version: 1, [100])
        try log.waitUntilDurable(1)
        let waiter = try StorageThread.start(name: "waits") {
            do { try takeTurn(other) } catch { Issue.record("\(error)") }
        }
        switch end {
        case 0:
            try #require(TestTimeout.awaits { log.shouldReleaseWriting })
            log.releaseWriting()
        case 1:
            // The follower's thread does the same.
            try #require(TestTimeout.awaits { log.takeIdleReleaseRequest() })
            log.releaseWriting()
        default: disk.kill(storage)
        }
        waiter.join()
        #expect(other.isWriting && other.writtenVersion == 1)
        try LogScript.commit(other, version: 2, [100])
        try other.waitUntilDurable(2)
        if end < 2 { #expect(try readPublished(log) == [2]) }
    }

    @Test("a process that does not write starts no thread for it, and releases the lock when it is idle")
    func neverWrote() throws {
        let disk = SimulatedDisk(seed: 1)
        let made = try Log.open(LogOptions(folder: "/store"), storage: disk.newProcess())
        try LogScript.commit(made, version: 1, [100])
        try made.close()
        var options = LogOptions(folder: "/store")
        options.idleMilliseconds = 1
        let storage = disk.newProcess()
        let log = try Log.open(options, storage: storage)
        let maintenance = try #require(log.writer?.maintenance)
        #expect(log.isWriting)
        // What a follower's thread does: each wait ends, the first at the latest when the process is idle.
        try #require(
            TestTimeout.awaits {
                log.publishWaiter.wait(log.publishWaiter.ticket)
                return log.takeIdleReleaseRequest()
            })
        log.releaseWriting()
        #expect(!log.isWriting && maintenance.roundCount == 0)
        // Nobody has to recover the log after its death.
        disk.kill(storage)
        let manifest = try StoreFolder(path: "/store", storage: disk.newProcess()).readManifest()
        let next = try Log.open(options, storage: disk.newProcess())
        #expect(try StoreFolder(path: "/store", storage: disk.newProcess()).readManifest() == manifest)
        // The process that writes is told by its thread when it is idle.
        let threads = try #require(next.writer?.maintenance)
        try LogScript.commit(next, version: 2, [100])
        try #require(TestTimeout.awaits { threads.roundCount > 0 && next.takeIdleReleaseRequest() })
        #expect(next.writer?.lock.idleTime == .max)
    }

    /// The system refuses no request that comes through the open file which already has the lock.
    @Test(
        "a thread that asks for the lock while another of its process gives it up does not believe it has it",
        arguments: [true, false])
    func requestedWhileReleased(wasReady: Bool) throws {
        let a = Bench()
        let log = try a.open()
        try log.waitUntilDurable(try a.commit(log))
        let b = a.another()
        let other = try b.open()
        if !wasReady {
            try takeTurnAndGiveUp(other, after: log)
            try log.awaitWriting()
            #expect(log.isAboutToWrite)
        }
        let asked = Gate()
        a.storage.beforeEachCall { call in
            guard call.operation == .unlock, call.path == "/store/lock", call.offset == 0, !asked.isOpen else { return }
            asked.open()
            do {
                try StorageThread.start(name: "asks") {
                    do { try log.awaitWriting() } catch { Issue.record("\(error)") }
                }.join()
            } catch { Issue.record("\(error)") }
        }
        if wasReady { log.releaseWriting() } else { log.abandonWriting() }
        #expect(asked.isOpen)
        #expect(try takeTurn(other).isEmpty)
        #expect(other.isWriting && !log.isWriting && !log.isAboutToWrite)
        a.storage.beforeEachCall(nil)
        #expect(isLocked { try log.awaitWriting() })
        other.releaseWriting()
        try takeTurn(log)
        #expect(log.isWriting && !other.isWriting)
    }

    /// The lock file then remains open, and the locks taken through it remain held.
    @Test("a log that gets the lock just after it was closed to read on releases it") func closedWhileAsking()
        throws
    {
        let a = Bench()
        let log = try a.open()
        try log.waitUntilDurable(try a.commit(log))
        let b = a.another()
        let other = try b.open()
        log.releaseWriting()
        let closed = Gate()
        b.storage.beforeEachCall { call in
            guard call.operation == .tryLock, call.path == "/store/lock", call.offset == 0, !closed.isOpen else {
                return
            }
            closed.open()
            do { try other.close(isRead: true) } catch { Issue.record("\(error)") }
        }
        #expect(throws: LogError.self) { try other.awaitWriting() }
        #expect(closed.isOpen)
        try takeTurn(log)
        #expect(log.isWriting)
        withExtendedLifetime(other) {}
    }

    private func takeTurnAndGiveUp(_ log: Log, after other: Log) throws {
        other.releaseWriting()
        try takeTurn(log)
        log.releaseWriting()
    }

    @Test(
        "a manifest that a process put in place just before it died is not mistaken for another of its number")
    func diesWhileBeginning() throws {
        let a = Bench()
        let log = try a.open()
        try log.waitUntilDurable(try a.commit(log))
        let b = a.another()
        let other = try b.open()
        #expect(try takeTurn(other, after: log).isEmpty)
        other.releaseWriting()
        log.retain([.everything])
        a.storage.crash { $0.operation == .syncFolder && $0.path == "/store" }
        _ = try? takeTurn(log)
        #expect(a.storage.isStopped)
        // The process has the manifest that the page says, and not the one that the dead process put in place.
        try takeTurn(other)
        let c = a.another()
        let third = try c.open()
        try other.waitUntilDurable(try b.commit(other))
        try other.sealSegment()
        other.releaseWriting()
        try takeTurn(third)
        try third.waitUntilDurable(try c.commit(third))
        try third.close()
        try other.close()
        try check(
            a.another(), lengths: [1: [200], 2: [200], 3: [200]], acknowledged: 3, context: "after all have closed")
    }

    private func takeTurn(_ log: Log, after other: Log) throws -> [UInt64] {
        other.releaseWriting()
        return try takeTurn(log)
    }

    @Test("a process that has closed the log changes nothing of what another one does with it") func closed() throws {
        let a = Bench()
        let log = try a.open()
        try log.waitUntilDurable(try a.commit(log))
        try log.close()
        let b = a.another()
        let other = try b.open()
        try other.waitUntilDurable(try b.commit(other))
        try other.sealSegment()
        let manifest = try other.folder.readManifest()
        other.publishHoldings(version: 2, oldest: 2, activeCount: 1, retainedByteCount: 0)
        #expect(!log.isWriting && !log.shouldReleaseWriting)
        log.retain([.everything])
        log.rememberRetention()
        log.askForRetainedBytes()
        #expect(try other.folder.readManifest() == manifest)
        log.releaseWriting()
        log.abandonWriting()
        #expect(other.page.writerProcess == UInt64(currentProcessID()))
        let third = try a.another().open()
        let others = third.otherProcesses
        #expect(others.map(\.version) == [2] && others.map(\.retention) == [RetentionWord()])
        #expect(!third.isAskedForRetainedBytes)
        try third.close()
        try other.waitUntilDurable(try b.commit(other))
        try other.close()
        try check(
            a.another(), lengths: [1: [200], 2: [200], 3: [200]], acknowledged: 3, context: "after it has closed")
    }

    /// After another process has taken over, an earlier sync must not enter in its page what it made durable.
    @Test(
        "a process whose write failed gives up the lock when none of its syncs runs any more",
        arguments: [true, false])
    func syncOutlivesFailure(closes: Bool) throws {
        let a = Bench()
        let log = try a.open()
        let b = a.another()
        let other = try b.open()
        try log.waitUntilDurable(try a.commit(log))
        try a.commit(log)
        let isSyncing = Gate()
        let hold = Gate()
        let wasSyncing = Guarded<[Bool]>(.unranked, [])
        a.storage.beforeEachCall { call in
            if call.operation == .sync, !isSyncing.isOpen {
                isSyncing.open()
                hold.wait()
            }
            // Closing the lock's file frees the lock, too, without such a call; the log's own file is closed before.
            let frees = call.operation == .unlock && call.offset == 0
            if frees { wasSyncing.withLock { $0.append(log.writer!.group.isSyncing) } }
        }
        let leader = try StorageThread.start(name: "leader") { try? log.waitUntilDurable(2) }
        isSyncing.wait()
        log.writer!.group.fail(
            LogError(StorageError(.io, operation: "write", path: "/store/log/0000000001.segment")))
        let ended = Gate()
        let giver = try StorageThread.start(name: "gives up") {
            if closes { try? log.close() } else { log.releaseWriting() }
            wasSyncing.withLock { $0.append(log.writer!.group.isSyncing) }
            ended.open()
        }
        // A thread that does not wait for the sync is done by then.
        sleepThread(nanoseconds: 50_000_000)
        hold.open()
        leader.join()
        giver.join()
        #expect(wasSyncing.withLock { $0 } == (closes ? [false] : [false, false]))
        #expect(try takeTurn(other) == [1, 2])
        #expect(other.page.published == 2 && other.writer!.tail.snapshot().manifest.epoch == 2)
    }
}
