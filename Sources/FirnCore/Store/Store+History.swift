import FirnLog

/// A version that can be opened, as `Store.storedVersions` lists it.
package struct VersionListing: Sendable, Equatable {
    package let number: UInt64
    /// When it was committed, in nanoseconds since 1970.
    package let time: Int64
    /// The bytes of its commit in the log; 0 if the log does not have it.
    package let byteCount: Int
}

extension Store {
    /// Retains versions by a further rule from now on.
    ///
    /// What was asked for before still applies, here and in the other processes that have the store open. So does the
    /// rule in the store's manifest, until some process asks for another one.
    package func retain(_ retention: HistoryRetention) {
        history.retain(retention)
        guard let log, !log.isForked else { return }
        log.retain(history.retained)
        // If a transaction is running, the next acquisition of the writer lock, or the next segment, writes the rule to
        // the manifest.
        guard !isReadOnly, queue.tryAcquire() else { return }
        log.rememberRetention()
        queue.release()
    }

    /// Pins a version by its number, and shows it in the current schema. O(active versions) if the version is active.
    /// Otherwise the commits up to it are replayed, from the nearest version that is available.
    ///
    /// - Throws: `.versionNotYet`, `.versionNotRetained`, `.closed`; an error of reading the log.
    package func version(_ number: UInt64) throws(StoreError) -> PastVersion {
        try checkOpen()
        let newest = versions.published
        guard number <= newest.version else {
            throw StoreError(.versionNotYet, "there is no version \(number) yet; the newest is \(newest.version)")
        }
        let active = versions.pin(version: number, at: CallSite(#fileID, #line))
        if let version = PastVersion(active, as: newest.resolvedSchema.schema) { return version }
        let past = try retainedPast(historyLog("version \(number) of a store in memory can't be opened"))
        guard past.bases.first.map({ $0.version <= number }) ?? false, active != nil || number >= past.oldest else {
            throw notRetained(number, oldest: past.oldest, newest: past.newest.version)
        }
        return try open(number, past)
    }

    /// Pins a version that is retained or active.
    func open(_ number: UInt64, _ past: RetainedPast) throws(StoreError) -> PastVersion {
        let target = past.newest.resolvedSchema.schema
        if let version = PastVersion(versions.pin(version: number, at: CallSite(#fileID, #line)), as: target) {
            return version
        }
        var past = past
        while true {
            do throws(StoreError) {
                return try history.open(number, past.log, bases: past.bases, as: target)
            } catch {
                // A compaction may just have released the checkpoint from which the replay was to begin.
                let now = try retainedPast(past.log)
                if now.checkpoints == past.checkpoints { throw error }
                guard now.bases.first.map({ $0.version <= number }) ?? false else {
                    throw notRetained(number, oldest: now.oldest, newest: now.newest.version)
                }
                past = now
            }
        }
    }

    /// The newest version whose time fulfils a condition; nil if all versions are later. The condition must hold up
    /// to some moment, and not after it. The version need not be retained.
    ///
    /// If the condition holds now, this is the newest version, even if the clock was ahead when it was committed.
    package func newestVersion(where isNotLater: (Int64) -> Bool) throws(StoreError) -> UInt64? {
        try checkOpen()
        let newest = versions.published
        if isNotLater(clock.now()) || newest.version > 0 && isNotLater(newest.time) { return newest.version }
        let log = try historyLog("earlier versions of a store in memory can't be found by their time")
        if let found = try logged(log.newestVersion(through: newest.version, where: isNotLater)) { return found }
        // Before the first commit the store existed, and was empty.
        guard try logged(log.firstVersion) == 1 else { return nil }
        return isNotLater(try logged(log.created)) ? 0 : nil
    }

    /// The versions that can be opened, oldest first: the retained ones and the active ones. Version 0 is the empty
    /// store.
    ///
    /// Cost: reads the headers of the segments that have these versions.
    package func storedVersions() throws(StoreError) -> [VersionListing] {
        try checkOpen()
        guard let log else {
            return activeTimes(through: versions.published).sorted { $0.key < $1.key }
                .map { VersionListing(number: $0, time: $1, byteCount: 0) }
        }
        let past = try retainedPast(log)
        var active = activeTimes(through: past.newest)
        let retained = max(past.oldest, 1)
        // The commit of the oldest one may no longer be in the log.
        for base in past.bases where base.version >= retained { active[base.version] = base.time }
        var ranges = active.keys.filter { $0 > 0 && $0 < retained }.sorted().map { $0...$0 }
        if retained <= past.newest.version { ranges.append(retained...past.newest.version) }
        var result: [VersionListing] = []
        try logged { () throws(LogError) in
            if past.oldest == 0 || active[0] != nil {
                // The clock may have gone back before the first commit.
                var time = try log.created
                if past.newest.version > 0 { try log.forEachHeader(of: [1...1]) { time = min(time, $0.time) } }
                result.append(VersionListing(number: 0, time: time, byteCount: 0))
            }
            try log.forEachHeader(of: ranges) { header in
                active[header.version] = nil
                result.append(VersionListing(number: header.version, time: header.time, byteCount: header.byteCount))
            }
        }
        // Versions whose commits are no longer in the log.
        for (number, time) in active where number > 0 {
            result.append(VersionListing(number: number, time: time, byteCount: 0))
        }
        return result.sorted { $0.number < $1.number }
    }

    /// The active versions up to the newest published one, and their times.
    private func activeTimes(through newest: VersionTable.Entry) -> [UInt64: Int64] {
        var times = [newest.version: newest.time]
        for version in versions.active where version.number < newest.version { times[version.number] = version.time }
        return times
    }

    // MARK: What is retained

    /// The log and the bases from which past versions of a store can be opened at one moment.
    struct RetainedPast {
        let newest: VersionTable.Entry
        let log: Log
        /// The ids of the checkpoints that were listed when `bases` was made.
        let checkpoints: [UInt64]
        let bases: [HistoryBase]
        /// The first version that can be opened without being active.
        let oldest: UInt64
    }

    func retainedPast(_ log: Log) throws(StoreError) -> RetainedPast {
        let (checkpoints, all) = try basesInForce(log)
        let newest = versions.published
        // Another process may have written a checkpoint of a version that this one has not read yet.
        let bases = all.filter { $0.version <= newest.version }
        let oldest = bases.first?.version ?? newest.version
        let now = clock.reading()
        var result = newest.version
        try logged { () throws(LogError) in
            for retention in history.retained + (try log.retentionsOfOthers) {
                let needed = try RetentionRule.oldestNeeded(
                    retention, oldest: oldest, newest: newest.version,
                    timeOfAge: { log.timeOfAge($0, at: now, after: newest.time) },
                    versionAt: { time throws(LogError) in
                        try log.newestVersion(through: newest.version) { $0 <= time }
                    })
                result = min(result, needed)
            }
        }
        return RetainedPast(newest: newest, log: log, checkpoints: checkpoints, bases: bases, oldest: result)
    }

    /// Returns the listed checkpoints, and the bases from which a past version can be replayed. If another process's
    /// compactor replaces them meanwhile, they are read again.
    private func basesInForce(_ log: Log) throws(StoreError) -> (ids: [UInt64], bases: [HistoryBase]) {
        var tried: [UInt64]?
        while true {
            let checkpoints = try logged(log.checkpointsInForce)
            do throws(StoreError) {
                return (checkpoints.map(\.id), try historyBases(log, checkpoints))
            } catch {
                if tried == checkpoints.map(\.id) { throw error }
                tried = checkpoints.map(\.id)
            }
        }
    }

    /// Returns what the retained versions need when a checkpoint of the newest version is published.
    ///
    /// - `after`: the log after this version must stay. It is the newest base that is not after any retained version.
    /// - `kept`: the listed checkpoints that must stay: that base, and enough checkpoints after it. Between two of them
    ///   are about `StoreOptions.historyCheckpointByteCount` bytes of the log.
    func neededByHistory(_ log: Log) throws(StoreError) -> (after: UInt64, kept: [Checkpoint]) {
        let past = try retainedPast(log)
        guard past.oldest < past.newest.version, let base = past.bases.last(where: { $0.version <= past.oldest }) else {
            return (past.newest.version, [])
        }
        var kept: [Checkpoint] = []
        var last = base.version
        for checkpoint in log.listedCheckpoints where checkpoint.version >= base.version {
            let isBase = checkpoint.version == base.version && base.version > 0
            if isBase || log.byteCount(after: last, through: checkpoint.version) >= options.historyCheckpointByteCount {
                kept.append(checkpoint)
                last = checkpoint.version
            }
        }
        return (base.version, kept)
    }

    /// The log that the past is read from.
    ///
    /// - Parameter what: describes what is not possible for a store in memory.
    func historyLog(_ what: String) throws(StoreError) -> Log {
        guard let log else {
            throw StoreError(
                .versionNotRetained,
                "\(what): it keeps no log, so it has only its newest version and those that something holds. Freeze a version to hold it, or keep the store in a file"
            )
        }
        return log
    }

    private func notRetained(_ number: UInt64, oldest: UInt64, newest: UInt64) -> StoreError {
        let held = versions.active.map(\.number).filter { $0 < oldest }.sorted()
        let retained = oldest == newest ? "the newest version, \(newest)" : "versions \(oldest) to \(newest)"
        let active = held.isEmpty ? "" : ", and \(held.map(String.init).joined(separator: ", ")), which something holds"
        return StoreError(
            .versionNotRetained,
            "version \(number) is not retained; those that can be opened are \(retained)\(active). To retain more, set historyRetention in the configuration to .versions(n), "
                + ".age(seconds) or .everything")
    }
}
