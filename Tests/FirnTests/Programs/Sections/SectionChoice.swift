import Firn
import FirnTestSupport
import Foundation

/// Random sections: of one of the collections, divided by one of the keys.
@MainActor
enum SectionChoice {
    private typealias Row = SectionProgram.Row
    private typealias Key = (Row, [Int: Row]) -> SectionKey

    static func random(_ program: SectionProgram, _ owner: SectionRow) -> any FollowsSections {
        let objects = program.realm.objects(SectionRow.self).where { $0.id >= 0 }
        switch program.random.below(11) {
        case 0, 1: return of(objects, name: "all", program: program) { $0.ids }
        case 2:
            return of(objects.where { $0.number > 0 }, name: "filtered", program: program) { program in
                program.ids.filter { program.rows[$0]?.number ?? 0 > 0 }
            }
        case 3:
            return of(objects.filter("link.number >= 0"), name: "filtered by a link", program: program) { program in
                program.ids.filter { id in program.rows[id]?.link.flatMap { program.rows[$0]?.number } ?? -1 >= 0 }
            }
        case 4:
            return of(objects.sorted(by: \.id).distinct(by: [\.number]), name: "distinct", program: program) {
                program in
                var numbers: Set<Int?> = []
                return program.ids.sorted().filter { numbers.insert(program.rows[$0]?.number).inserted }
            }
        case 5:
            return of(objects.sorted(by: \.text, ascending: false), name: "sorted", program: program) { program in
                program.ids.sorted(by: [(false, { SectionKey($0.text) })]) { program.rows[$0] ?? .init() }
            }
        case 6: return of(owner.list, name: "list", program: program) { [owner] _ in owner.list.map(\.id) }
        case 7: return of(owner.set, name: "set", program: program) { [owner] _ in owner.set.map(\.id) }
        case 8: return cards(program)
        case 9: return words(owner, program)
        default: return numbers(owner, program)
        }
    }

    // MARK: Objects

    private static func of<C: RealmCollection>(
        _ base: C, name: String, program: SectionProgram, ids: @escaping (SectionProgram) -> [Int]
    ) -> any FollowsSections where C.Element == SectionRow {
        let isAscending = program.random.below(2) == 0
        let isAscendingNext = program.random.below(2) == 0
        let hasNext = program.random.below(2) == 0

        /// By a key path, alone or with a second property.
        func keyed<K: _Persistable & Hashable & SendableMetatype>(
            _ keyPath: KeyPath<SectionRow, K>, _ path: String, _ key: @escaping @Sendable (K) -> SectionKey,
            by plain: @escaping Key, sort: Key? = nil
        ) -> any FollowsSections {
            var orders = [(isAscending, sort ?? plain)]
            let sections: SectionedResults<K, SectionRow>
            if hasNext {
                sections = base.sectioned(
                    by: keyPath,
                    sortDescriptors: [
                        SortDescriptor(keyPath: path, ascending: isAscending),
                        SortDescriptor(keyPath: "double", ascending: isAscendingNext),
                    ])
                orders.append((isAscendingNext, { row, _ in SectionKey(row.double) }))
            } else {
                sections = base.sectioned(by: keyPath, ascending: isAscending)
            }
            return FollowedSections(
                "\(name) by \(path) \(isAscending) \(hasNext)", sections, key: key, text: { $0.content },
                expected: expected(ids, orders: orders, key: plain))
        }

        /// By what a block computes, sorted by a property or as the collection is.
        func computed<K: _Persistable & Hashable & SendableMetatype>(
            _ what: String, _ block: @escaping @Sendable (SectionRow) -> K,
            _ key: @escaping @Sendable (K) -> SectionKey,
            by plain: @escaping Key
        ) -> any FollowsSections {
            let descriptors = hasNext ? [SortDescriptor(keyPath: "text", ascending: isAscending)] : []
            let orders: [(Bool, Key)] = hasNext ? [(isAscending, { row, _ in SectionKey(row.text) })] : []
            return FollowedSections(
                "\(name) by a block: \(what) \(isAscending) \(hasNext)",
                base.sectioned(by: block, sortDescriptors: descriptors), key: key, text: { $0.content },
                expected: expected(ids, orders: orders, key: plain))
        }

        func linked(_ row: Row, _ rows: [Int: Row]) -> SectionKey { SectionKey(row.link.flatMap { rows[$0]?.number }) }
        switch program.random.below(14) {
        case 0: return keyed(\.number, "number", { SectionKey($0) }, by: { row, _ in SectionKey(row.number) })
        case 1: return keyed(\.text, "text", { SectionKey($0) }, by: { row, _ in SectionKey(row.text) })
        case 2: return keyed(\.double, "double", { SectionKey($0) }, by: { row, _ in SectionKey(row.double) })
        case 3: return keyed(\.date, "date", { SectionKey($0) }, by: { row, _ in SectionKey(row.date) })
        case 4: return keyed(\.mood, "mood", { SectionKey($0) }, by: { row, _ in SectionKey(row.mood) })
        case 5: return keyed(\.flag, "flag", { SectionKey($0) }, by: { row, _ in SectionKey(row.flag) })
        case 6:
            return keyed(
                \.initial, "text", { SectionKey($0) }, by: { row, _ in SectionKey(String(row.text.prefix(1))) },
                sort: { row, _ in SectionKey(row.text) })
        case 7:
            return keyed(
                \.parity, "number", { SectionKey($0) }, by: { row, _ in SectionKey((row.number ?? -1) & 1) },
                sort: { row, _ in SectionKey(row.number) })
        case 8:
            return keyed(
                \.link?.number, "link.number", { SectionKey($0) }, by: linked,
                sort: { $0.link == nil ? .nowhere : linked($0, $1) })
        case 9:
            return computed(
                "count", { $0.text.count % 3 }, { SectionKey($0) }, by: { row, _ in SectionKey(row.text.count % 3) })
        case 10:
            return computed(
                "link", { $0.link }, { SectionKey($0.flatMap { $0.isInvalidated ? -2 : $0.id }) },
                by: { row, _ in SectionKey(row.link) })
        case 11:
            return computed("double", { $0.double }, { SectionKey($0) }, by: { row, _ in SectionKey(row.double) })
        case 12:
            return computed("number of the link", { $0.link?.number }, { SectionKey($0) }, by: linked)
        default:
            return computed(
                "text or nothing", { $0.flag ? $0.text : nil }, { $0.map { SectionKey($0) } ?? .none },
                by: { row, _ in row.flag ? SectionKey(row.text) : .none })
        }
    }

