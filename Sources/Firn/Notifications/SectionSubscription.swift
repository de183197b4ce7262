import FirnCore
import FirnQuery
import Foundation

/// An observer of sectioned results, or of the section of one key.
///
/// It keeps the sections that it has shown: 8 to 16 bytes for each element, and some bytes for each section. Two
/// conditions make a change cheap: the elements are sorted by the property that divides them, and the query is a
/// maintained one (`MaintainedQuery`). Then a change costs O(sections), and O(log² n) for each object that it concerns.
/// Otherwise the sections are computed again and the elements are compared, because Firn does not know what a closure
/// of the application reads.
final class SectionSubscription<
    C: RealmSectionedResult, Key: _Persistable & Hashable, Element: RealmCollectionValue
>: SourceSubscription<C> {
    private let sections: (C) -> _SectionSource<Key, Element>
    /// The key of the section; nil for all sections.
    private let key: Key?
    private let block: (SectionedResultsChange<C>) -> Void
    private var known = Sections<Key>.none

    init(
        _ collection: C, sections: @escaping (C) -> _SectionSource<Key, Element>, key: Key?,
        from start: SubscriptionStart, paths: [ObservedPath]?, _ block: @escaping (SectionedResultsChange<C>) -> Void
    ) {
        self.sections = sections
        self.key = key
        self.block = block
        super.init(collection, from: start, paths)
    }

    override func showInitial(_ collection: C) { block(.initial(collection)) }

    override func skipped(_ pin: Pin) {
        foundAnew()
        realm.showing(pin) { known = sections(shown()).sections }
    }

    override func notify(_ summary: ChangeSummary, from old: Pin, to new: Pin) {
        guard !summary.isEmpty else { return }
        let shown = shown()
        let difference =
            updated(sections(shown), summary, from: old, to: new)
            ?? compared(sections(shown), summary: summary, from: old.snapshot, to: new.snapshot)
        guard !difference.isEmpty else { return }
        block(
            .update(
                shown, deletions: difference.deletions, insertions: difference.insertions,
                modifications: difference.modifications, sectionsToInsert: difference.sectionsToInsert,
                sectionsToDelete: difference.sectionsToDelete))
    }

    /// Updates the sections to the new version; nil if that is not possible.
    private func updated(
        _ source: _SectionSource<Key, Element>, _ summary: ChangeSummary, from oldPin: Pin, to newPin: Pin
    ) -> SectionDifference? {
        let (old, new) = (oldPin.snapshot, newPin.snapshot)
        guard source.isSortedByKey, known.areRanges, case .keys(var keys) = known.takeContent() else { return nil }
        let affected = affected(summary, from: old, to: new)
        source.drop()
        guard let change = update(&keys, summary: summary, from: old, to: new, affected: affected) else {
            known.putBack(.keys(keys))
            return nil
        }
        let before = known
        guard let after = before.updated(keys, change: change, { source.key(Element._fromElement(.link($0), realm)) })
        else {
            // The old sections have lost their elements, so they are computed again in the old version. `compared` then
            // computes the new ones.
            realm.showing(oldPin) { known = source.sections }
            return nil
        }
        known = after
        source.keep(after, of: new)
        return SectionDifference(change: change, changed: affected, from: before, to: after, key: key)
    }

    /// Computes the sections again, and compares them with the sections shown last.
    private func compared(
        _ source: _SectionSource<Key, Element>, summary: ChangeSummary, from old: Snapshot, to new: Snapshot
    ) -> SectionDifference {
        foundAnew()
        let (before, after) = (known, source.sections)
        known = after
        let isChanged = changed(before.content, summary: summary, from: old, to: new)
        return if let key {
            SectionDifference(of: key, comparing: before, to: after, isChanged)
        } else {
            SectionDifference(comparing: before, to: after, isChanged)
        }
    }

    /// Returns a function that says whether the object of the element at an old position counts as changed.
    private func changed(
        _ content: _CollectionSource.Content, summary: ChangeSummary, from old: Snapshot, to new: Snapshot
    ) -> (Int) -> Bool {
        switch content {
        case .keys(let keys):
            let affected = affected(summary, from: old, to: new)
            return { affected.contains(keys[$0]) }
        case .values(let values):
            let targets = affectedTargets(summary, from: old, to: new)
            return { !targets.isEmpty && values[$0].links(toOneOf: targets) }
        }
    }
}

/// How the sections of a collection differ between two states.
///
/// Without the deleted elements, the old sections equal the new sections without the inserted elements, section by
/// section and in order.
struct SectionDifference {
    private(set) var deletions: [IndexPath] = []
    private(set) var insertions: [IndexPath] = []
    private(set) var modifications: [IndexPath] = []
    private(set) var sectionsToInsert = IndexSet()
    private(set) var sectionsToDelete = IndexSet()

