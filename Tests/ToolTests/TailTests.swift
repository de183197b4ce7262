import FirnCore
import FirnStorage
import Testing

@testable import FirnTool

@Suite("firn tail", .timeLimit(.minutes(20))) struct TailTests {
    /// Runs the command on a store that `write` writes to whenever all has been shown, until that returns false.
    private func tail(
        _ sample: SampleStore, from: UInt64?, choice: ObjectChoice = .all, json: Bool = true,
        _ write: () throws -> Bool
    ) throws -> Run {
        try Run {
            try TailCommand.run(
                SampleStore.path, from: from, choice: choice, json: json, storage: sample.storage, output: $0, write)
        }
    }

    @Test("shows each version once, across segments, compactions and openings", arguments: [64 << 20, 4096])
    func follows(segmentByteCount: Int) throws {
        let sample = try SampleStore(segmentByteCount: segmentByteCount)
        var store = try sample.open(segmentByteCount: segmentByteCount)
        var version: UInt64 = 5
        var rounds = 0
        let run = try tail(sample, from: nil) {
            rounds += 1
            if rounds % 7 == 0 { _ = try store.compact(wholly: rounds % 2 == 0) }
            if rounds % 11 == 0 {
                try store.close()
                store = try sample.open(segmentByteCount: segmentByteCount)
            }
            for _ in 0..<rounds % 4 {
                let transaction = try store.beginWrite()
                transaction.set(SampleStore.person, column: 1, key: 0, to: .int(Int64(version)))
                version = try transaction.commit().number
            }
            return rounds < 60
        }
        try store.close()
        #expect(run.status == .fine, "\(run.error)")
        let lines = run.out.split(separator: "\n")
        #expect(lines.count(where: { $0.contains("\"complete\":true") }) == Int(version) - 5)
        let shown = try ShownObject.all(run.out)
        #expect(shown.compactMap(\.version) == Array(6...version))
        #expect(shown.allSatisfy { $0.primaryKey == "\"Anna\"" && $0.change == "updated" })
    }

    @Test("begins with any version of the log, and says where that begins") func begins() throws {
        let sample = try SampleStore(more: 3)
        let all = try tail(sample, from: 1, json: false) { false }
        #expect(all.out.contains("version 2  2023-11-14T22:13:23.000Z\n+ Person #0 \"Anna\""), "\(all.out)")
        let dogs = try tail(sample, from: 1, choice: .type("Dog"), json: false) { false }
        let versions = dogs.out.split(separator: "\n").filter { $0.hasPrefix("version") }
        #expect(versions.map { $0.split(separator: " ")[1] } == ["2", "5"])
        let store = try sample.open()
        _ = try store.compact(wholly: true)
        try store.close()
        let first = try OpenedStore.open(SampleStore.path, storage: sample.storage).manifest.firstVersion
        try #require(first > 1)
        let refused = try tail(sample, from: 1) { false }
        #expect(refused.status == .usage && refused.error.contains("--from \(first)"), "\(refused)")
        #expect(try tail(sample, from: first) { false }.status == .fine)
    }

    @Test("ends with damage in what it reads") func damage() throws {
        let sample = try SampleStore(more: 3)
        try sample.flip(try sample.files()[1], byte: 700, bit: 2)
        let run = try tail(sample, from: 1) { true }
        #expect(run.status == .damage && run.error.contains("damage"), "\(run)")
    }
}
