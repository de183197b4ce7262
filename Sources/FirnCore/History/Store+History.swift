import FirnLog

/// A version that can be opened.
public struct StoredVersion: Sendable, Equatable {
    public let number: UInt64
    /// When it was committed, in nanoseconds since 1970.
    public let time: Int64
    /// Bytes of its commit in the log; 0 where the log does not hold it.
    public let byteCount: Int
}

extension Store {
    /// From now on versions are retained as `retention` says too. What was asked for before goes on holding.
    public func retain(_ retention: HistoryRetention) { history.retain(retention) }

    /// Holds a version, by its number, shown in the schema of today. O(active versions) where the version is active; otherwise the commits before it are replayed, from the
    /// nearest version that is at hand.
    ///
    /// - Throws: `.versionNotYet`, `.versionNotRetained`, `.closed`; what reading the log throws.
    public func version(_ number: UInt64) throws(StoreError) -> PastVersion {
        try checkOpen()
        let newest = versions.published
        guard number <= newest.version else {
            throw StoreError(.versionNotYet, "there is no version \(number) yet; the newest is \(newest.version)")
        }
        let target = newest.reference.schema
        let active = versions.pin(version: number)
        if let active, active.snapshot.schema.serves(target) {
            return PastVersion(pin: active, schema: active.snapshot.schema)
        }
        let log = try historyLog("version \(number) of a store in memory cannot be opened")
        let bases = try historyBases(log)
        let oldest = try oldestRetained(log, bases, newest)
        guard let first = bases.first?.version, number >= first, active != nil || number >= oldest else {
            throw notRetained(number, oldest: oldest, newest: newest.version)
        }
        return try history.open(number, of: self, log, bases: bases, as: target)
    }

    /// The newest version whose time fulfils a condition that holds up to some moment and not after it; nil where all are later. The version need not be retained.
    public func newestVersion(where isNotLater: (Int64) -> Bool) throws(StoreError) -> UInt64? {
        try checkOpen()
        let newest = versions.published
        if newest.version > 0, isNotLater(newest.time) { return newest.version }
        let log = try historyLog("earlier versions of a store in memory are not found by their time")
        do throws(LogError) {
            if let found = try log.newestVersion(through: newest.version, where: isNotLater) { return found }
            // Before the first commit the store was there, and empty.
            return isNotLater(try log.created) ? 0 : nil
        } catch {
            throw StoreError(error)
        }
    }

    /// What can be opened, oldest first: the versions retained and those that are active. Version 0 is the empty store.
    ///
    /// Cost: the headers of the segments that hold them.
    public func storedVersions() throws(StoreError) -> [StoredVersion] {
        try checkOpen()
        let newest = versions.published
        var times: [UInt64: Int64] = [:]
        for version in versions.active where version.number <= newest.version { times[version.number] = version.time }
        times[newest.version] = newest.time
        guard let log else {
            return times.sorted { $0.key < $1.key }.map { StoredVersion(number: $0, time: $1, byteCount: 0) }
        }
        let oldest = try oldestRetained(log, try historyBases(log), newest)
        var result: [StoredVersion] = []
        do throws(LogError) {
            let earlier = times.keys.filter { $0 > 0 && $0 < oldest }.sorted().map { $0...$0 }
            let retained = max(oldest, 1)
            let ranges = earlier + (retained <= newest.version ? [retained...newest.version] : [])
            if oldest == 0 || times[0] != nil {
                // The clock may have gone back before the first commit.
                var first: Int64?
                if newest.version > 0 { try log.forEachHead(of: [1...1]) { first = $0.time } }
                let created = try log.created
                result.append(StoredVersion(number: 0, time: min(created, first ?? created), byteCount: 0))
            }
            try log.forEachHead(of: ranges) { head in
                times[head.version] = nil
                result.append(StoredVersion(number: head.version, time: head.time, byteCount: head.byteCount))
            }
        } catch {
            throw StoreError(error)
        }
        // Active versions whose commits the log has let go.
        for (number, time) in times where number > 0 {
            result.append(StoredVersion(number: number, time: time, byteCount: 0))
        }
        return result.sorted { $0.number < $1.number }
    }

    // MARK: What is retained

    /// The first version that can be opened without being active.
    func oldestRetained() throws(StoreError) -> UInt64 {
        let log = try historyLog("a store in memory has no history")
        return try oldestRetained(log, try historyBases(log), versions.published)
    }

    private func oldestRetained(
        _ log: Log, _ bases: [HistoryBase], _ newest: VersionTable.Entry
    ) throws(StoreError) -> UInt64 {
        var result = newest.version
        let oldest = bases.first?.version ?? newest.version
        // The clock may be behind the log, whose time never goes back.
        let now = max(clock.now(), newest.time)
        do throws(LogError) {
            for retention in history.retained {
                let needed = try RetentionRule.oldestNeeded(
                    retention, now: now, oldest: oldest, newest: newest.version
                ) { moment throws(LogError) in try log.newestVersion(through: newest.version) { $0 <= moment } }
                result = min(result, needed)
            }
        } catch {
            throw StoreError(error)
        }
        return result
    }

    private func historyLog(_ what: String) throws(StoreError) -> Log {
        guard let log else {
            throw StoreError(
                .versionNotRetained,
                "\(what): it keeps no log, so only its newest version and those that something holds are there. Hold one by freezing it, or keep the store in a file"
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
