import FirnCore
import FirnStorage
import FirnTestSupport
import Foundation
import Testing

@testable import FirnTool

/// A store whose names and values are chosen to deceive whoever reads what the tool prints.
@Suite("What a terminal sees", .timeLimit(.minutes(20))) struct HostileTextTests {
    /// A character of each kind that must not be shown.
    static let kinds: [UInt32] = [
        0x00, 0x07, 0x08, 0x09, 0x0A, 0x0D, 0x1B, 0x7F, 0x80, 0x85, 0x9B, 0x9F, 0xAD, 0x61C, 0x200B, 0x200D, 0x200E,
        0x200F, 0x2028, 0x2029, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069, 0x3164, 0xE000,
        0xFEFF, 0xFFF9, 0xFFFE, 0xE0041, 0xF0000, 0x10FFFF,
    ]
    static let hostile: [String] =
        kinds.compactMap { Unicode.Scalar($0).map { "a\($0)[2J\nfirn: fine\($0)" } } + [
            "\u{301}mark", "z" + String(repeating: "\u{336}\u{30D}", count: 30), "\u{1B}]0;title\u{7}", "\"}\\", "日本 ü",
        ]

    private func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate: false
        default: !scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// Versions: the schema, an object for each text, changes of them, the deletion of one.
    private func store(_ texts: [String]) throws -> MemoryStorage {
        let sample = SampleStore(empty: ())
        let store = try sample.open()
        var transaction = try store.beginWrite()
        try transaction.changeSchema(
            to: StoreSchema(
                version: 1,
                tables: texts.map { text in
                    TableSchema(
                        name: text, primaryKey: 0,
                        columns: [
                            ColumnSchema(name: text, type: .string),
                            ColumnSchema(name: "list " + text, type: .string, collection: .list),
                        ])
                }))
        try transaction.commit()
        transaction = try store.beginWrite()
        for (number, text) in texts.enumerated() {
            let key = try SampleStore.add(transaction, table: TableID(number), values: [0: .string(text)])
            transaction.edit(TableID(number), column: 1, key: key) { $0.append(.string(text)) }
        }
        try transaction.commit()
        transaction = try store.beginWrite()
        for (number, text) in texts.enumerated() {
            transaction.edit(TableID(number), column: 1, key: 0) { $0.insert(.string(text + text), at: 0) }
        }
        transaction.delete(TableID(0), 0)
        try transaction.commit()
        try store.close()
        return sample.storage
    }

    private func runs(_ storage: MemoryStorage, json: Bool) throws -> [Run] {
        [
            try Run.info(storage, json: json), try Run.log(storage, json: json), try Run.show(storage, 1, json: json),
            try Run.show(storage, 2, json: json), try Run.show(storage, 3, json: json),
            try Run.verify(storage, json: json), try Run.diff(storage, from: 0, to: 2, json: json),
            try Run.diff(storage, from: 3, to: 1, json: json),
            try Run {
                try TailCommand.run(SampleStore.path, from: 1, json: json, storage: storage, output: $0) { false }
            },
            try recover(storage, json: json),
        ]
    }

    private func recover(_ storage: MemoryStorage, json: Bool) throws -> Run {
        try Run {
            try RecoverCommand.run(
                SampleStore.path, output: json ? "/recovered.json" : "/recovered", json: json, storage: storage,
                clock: ManualClock(), $0)
        }
    }

    @Test("names and values never reach it raw, nor begin a line") func words() throws {
        let plain = try runs(store(Self.hostile.indices.map { "plain\($0)" }), json: false)
        let run = try runs(store(Self.hostile), json: false)
        for (plain, hostile) in zip(plain, run) {
            #expect(plain.status == .fine && hostile.status == .fine, "\(hostile.error)")
            let text = hostile.out + hostile.error
            for scalar in text.unicodeScalars where scalar != "\n" && !isShown(scalar) {
                Issue.record("U+\(String(scalar.value, radix: 16)) is printed")
            }
            #expect(hostile.out.split(separator: "\n").count == plain.out.split(separator: "\n").count)
            #expect(!text.contains("\u{336}\u{30D}\u{336}\u{30D}\u{336}\u{30D}\u{336}\u{30D}\u{336}"))
        }
        #expect(run[0].out.contains("日本 ü") && run[0].out.contains("a\\u{202E}[2J\\nfirn: fine\\u{202E}"))
    }

    @Test("JSON has nothing raw either, is valid, and means the same") func json() throws {
        let runs = try runs(store(Self.hostile), json: true)
        var found: Set<String> = []
        func gather(_ any: Any) {
            switch any {
            case let text as String: found.insert(text)
            case let array as [Any]: array.forEach(gather)
            case let object as [String: Any]: object.values.forEach(gather)
            default: break
            }
        }
        for run in runs {
            #expect(run.status == .fine, "\(run.error)")
            for scalar in run.out.unicodeScalars where scalar != "\n" && !isShown(scalar) {
                Issue.record("U+\(String(scalar.value, radix: 16)) is printed")
            }
            for line in run.out.split(separator: "\n") {
                gather(try JSONSerialization.jsonObject(with: Data(line.utf8), options: .fragmentsAllowed))
            }
        }
        for (number, text) in Self.hostile.enumerated() {
            // The first class's object is deleted in the version that changes the lists.
            for whole in [text, "list " + text, number == 0 ? text : text + text] where !found.contains(whole) {
                Issue.record("\(whole.unicodeScalars.map { String($0.value, radix: 16) }) is not found")
            }
        }
    }

    @Test("names of files and folders never reach it raw") func files() throws {
        let name = "x\u{1B}[2J\nfirn: no damage\u{202E}\u{9B}"
        let folder = TemporaryFolder()
        let path = folder.path + "/" + name
        let sample = try SampleStore()
        let storage = PosixStorage.shared
        for name in ["", "/log", "/checkpoint"] { try storage.createFolder(path + name) }
        for file in try sample.files() {
            let copy = try storage.open(path + file.dropFirst(SampleStore.path.count), .create)
            try sample.bytes(file).withUnsafeBytes { try copy.write($0, at: 0) }
            copy.close()
        }
        for stray in ["/", "/log/", "/checkpoint/"] { try storage.open(path + stray + name, .create).close() }
        for arguments in [
            ["info", path], ["verify", path], ["log", path], ["show", path, "2"], ["show", path, "99"],
            ["info", path + name], ["verify", path + name], ["verify", path + "/log"],
            ["replay", path, "--to", "2", "--output", path + "/new" + name],
            ["replay", path, "--to", "2", "--output", path],
            ["log", path, name], ["verify", "--" + name], [name],
        ] {
            for json in [[], ["--json"]] {
                let run = try CommandLineTests.firn(arguments + json)
                let text = run.out + run.error
                #expect(!text.isEmpty)
                for scalar in text.unicodeScalars where scalar != "\n" && !isShown(scalar) {
                    Issue.record("U+\(String(scalar.value, radix: 16)) is printed by \(arguments)")
                }
            }
        }
        let findings = try CommandLineTests.firn(["verify", path]).out
        #expect(findings.split(separator: "\n").count { $0.hasPrefix("note: ") } >= 3, "\(findings)")
        #expect(!findings.split(separator: "\n").contains { $0.hasPrefix("firn: no damage") }, "\(findings)")
    }
}
