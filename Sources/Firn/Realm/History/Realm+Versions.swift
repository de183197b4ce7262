import FirnBytes
import FirnStorage
public import Foundation
import FirnCore

extension Realm {
    /// A version that can be opened with `asOf(version:)`.
    public struct Version: Sendable, Hashable {
        /// The number of the version. Each commit makes the next one.
        public let number: UInt64
        /// When it was committed. The date is never before the previous version's, even if the system's clock was set
        /// back. Until the clock has caught up, dates go on from the previous one, and may be later than now.
        public let date: Date
        /// Bytes of its commit in the log; 0 for version 0, for versions whose commit the log no longer has, and for
        /// realms in memory.
        public let size: Int
    }

    /// The number of the version that the realm shows. Each commit makes the next one, so what is shown later has a
    /// higher number, also in another process and after a restart.
    ///
    /// In a write transaction it is the number of the version that the transaction begins from. The number of an
    /// `asyncWrite` commit is shown at once. ``versions`` lists the versions that can be opened. O(1). Stops the
    /// program on the wrong thread; a frozen realm's number may be read on any thread.
    ///
    /// ```swift
    /// let frozen = realm.freeze()
    /// response.headers["ETag"] = "\(frozen.version)"
    /// ```
    public var version: UInt64 {
        instance.check()
        return instance.shownPin.version
    }

    /// The versions that can be opened, oldest first: the versions that `Configuration.historyRetention` retains or
    /// that something in this process holds. The last one is the newest. Version 0, the empty store, is among them if
    /// the complete past is retained.
    ///
    /// Cost: O(versions) in time and memory; the headers of their commits are read from the log. Stops the program if
    /// the log can't be read, for which `tryVersions()` throws instead, and on the wrong thread.
    public var versions: [Version] {
        do { return try tryVersions() } catch {
            stopProgram("the versions could not be read: \(error) Use tryVersions() to handle this.")
        }
    }

    /// The versions that can be opened: as `versions`, with the same cost. If the log can't be read, this throws
    /// instead of stopping the program. Stops the program on the wrong thread.
    ///
    /// - Throws: `Realm.Error`: `.invalidDatabase` or the file system's error if the log can't be read.
    public func tryVersions() throws -> [Version] {
        instance.check()
        return try instance.withStore { store throws(StoreError) in try store.storedVersions() }.map {
            Version(number: $0.number, date: Date(nanoseconds: $0.time), size: $0.byteCount)
        }
    }

    /// The realm as it was at a version: frozen, so that it may be read on any thread. Its `thaw()` is the live realm
    /// of the thread.
    ///
    /// ```swift
    /// let before = try realm.asOf(version: realm.versions[0].number)
    /// print(before.objects(Dog.self).count)
    /// ```
    ///
    /// It is seen through the current classes. A property that was added later holds 0, an empty value or nil, and a
    /// class that was added later has no objects.
    ///
    /// Cost: O(active versions) if something holds the version. Otherwise the commits before it are replayed from the
    /// nearest checkpoint or opened version. That takes the time of the replay, and memory for what changed since that
    /// checkpoint. See <doc:History>. Readers and writers do not wait meanwhile. Stops the program on the wrong thread;
    /// a frozen realm may be used on any thread.
    ///
    /// - Throws: `Realm.Error` with one of these codes:
    ///   - `.versionNotRetained`: the version is no longer retained, also if the realm is in memory. The message names
    ///     the versions that can be opened.
    ///   - `.invalidInput`: the version does not exist yet.
    ///   - `.schemaMismatch`: a class had another name, or a property another type.
    ///   - `.invalidDatabase`, or the code of the file system's error: the log can't be read.
    public func asOf(version: UInt64, file: StaticString = #fileID, line: UInt = #line) throws -> Realm {
        instance.check()
        let past = try instance.withStore { store throws(StoreError) in try store.version(version) }
        return Realm(try instance.past(past, at: CallSite(file, line)))
    }

