import FirnCore
import FirnRealmFile
import FirnStorage
import RealmDump
import Testing

@testable import FirnRealmImport

@Suite("An import of a Realm file", .timeLimit(.minutes(20))) struct RealmImportTests {
    private func imported(_ file: RealmFile) throws -> (store: Store, report: RealmImport.Report) {
        let store = try Store(StoreOptions(log: nil), storage: MemoryStorage())
        let report = try RealmImport(file, RealmImportSchema(file), into: store) { _, _ in }.run()
        return (store, report)
    }

    @Test("has all classes, objects and values of the file", arguments: RealmSample.all)
    func contents(_ sample: RealmSample) throws {
        let file = try sample.open()
        var want = ""
        var dump = RealmDump(file, hasIndexes: false) { want += $0 }
        try dump.compareWithStore()
        try dump.run()
        file.beginReading()
        let (store, report) = try imported(file)
        let got = StoreDump(store.pin().snapshot, format: file.format).text(hasVersion: file.schemaVersion != nil)
        #expect(got == want)
        #expect(report.replacedTextCount == 0 && report.missingLinkCount == 0 && report.secondParentCount == 0)
        try store.close()
    }

    @Test func indexesComeFromTheFile() throws {
        let file = try RealmSample(name: "types-v24").open()
        let schema = try RealmImportSchema(file)
        for type in schema.classes {
            for (property, column) in zip(type.source.properties, type.columns) where property.collection == nil {
                let isKey = type.source.primaryKey.map { type.source.properties[$0].name } == property.name
                #expect(column.isIndexed == (isKey || property.index == .general), "\(type.source.name).\(column.name)")
            }
        }
    }

    /// Keys that come from a hash are too large for a store. Their objects are numbered anew.
    @Test func keysAreKeptOrNumbered() throws {
        var kept = RealmObjectKeys(lastKey: 7)
        #expect(try [0, 3, 7].map { try kept.next($0) } == [0, 3, 7] && kept.key(of: 3) == 3)
        var numbered = RealmObjectKeys(lastKey: 1 << 60)
        #expect(try [5, 1 << 40, 1 << 60].map { try numbered.next($0) } == [0, 1, 2])
        #expect(numbered.key(of: 1 << 40) == 1 && numbered.key(of: 6) == nil && numbered.key(of: -1) == nil)
        #expect(throws: RealmFileError.self) { _ = try numbered.next(9) }
    }
}