    private static func expected(
        _ ids: @escaping (SectionProgram) -> [Int], orders: [(isAscending: Bool, key: Key)], key: @escaping Key
    ) -> (SectionProgram) -> PlainSections {
        { program in
            let all = program.rows
            let orders = orders.map { order in (order.isAscending, { (row: Row) in order.key(row, all) }) }
            let rows = program.rows(ids(program)).sorted(by: orders) { $0.row }
            return PlainSections(rows, by: { key($0.row, all) }, { $0.row.content($0.id, all) })
        }
    }

    // MARK: Projections and values

    private static func cards(_ program: SectionProgram) -> any FollowsSections {
        let cards = program.realm.objects(SectionCard.self).where { $0.id >= 0 }
        let isAscending = program.random.below(2) == 0
        func keyed<K: _Persistable & Hashable & SendableMetatype>(
            _ keyPath: KeyPath<SectionCard, K>, _ name: String, _ key: @escaping @Sendable (K) -> SectionKey,
            by plain: @escaping Key, sort: Key? = nil
        ) -> any FollowsSections {
            FollowedSections(
                "cards by \(name) \(isAscending)", cards.sectioned(by: keyPath, ascending: isAscending), key: key,
                text: { $0.rootObject.content },
                expected: expected({ $0.ids }, orders: [(isAscending, sort ?? plain)], key: plain))
        }
        func linked(_ row: Row, _ rows: [Int: Row]) -> SectionKey { SectionKey(row.link.flatMap { rows[$0]?.number }) }
        switch program.random.below(4) {
        case 0: return keyed(\.shownNumber, "number", { SectionKey($0) }, by: { row, _ in SectionKey(row.number) })
        case 1:
            return keyed(
                \.initial, "initial", { SectionKey($0) }, by: { row, _ in SectionKey(String(row.text.prefix(1))) },
                sort: { row, _ in SectionKey(row.text) })
        case 2: return keyed(\.mood, "mood", { SectionKey($0) }, by: { row, _ in SectionKey(row.mood) })
        default:
            return keyed(
                \.linkedNumber, "linked number", { SectionKey($0) }, by: linked,
                sort: { $0.link == nil ? .nowhere : linked($0, $1) })
        }
    }

    private static func words(_ owner: SectionRow, _ program: SectionProgram) -> any FollowsSections {
        let isAscending = program.random.below(2) == 0
        return FollowedSections(
            "words \(isAscending)", owner.words.sectioned(by: { String($0.prefix(1)) }, ascending: isAscending),
            key: { SectionKey($0) }, text: { $0.debugDescription },
            expected: { [owner] _ in
                let words = Array(owner.words).sorted(by: [(isAscending, { SectionKey($0) })]) { $0 }
                return PlainSections(words, by: { SectionKey(String($0.prefix(1))) }, { $0.debugDescription })
            })
    }

    private static func numbers(_ owner: SectionRow, _ program: SectionProgram) -> any FollowsSections {
        let isAscending = program.random.below(2) == 0
        return FollowedSections(
            "numbers \(isAscending)",
            owner.numbers.sectioned(by: { $0 < 1 ? $0 : Double.nan }, ascending: isAscending),
            key: { SectionKey($0) }, text: { "\($0)" },
            expected: { [owner] _ in
                let numbers = Array(owner.numbers).sorted(by: [(isAscending, { SectionKey($0) })]) { $0 }
                return PlainSections(numbers, by: { SectionKey($0 < 1 ? $0 : Double.nan) }, { "\($0)" })
            })
    }
}