    /// The realm as it was at a moment: the newest version whose date is not later, as `asOf(version:)` opens it. For
    /// now and for each later date, that is the newest version, whatever its date.
    ///
    /// ```swift
    /// let lastNight = try realm.asOf(date: Date(timeIntervalSinceNow: -12 * 3600))
    /// ```
    ///
    /// Cost: as `asOf(version:)`, and reading the commit headers of one segment of the log and one header of each
    /// newer segment. Stops the program on the wrong thread.
    ///
    /// - Throws: the errors of `asOf(version:)`; `.versionNotRetained` also if the store was created after the date.
    public func asOf(date: Date, file: StaticString = #fileID, line: UInt = #line) throws -> Realm {
        instance.check()
        let found = try instance.withStore { store throws(StoreError) in
            // Compared as numbers, so that NaN is not later than any date.
            try store.newestVersion {
                Date(nanoseconds: $0).timeIntervalSinceReferenceDate <= date.timeIntervalSinceReferenceDate
            }
        }
        guard let found else {
            let first = try tryVersions().first
            let oldest = first.map { "the oldest is \($0.number), of \($0.date.text)" } ?? "there is none"
            throw Error(
                .versionNotRetained, "There is no version of \(date.text) or earlier: \(oldest).",
                fileURL: instance.configuration.fileURL)
        }
        return try asOf(version: found, file: file, line: line)
    }
}

extension _RealmInstance {
    /// Runs `body` with the store, and converts the store's errors to those of the API.
    func withStore<Result>(_ body: (Store) throws(StoreError) -> Result) throws -> Result {
        try storing(configuration.fileURL, body(store))
    }

    /// The frozen instance of a past version.
    func past(_ version: PastVersion, at callSite: CallSite) throws -> _RealmInstance {
        stopIfMigrating("open a past version")
        let faults = schema.faults(seeing: version.schema, now: store.schema)
        guard faults.isEmpty else {
            let heading = "Version \(version.pin.version) can't be shown with today's classes:"
            let advice = "Open it with the classes of that time."
            throw Realm.Error(
                .schemaMismatch, ([heading] + faults.map { "- \($0)" } + [advice]).joined(separator: "\n"),
                fileURL: configuration.fileURL)
        }
        // Accessors do not check this again: they rely on the version having all columns of their classes.
        let (fit, table) = schema.fit(version.pin.snapshot.schema)
        guard fit != .none else {
            throw Realm.Error(
                .schemaMismatch,
                "Version \(version.pin.version) lacks something that the class \"\(table?.info.name ?? "")\" has today. Open the realm again.",
                fileURL: configuration.fileURL)
        }
        return shared.frozen(configuration, schema: schema, pin: version.pin, at: callSite)
    }
}

extension SchemaBinding {
    /// Why rows of an earlier schema can't be read through these classes, one sentence each.
    fileprivate func faults(seeing past: StoreSchema, now: StoreSchema) -> [String] {
        var faults: [String] = []
        for binding in tables where binding.table.index < past.tables.count {
            let table = past[binding.table]
            if table.name != binding.info.name {
                faults.append("The class \"\(binding.info.name)\" was named \"\(DisplayText.line(table.name))\".")
            }
            for property in binding.info.stored {
                let column = binding.column(property)
                // A column never changes its type: a property whose type changed has another column, and both columns
                // have its name.
                guard let other = table.column(named: property.columnName), other != column else { continue }
                faults.append(
                    "Property \"\(binding.info.name).\(property.name)\" was \(SchemaPlan.name(table.columns[other], past)) at that version, and was recreated as \(SchemaPlan.name(now[binding.table].columns[column], now)) since."
                )
            }
        }
        return faults
    }
}

extension Date {
    /// The date of a time in nanoseconds since 1970, rounded to what a `Date` can distinguish. It is always rounded in
    /// the same way, so that later times never have earlier dates.
    init(nanoseconds: Int64) { self.init(timeIntervalSince1970: Double(nanoseconds) / 1e9) }

    /// The date, for messages. Foundation's own description stops the program at dates that no calendar has.
    fileprivate var text: String {
        abs(timeIntervalSince1970) < 1e11 ? description : "\(timeIntervalSince1970) seconds since 1970"
    }
}
