import FirnStorage
import Testing

@testable import FirnTool

/// What damage to each byte of an intact store may cost.
struct DamageMap {
    enum Cost: Hashable {
        /// The changes of a version.
        case version(UInt64)
        /// Up to so many objects.
        case objects(Int)
        /// Values of a property, of up to so many objects.
        case values(column: Int, Int)
        /// Whatever has changed since a version.
        case since(UInt64)
    }

    private struct Part {
        let path: String
        let bytes: Range<Int>
        let cost: Cost
    }

    private var parts: [Part] = []
    /// For each use of a file by a checkpoint, the ranges of the file that are given up.
    private var holes: [(path: String, holes: [Range<Int>])] = []
    /// The last version whose loss costs nothing, since a checkpoint has it.
    private(set) var checkpoint: UInt64 = 0
    /// Whether the log alone tells everything.
    private(set) var isLogComplete = false

    init(_ path: String, _ storage: any Storage) throws {
        let store = try OpenedStore.open(path, storage: storage)
        isLogComplete = store.manifest.firstVersion == 1
        let opened = try store.openCheckpoint()
        #expect(store.findings == [] && opened.findings == [])
        checkpoint = opened.checkpoint?.footer.version ?? 0
        var parts: [Part] = []
        let least = checkpoint
        let summary = try LogWalk(store: store).run { event in
            if case .frame(let frame, _, let path) = event, frame.kind.isPart, frame.version > least {
                let offset = Int(frame.offset)
                parts.append(Part(path: path, bytes: offset..<frame.end, cost: .version(frame.version)))
            }
            return true
        }
        #expect(summary.lastVersion > 0)
        // With the complete log, a checkpoint is no loss.
        if let checkpoint = opened.checkpoint, !isLogComplete { parts += try Self.parts(of: checkpoint, store) }
        self.parts = parts
        for entry in store.manifest.earlier + (store.manifest.checkpoint.map { [$0] } ?? []) {
            let checkpoint = try #require(try store.open(entry).checkpoint)
            for file in checkpoint.files {
                let start = file.entry.start
                let holes = checkpoint.footer.holes.filter { $0.lowerBound >= start && $0.upperBound <= file.entry.end }
                self.holes.append((file.path, holes.map { $0.lowerBound - start..<$0.upperBound - start }))
            }
        }
    }

    private static func parts(of checkpoint: OpenedCheckpoint, _ store: OpenedStore) throws -> [Part] {
        var parts: [(part: Part, position: Int)] = []
        let oldest = try store.checkpointsThatExist().map(\.version).min() ?? 0
        let walk = ReferenceWalk(checkpoint) { owner, header, position in
            let file = checkpoint.files.last { $0.entry.start <= position }!
            let start = position - file.entry.start
            let cost: Cost
            switch (header.kind, owner.part) {
            case (_, .index), (_, .backlinks): return
            case (.leaf, _): cost = .objects(header.count)
            case (_, .values): cost = .values(column: owner.column ?? -1, header.kind == .chunk ? 256 : 100_000)
            case (.chunk, _): cost = .objects(256)
            case (_, _): cost = .since(oldest)
            }
            parts.append((Part(path: file.path, bytes: start..<start + header.nodeByteCount, cost: cost), position))
        }
        try walk.run()
        return parts.map { part, position in
            // The chunks of many leaves may share a dictionary.
            guard walk.dictionaries.contains(position), case .values(let column, _) = part.cost else { return part }
            return Part(path: part.path, bytes: part.bytes, cost: .values(column: column, 100_000))
        }
    }

    /// The costs of damage to a range of a file, one for each frame or node that it hits.
    func costs(_ path: String, _ damaged: Range<Int>) -> [Cost] {
        parts.filter { $0.path == path && $0.bytes.overlaps(damaged) }.map(\.cost)
    }

    /// Whether no checkpoint that the manifest lists uses any byte of a range.
    func isUnused(_ path: String, _ range: Range<Int>) -> Bool {
        let uses = holes.filter { $0.path == path }
        return !uses.isEmpty
            && uses.allSatisfy { use in
                use.holes.contains { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }
            }
    }
}
