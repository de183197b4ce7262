import FirnCore
import FirnLog
import FirnRealmFile
import FirnRealmImport
import FirnStorage
import RealmDump

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

// firn-realm-dump FILE [KEY as 128 hexadecimal digits]: prints a Realm file as JSON, in the form of the samples.
// firn-realm-dump --import STORE FILE [KEY]: imports it into a new store, and prints how long that takes.
// firn-realm-dump --compare FILE [KEY]: imports it into a store in memory, and compares the two.
func printBytes(_ text: String, to descriptor: Int32) {
    var text = text
    text.withUTF8 { bytes in
        var rest = UnsafeRawBufferPointer(bytes)
        while !rest.isEmpty {
            let count = write(descriptor, rest.baseAddress, rest.count)
            guard count > 0 else { exit(3) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }
}

func read(_ arguments: ArraySlice<String>) throws -> RealmFile {
    var options = RealmFile.Options()
    let path = arguments[arguments.startIndex]
    if arguments.count > 1 { options.key = RealmSample.key(digits: arguments[arguments.startIndex + 1]) }
    return try RealmFile(PosixStorage.shared, path: path, options)
}

func dump(_ arguments: ArraySlice<String>) throws {
    var text = ""
    try RealmDump(read(arguments)) {
        text += $0
        if text.utf8.count > 1 << 20 {
            printBytes(text, to: 1)
            text = ""
        }
    }.run()
    printBytes(text, to: 1)
}

func importFile(_ arguments: ArraySlice<String>) throws {
    let clock = ContinuousClock()
    let start = clock.now
    let file = try read(arguments.dropFirst())
    var options = LogOptions(folder: arguments[arguments.startIndex])
    options.durability = .none
    let store = try Store(StoreOptions(log: options), storage: PosixStorage.shared)
    let report = try RealmImport(file, RealmImportSchema(file), into: store) { _, _ in }.run()
    let read = clock.now
    try store.close()
    printBytes("\(report)\nread and written in \(read - start), closed in \(clock.now - read)\n", to: 1)
}

func compare(_ arguments: ArraySlice<String>) throws {
    let file = try read(arguments)
    var want = ""
    var dump = RealmDump(file, hasIndexes: false) { want += $0 }
    try dump.compareWithStore()
    try dump.run()
    file.beginReading()
    let store = try Store(StoreOptions(log: nil), storage: MemoryStorage())
    let report = try RealmImport(file, RealmImportSchema(file), into: store) { _, _ in }.run()
    let got = StoreDump(store.pin().snapshot, format: file.format).text(hasVersion: file.schemaVersion != nil)
    if got == want { return printBytes("same: \(report)\n", to: 1) }
    let (a, b) = (Array(got.utf8), Array(want.utf8))
    let at = zip(a, b).enumerated().first { $1.0 != $1.1 }?.offset ?? min(a.count, b.count)
    let start = max(0, at - 100)
    printBytes("differ at \(at):\n store \(String(decoding: a[start..<min(a.count, at + 60)], as: UTF8.self))\n", to: 1)
    printBytes(" file  \(String(decoding: b[start..<min(b.count, at + 60)], as: UTF8.self))\n", to: 1)
    exit(1)
}

do {
    let arguments = CommandLine.arguments.dropFirst()
    switch arguments.first {
    case "--import": try importFile(arguments.dropFirst())
    case "--compare": try compare(arguments.dropFirst())
    default: try dump(arguments)
    }
} catch {
    printBytes("\(error)\n", to: 2)
    exit(2)
}
