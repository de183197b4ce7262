import FirnBytes
public import Foundation
import FirnCore

extension Realm {
    /// A version that can be opened with `asOf(version:)`.
    public struct Version: Sendable, Hashable {
        public let number: UInt64
        /// When it was committed. Never before the date of the version before it, even where the system's clock was set back.
        public let date: Date
        /// Bytes of its commit in the log; 0 for version 0 and for realms in memory.
        public let size: Int
    }

    /// The versions that can be opened, oldest first: those that `Configuration.historyRetention` retains, and those that something in this process holds. The last is the
    /// newest. Version 0, the empty store, is among them where all of the past is retained.
    ///
    /// Cost: O(versions) in time and memory; the headers of their commits are read from the log. Stops the program where the log can't be read; `tryVersions()` throws
    /// instead.
    public var versions: [Version] {
        do { return try tryVersions() } catch {
            fatalError("Firn: the versions could not be read: \(error) Use tryVersions() to handle this.")
        }
    }

    /// As `versions`.
    ///
    /// - Throws: `Realm.Error` where the log can't be read.
    public func tryVersions() throws -> [Version] {
        instance.check()
        return try instance.storing { store throws(StoreError) in try store.storedVersions() }.map {
            Version(number: $0.number, date: Date(nanoseconds: $0.time), size: $0.byteCount)
        }
    }

    /// The realm as it was at a version: frozen, so that it may be read on any thread. Its `thaw()` is the live realm of the thread.
    ///
    /// It is seen through the classes of today: a property that came later holds 0, an empty value or nil, a class that came later has no objects.
    ///
    /// Cost: O(1) where something holds the version. Otherwise the commits before it are replayed, and it takes the memory of all data at that version; see
    /// <doc:History>.
    ///
    /// - Throws: `Realm.Error`: `.versionNotRetained`, naming those that are; `.invalidInput` for a version that is yet to come; `.schemaMismatch` where a property had another
    ///   type; what reading the log throws.
    public func asOf(version: UInt64, file: StaticString = #fileID, line: UInt = #line) throws -> Realm {
        instance.check()
        let past = try instance.storing { store throws(StoreError) in try store.version(version) }
        return Realm(try instance.past(past, at: CallSite(file, line)))
    }

    /// The realm as it was at a moment: the newest version whose date is not later. As `asOf(version:)`.
    ///
    /// Cost: as `asOf(version:)`, and the headers of one segment of the log.
    ///
    /// - Throws: as `asOf(version:)`; `.versionNotRetained` also where the store was made later.
    public func asOf(date: Date, file: StaticString = #fileID, line: UInt = #line) throws -> Realm {
        instance.check()
        let found = try instance.storing { store throws(StoreError) in
            // As numbers, among which not-a-number is not later than anything.
            try store.newestVersion {
                Date(nanoseconds: $0).timeIntervalSinceReferenceDate <= date.timeIntervalSinceReferenceDate
            }
        }
        guard let found else {
            let first = try tryVersions().first
            let oldest = first.map { "the oldest is \($0.number), of \($0.date.text)" } ?? "there is none"
            throw Error(
                .versionNotRetained, "There is no version of \(date.text) or before: \(oldest).",
                fileURL: instance.configuration.fileURL)
        }
        return try asOf(version: found, file: file, line: line)
    }
}

extension RealmInstance {
    /// Asks the store, in the terms of the API.
    func storing<Result>(_ body: (Store) throws(StoreError) -> Result) throws -> Result {
        do { return try body(store) } catch { throw Realm.Error(error, configuration.fileURL) }
    }

    /// The frozen instance of a past version.
    func past(_ version: PastVersion, at place: CallSite) throws -> RealmInstance {
        let faults = schema.faults(seeing: version.schema, now: store.schema)
        guard faults.isEmpty else {
            let head = "Version \(version.pin.version) can't be shown by the classes of today:"
            let advice = "Open it with the classes of that time."
            throw Realm.Error(
                .schemaMismatch, ([head] + faults.map { "- \($0)" } + [advice]).joined(separator: "\n"),
                fileURL: configuration.fileURL)
        }
        // Accessors look at nothing again: they rely on the columns of their classes being there as they are today.
        let (fit, table) = schema.fit(version.pin.snapshot.schema)
        guard fit != .none else {
            throw Realm.Error(
                .schemaMismatch,
                "Version \(version.pin.version) lacks something that the class \"\(table?.info.name ?? "")\" has today. Open the realm again.",
                fileURL: configuration.fileURL)
        }
        return shared.frozen(configuration, schema, version.pin, at: place)
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
                // A column is never given another type: a property of another type has another column, and both bear its name.
                guard let other = table.column(named: property.columnName), other != column else { continue }
                faults.append(
                    "Property \"\(binding.info.name).\(property.name)\" was \(SchemaPlan.name(table.columns[other], past)) then, and was made anew as \(SchemaPlan.name(now[binding.table].columns[column], now)) since."
                )
            }
        }
        return faults
    }
}

extension Date {
    /// Of nanoseconds since 1970. Rounded to what a `Date` can tell apart, in the same way each time, so that later times never give earlier dates.
    init(nanoseconds: Int64) { self.init(timeIntervalSince1970: Double(nanoseconds) / 1e9) }

    /// As messages name it. Foundation's own description stops the program at dates that no calendar has.
    fileprivate var text: String {
        abs(timeIntervalSince1970) < 1e11 ? description : "\(timeIntervalSince1970) seconds since 1970"
    }
}
