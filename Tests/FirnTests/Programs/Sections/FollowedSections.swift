import Firn
import FirnTestSupport
import Foundation
import Testing

/// Sections of a random program that are observed.
@MainActor
protocol FollowsSections: AnyObject {
    var frames: Int { get }
    func check(_ program: SectionProgram) async
    func end()
}

/// Sections that are compared with an oracle's, frozen and observed, together with those that are observed one by one.
@MainActor
final class FollowedSections<
    Key: _Persistable & Hashable & SendableMetatype, Element: RealmCollectionValue & SendableMetatype
>: FollowsSections {
    private let what: String
    private let sections: SectionedResults<Key, Element>
    // Called on any thread, as the application's own blocks are.
    private let key: @Sendable (Key) -> SectionKey
    private let text: @Sendable (Element) -> String
    /// What the oracle says that the sections are now.
    private let expected: (SectionProgram) -> PlainSections
    private var frozen: [(SectionedResults<Key, Element>, String)] = []
    private var tokens: [NotificationToken] = []
    private var copy: [[String]]?
    private var copies: [SectionKey: [String]] = [:]
    private var faults: [String] = []
    private(set) var frames = 0

    init(
        _ what: String, _ sections: SectionedResults<Key, Element>, key: @escaping @Sendable (Key) -> SectionKey,
        text: @escaping @Sendable (Element) -> String, expected: @escaping (SectionProgram) -> PlainSections
    ) {
        self.what = what
        self.sections = sections
        self.key = key
        self.text = text
        self.expected = expected
        tokens.append(sections.observe { [weak self] in self?.apply($0) })
        for section in sections { follow(section) }
    }

    func end() { for token in tokens { token.invalidate() } }

    func check(_ program: SectionProgram) async {
        let now = plain(sections)
        let expected = expected(program).description
        if now != expected { faults.append("is \(now), not \(expected)") }
        if let copy, copy != sections.map({ $0.map(text) }) { faults.append("the copy is \(copy), not \(now)") }
        for section in sections {
            if copies[key(section.key)] == nil { follow(section) }
            let elements = section.map(text)
            if section.count != elements.count { faults.append("a count is \(section.count), not \(elements)") }
        }
        for (key, copy) in copies where !copy.isEmpty || sections.contains(where: { self.key($0.key) == key }) {
            let elements = sections.first { self.key($0.key) == key }?.map(text) ?? []
            if copy != elements, copy != ["not shown yet"] {
                faults.append("the copy of \(key) is \(copy), not \(elements)")
            }
        }
        for (sections, content) in frozen where plain(sections) != content {
            faults.append("frozen is \(plain(sections)), not \(content)")
        }
        if program.random.below(3) == 0, !sections.isInvalidated {
            nonisolated(unsafe) let frozen = sections.freeze()
            self.frozen.append((frozen, now))
            let found = await Task.detached { [key, text] in Self.plain(frozen, key, text) }.value
            if found != now { faults.append("frozen and elsewhere is \(found), not \(now)") }
        }
        #expect(faults.isEmpty, "seed \(program.seed), \(what): \(faults.prefix(2)) \(program.log)")
        faults = []
    }

    private func plain(_ sections: SectionedResults<Key, Element>) -> String { Self.plain(sections, key, text) }

    nonisolated private static func plain(
        _ sections: SectionedResults<Key, Element>, _ key: (Key) -> SectionKey, _ text: (Element) -> String
    ) -> String {
        sections.map { "\(key($0.key)): \($0.map(text))" }.joined(separator: "; ")
    }

    // MARK: Frames

    private func isFrame(_ deletions: [IndexPath], insertions: [IndexPath], modifications: [IndexPath]) -> Bool {
        let all = [deletions, insertions, modifications]
        return all.allSatisfy { $0 == $0.sorted() && Set($0).count == $0.count }
            && Set(deletions).isDisjoint(with: modifications)
    }

    private func apply(_ change: SectionedResultsChange<SectionedResults<Key, Element>>) {
        switch change {
        case .initial(let sections): copy = sections.map { $0.map(text) }
        case .update(let now, let deletions, let insertions, let modifications, let new, let gone):
            frames += 1
            guard let old = copy else { return faults.append("an update came first") }
            let frame = "-\(deletions) +\(insertions) ~\(modifications) S+\(Array(new)) S-\(Array(gone)) of \(old)"
            let shown = now.map { $0.map(text) }
            guard isFrame(deletions, insertions: insertions, modifications: modifications),
                (deletions + modifications).allSatisfy({
                    old.indices.contains($0[0]) && old[$0[0]].indices.contains($0[1])
                }), insertions.allSatisfy({ shown.indices.contains($0[0]) && shown[$0[0]].indices.contains($0[1]) }),
                gone.allSatisfy(old.indices.contains), new.allSatisfy(shown.indices.contains)
            else { return faults.append("\(frame) is no frame") }
            // nil stands for a modified element, which gets its new text at the end.
            var slots: [[String?]] = old
            for path in modifications { slots[path[0]][path[1]] = nil }
            for path in deletions.reversed() { slots[path[0]].remove(at: path[1]) }
            for section in gone.reversed() {
                if !slots[section].isEmpty { faults.append("\(frame) deletes a section with elements") }
                slots.remove(at: section)
            }
            for section in new {
                guard section <= slots.count else { return faults.append("\(frame) is no frame") }
                slots.insert([], at: section)
            }
            for path in insertions {
                guard path[0] < slots.count, path[1] <= slots[path[0]].count else {
                    return faults.append("\(frame) is no frame")
                }
                slots[path[0]].insert(shown[path[0]][path[1]], at: path[1])
            }
            copy = slots.enumerated().map { section, elements in
                elements.enumerated().map {
                    $1 ?? (section < shown.count && $0 < shown[section].count ? shown[section][$0] : "too many")
                }
            }
            if let copy, copy != shown { faults.append("\(frame) gives \(copy), not \(shown)") }
            if deletions.isEmpty, insertions.isEmpty, modifications.isEmpty, new.isEmpty, gone.isEmpty {
                faults.append("a frame is empty")
            }
        }
    }

    /// Observes one section alone.
    private func follow(_ section: ResultsSection<Key, Element>) {
        let id = key(section.key)
        copies[id] = ["not shown yet"]
        tokens.append(
            section.observe { [weak self, text] change in
                guard let self else { return }
                switch change {
                case .initial(let section): copies[id] = section.map(text)
                case .update(let now, let deletions, let insertions, let modifications, let new, let gone):
                    frames += 1
                    let (old, shown) = (copies[id] ?? [], now.map(text))
                    let frame = "\(id): -\(deletions) +\(insertions) ~\(modifications) S+\(Array(new)) S-\(Array(gone))"
                    guard isFrame(deletions, insertions: insertions, modifications: modifications),
                        Set((deletions + modifications).map { $0[0] }).count <= 1,
                        Set(insertions.map { $0[0] }).count <= 1,
                        (deletions + modifications).allSatisfy({ old.indices.contains($0[1]) }),
                        insertions.allSatisfy({ shown.indices.contains($0[1]) })
                    else { return faults.append("\(frame) of \(old) is no frame") }
                    if gone.isEmpty != !(shown.isEmpty && !old.isEmpty)
                        || new.isEmpty != !(old.isEmpty && !shown.isEmpty)
                    {
                        faults.append("\(frame) from \(old) to \(shown)")
                    }
                    var slots: [String?] = old
                    for path in modifications { slots[path[1]] = nil }
                    for path in deletions.reversed() { slots.remove(at: path[1]) }
                    for path in insertions where path[1] <= slots.count { slots.insert(shown[path[1]], at: path[1]) }
                    copies[id] = slots.enumerated().map { $1 ?? ($0 < shown.count ? shown[$0] : "too many") }
                    if copies[id] != shown { faults.append("\(frame) of \(old) gives \(copies[id]!), not \(shown)") }
                }
            })
    }
}
