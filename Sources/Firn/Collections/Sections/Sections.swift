import FirnCore
import FirnQuery

/// The sections of a collection in one state.
struct Sections<Key: _Persistable & Hashable> {
    /// All elements, in the order of the collection.
    private(set) var content: _CollectionSource.Content
    /// The keys of the sections, in their order.
    private(set) var keys: [Key] = []
    private var layout = Layout.ranges(ends: [])
    private var numbers: [SectionID: Int] = [:]

    /// The positions of the sections' elements.
    private enum Layout {
        /// The elements of each section are contiguous, for example because they are sorted by the key. `ends` has the
        /// position after the last element of each section.
        case ranges(ends: [Int])
        /// The positions of each section's elements in the collection, in ascending order.
        case positions([[Int]])
    }

    static var none: Sections { Sections(.keys(OrderedKeys())) }

    private init(_ content: _CollectionSource.Content) { self.content = content }

    /// Divides elements into sections by their keys. O(n).
    init<Element>(
        content: _CollectionSource.Content, elements: RealmCollectionIterator<Element>, _ key: (Element) -> Key
    ) {
        self.content = content
        var elements = elements
        var (ends, positions): ([Int], [[Int]]?) = ([], nil)
        var position = 0
        while position < content.count, let element = elements.next() {
            let key = key(element)
            let section = section(of: key) ?? add(key)
            if section == ends.count {
                ends.append(position)
                positions?.append([])
            }
            if positions == nil, section < ends.count - 1 { positions = Self.positions(ends) }
            positions?[section].append(position)
            position += 1
            ends[section] = position
        }
        layout = positions.map { .positions($0) } ?? .ranges(ends: ends)
    }

    private static func positions(_ ends: [Int]) -> [[Int]] {
        ends.indices.map { Array(($0 == 0 ? 0 : ends[$0 - 1])..<ends[$0]) }
    }

    private mutating func add(_ key: Key) -> Int {
        numbers[SectionID(key)] = keys.count
        keys.append(key)
        return keys.count - 1
    }

    /// The positions of a section's elements in the collection, in ascending order.
    func members(of section: Int) -> SectionMembers {
        switch layout {
        case .ranges(let ends): .range((section == 0 ? 0 : ends[section - 1])..<ends[section])
        case .positions(let positions): .positions(positions[section])
        }
    }

    /// The stored values of a section's elements.
    func elements(of section: Int) -> [Value] {
        let members = members(of: section)
        return switch content {
        case .keys(let keys): members.map { .link(keys[$0]) }
        case .values(let values): members.map { values[$0] }
        }
    }

    /// The index of the section with a key; nil if there is none.
    func section(of key: Key) -> Int? { numbers[SectionID(key)] }

    // MARK: From version to version

    /// The section of the element at a position, and the element's index in the section; nil if the sections are not
    /// contiguous. O(log sections).
    func location(of position: Int) -> (section: Int, item: Int)? {
        guard case .ranges(let ends) = layout else { return nil }
        let section = ends.firstIndex(notBelow: position + 1)
        return (section, position - (section == 0 ? 0 : ends[section - 1]))
    }

    /// Whether the elements of each section are contiguous.
    var areRanges: Bool { if case .ranges = layout { true } else { false } }

    /// Removes and returns the elements, so that nothing else shares them and they can be changed in place. The caller
    /// must then call `putBack`, or replace these sections by the result of `updated`.
    mutating func takeContent() -> _CollectionSource.Content {
        defer { content = .keys(OrderedKeys()) }
        return content
    }

    mutating func putBack(_ content: _CollectionSource.Content) { self.content = content }

    /// The sections after a change of the elements. Nil unless the sections are contiguous before and after the change.
    /// O(sections), and one call of `key` for each element in `change.inserted`.
    func updated(_ content: OrderedKeys, change: MaintainedChange, _ key: (Int64) -> Key) -> Sections? {
        guard case .ranges(let ends) = layout else { return nil }
        var counts = ends.indices.map { $0 == 0 ? ends[0] : ends[$0] - ends[$0 - 1] }
        for (index, _) in change.removed {
            guard let location = location(of: index) else { return nil }
            counts[location.section] -= 1
        }
        var fresh: [SectionID: (key: Key, first: Int, count: Int)] = [:]
        var homes: [(index: Int, section: SectionID)] = []
        for (index, object) in change.inserted {
            let key = key(object)
            let id = SectionID(key)
            homes.append((index, id))
            if let section = numbers[id] {
                counts[section] += 1
            } else {
                fresh[id, default: (key, index, 0)].count += 1
            }
        }
        let result = Sections(
            content: .keys(content), counts: counts, fresh: fresh.values.sorted { $0.first < $1.first }, from: self)
        guard let result, case .ranges(let newEnds) = result.layout else { return nil }
        for (index, id) in homes {
            guard let section = result.numbers[id], index < newEnds[section],
                section == 0 || index >= newEnds[section - 1]
            else { return nil }
        }
        return result
    }

    /// The old sections with new counts, together with the new sections in `fresh`. Sections with a count of 0 are left
    /// out. Nil if the counts do not fill the collection.
    private init?(
        content: _CollectionSource.Content, counts: [Int], fresh: [(key: Key, first: Int, count: Int)],
        from old: Sections
    ) {
        self.init(content)
        var (ends, position): ([Int], Int) = ([], 0)
        func end(_ count: Int) {
            position += count
            ends.append(position)
        }
        if fresh.isEmpty, !counts.contains(0) {
            for count in counts { end(count) }
            (keys, numbers) = (old.keys, old.numbers)
        } else {
            var fresh = fresh[...]
            for (section, count) in counts.enumerated() {
                while let next = fresh.first, next.first == position {
                    _ = add(next.key)
                    end(next.count)
                    fresh.removeFirst()
                }
                if count > 0 {
                    _ = add(old.keys[section])
                    end(count)
                }
            }
            while let next = fresh.first, next.first == position {
                _ = add(next.key)
                end(next.count)
                fresh.removeFirst()
            }
            guard fresh.isEmpty else { return nil }
        }
        guard position == content.count else { return nil }
        layout = .ranges(ends: ends)
    }
}

/// The positions of a section's elements in the collection, in ascending order.
enum SectionMembers: RandomAccessCollection {
    case range(Range<Int>)
    case positions([Int])

    var startIndex: Int { 0 }
    var endIndex: Int {
        switch self {
        case .range(let range): range.count
        case .positions(let positions): positions.count
        }
    }
    subscript(index: Int) -> Int {
        switch self {
        case .range(let range): range.lowerBound + index
        case .positions(let positions): positions[index]
        }
    }
}