    var isEmpty: Bool {
        deletions.isEmpty && insertions.isEmpty && modifications.isEmpty && sectionsToInsert.isEmpty
            && sectionsToDelete.isEmpty
    }

    /// - Parameter isChanged: whether an element counts as changed, by its old position. Deleted elements are ignored.
    init<Key>(comparing old: Sections<Key>, to new: Sections<Key>, _ isChanged: (Int) -> Bool) {
        // Sections that stay, but move among the others, are deleted and inserted with everything in them.
        let staying = SectionDifference.staying(old, new)
        for (section, target) in staying.enumerated() { add(section, target: target, from: old, to: new, isChanged) }
        let targets = Set(staying.compactMap { $0 })
        for section in new.keys.indices where !targets.contains(section) {
            add(nil, target: section, from: old, to: new, isChanged)
        }
        insertions.sort()
    }

    /// The difference in the section of one key, whatever its index is among the sections.
    init<Key>(of key: Key, comparing old: Sections<Key>, to new: Sections<Key>, _ isChanged: (Int) -> Bool) {
        add(old.section(of: key), target: new.section(of: key), from: old, to: new, isChanged)
    }

    /// The difference that a change of the elements makes, if the sections are contiguous.
    ///
    /// - Parameter key: the key of the only section to look at; nil for all sections.
    init<Key>(
        change: MaintainedChange, changed: Set<Int64>, from old: Sections<Key>, to new: Sections<Key>, key: Key?
    ) {
        var homes: [Int64: Int] = [:]
        for (index, object) in change.inserted where change.staying.contains(object) {
            homes[object] = new.location(of: index)?.section
        }
        func isSame(_ section: Int, _ target: Int) -> Bool { new.section(of: old.keys[section]) == target }
        var moved: Set<Int64> = []
        func note(_ index: Int, in sections: Sections<Key>, _ paths: inout [IndexPath]) {
            guard let location = sections.location(of: index) else { return }
            if let key, sections.section(of: key) != location.section { return }
            paths.append(IndexPath(indexes: [location.section, location.item]))
        }
        for (index, object) in change.removed {
            guard let location = old.location(of: index) else { continue }
            if change.staying.contains(object), let home = homes[object], isSame(location.section, home) {
                if changed.contains(object) { note(index, in: old, &modifications) }
            } else {
                moved.insert(object)
                note(index, in: old, &deletions)
            }
        }
        for (index, object) in change.inserted where !change.staying.contains(object) || moved.contains(object) {
            note(index, in: new, &insertions)
        }
        for index in change.modified { note(index, in: old, &modifications) }
        modifications.sort()
        for path in deletions where new.section(of: old.keys[path[0]]) == nil { sectionsToDelete.insert(path[0]) }
        for path in insertions where old.section(of: new.keys[path[0]]) == nil { sectionsToInsert.insert(path[0]) }
    }

    /// Adds the difference in one section, which may be new or gone.
    private mutating func add<Key>(
        _ section: Int?, target: Int?, from old: Sections<Key>, to new: Sections<Key>, _ isChanged: (Int) -> Bool
    ) {
        func paths(_ section: Int, _ items: some Sequence<Int>) -> [IndexPath] {
            items.map { IndexPath(indexes: [section, $0]) }
        }
        switch (section, target) {
        case (nil, nil): break
        case (let section?, nil):
            sectionsToDelete.insert(section)
            deletions += paths(section, old.members(of: section).indices)
        case (nil, let target?):
            sectionsToInsert.insert(target)
            insertions += paths(target, new.members(of: target).indices)
        case (let section?, let target?):
            let difference = ListDifference(comparing: old.elements(of: section), to: new.elements(of: target))
            deletions += paths(section, difference.deletions)
            insertions += paths(target, difference.insertions)
            let deleted = Set(difference.deletions)
            let members = old.members(of: section)
            modifications += paths(
                section, members.indices.filter { isChanged(members[$0]) && !deleted.contains($0) })
        }
    }

    /// The new index of each old section; nil if the section is gone or moves among the others. All other sections keep
    /// their order.
    private static func staying<Key>(_ old: Sections<Key>, _ new: Sections<Key>) -> [Int?] {
        let (before, after) = (
            old.keys.filter { new.section(of: $0) != nil }, new.keys.filter { old.section(of: $0) != nil }
        )
        var staying: [Int?] = old.keys.map { new.section(of: $0) }
        let difference = ListDifference(
            comparing: before.map { Int64(new.section(of: $0) ?? 0) }, to: after.map { Int64(new.section(of: $0) ?? 0) }
        )
        for index in difference.deletions {
            if let section = old.section(of: before[index]) { staying[section] = nil }
        }
        return staying
    }
}
