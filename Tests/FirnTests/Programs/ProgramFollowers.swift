import Firn
import FirnTestSupport
import Foundation
import Testing

/// Observers of every kind over the objects of a random program, in a realm of the main actor. Each applies its frames
/// to a copy of what it has seen, and compares the copy with what there is now.
@MainActor
final class ProgramFollowers {
    private let realm: Realm
    private var tokens: [NotificationToken] = []
    private var tasks: [Task<Void, Never>] = []
    private var faults: [String] = []
    private(set) var frames = 0
    /// Compares copies with what there is at the end.
    private var ends: [() -> String?] = []
    private var followed: Set<ModelNode> = []

    /// A copy, which frames are applied to.
    private final class Copy<Content> {
        var content: Content
        init(_ content: Content) { self.content = content }
    }

    init(_ configuration: Realm.Configuration) throws {
        realm = try Realm(configuration: configuration)
        let nodes = realm.objects(ModelNode.self)
        func id(_ node: ModelNode) -> String { "\(node.id)" }
        follow("all", collection: nodes, id)
        follow("filtered", collection: nodes.where { $0.number > 2 }, id)
        follow("by a link", collection: nodes.filter("node.number > 1 OR ANY nodes.text == 'a'"), id)
        follow("sorted", collection: nodes.sorted(by: \.text).sorted(by: \.number, ascending: false), id)
        follow("distinct", collection: nodes.sorted(by: \.id).distinct(by: [\.number]).sorted(by: \.text), id)
        follow("limited", collection: nodes.filter("number < 5 SORT(text ASC) LIMIT(3)"), id)
        follow("sections", nodes.sectioned(by: \.number))
        follow("sections by a block", nodes.sectioned(by: { $0.text.count % 3 }, sortDescriptors: ["id"]))
        followAwaited(nodes.where { $0.flag })
        tokens.append(
            nodes.observe { [weak self] change in
                switch change {
                case .initial(let nodes): for node in nodes { self?.follow(node) }
                case .update(let nodes, _, let insertions, _): for index in insertions { self?.follow(nodes[index]) }
                case .error: break
                }
            })
    }

    /// Ends when everything was delivered.
    func finish(_ what: String) async {
        realm.refresh()
        for _ in 0..<2 {
            var isCalled = false
            let token = realm.objects(ModelNode.self).observe { _ in isCalled = true }
            await wait { isCalled }
            token.invalidate()
        }
        faults += ends.compactMap { $0() }
        #expect(faults.isEmpty, "\(what): \(faults.prefix(3))")
        for token in tokens { token.invalidate() }
        for task in tasks {
            task.cancel()
            await task.value
        }
    }

    private func note(_ name: String, copy: [String], now: [String]) {
        frames += 1
        if copy != now { faults.append(String("\(name): \(copy) is not \(now)".prefix(500))) }
    }

    // MARK: Collections

    private func follow<C: RealmCollection>(_ name: String, collection: C, _ text: @escaping (C.Element) -> String) {
        let copy = Copy<[String]>([])
        tokens.append(
            collection.observe { [weak self] change in
                self?.apply(change, to: copy, name: name, text)
            })
        ends.append {
            guard !collection.isInvalidated else { return nil }
            let now = collection.map(text)
            return copy.content == now ? nil : "\(name) ends with \(copy.content), not \(now)"
        }
    }

    private func followAwaited<C: RealmCollection>(_ collection: C) where C.Element == ModelNode {
        let copy = Copy<[String]>([])
        tasks.append(
            Task { @MainActor [weak self] in
                for await change in collection.changes {
                    self?.apply(change, to: copy, name: "awaited") { "\($0.id)" }
                }
            })
    }

    private func apply<C: RealmCollection>(
        _ change: RealmCollectionChange<C>, to copy: Copy<[String]>, name: String, _ text: (C.Element) -> String
    ) {
        switch change {
        case .initial(let collection): copy.content = collection.map(text)
        case .update(let collection, let deletions, let insertions, let modifications):
            let now = collection.isInvalidated ? [] : collection.map(text)
            var slots = copy.content.enumerated().map { (text: $1, isModified: modifications.contains($0)) }
            for index in deletions.reversed() { slots.remove(at: index) }
            for index in insertions {
                guard index <= slots.count, index < now.count else { return faults.append("\(name): \(insertions)") }
                slots.insert((now[index], false), at: index)
            }
            copy.content = slots.enumerated().map { $1.isModified && $0 < now.count ? now[$0] : $1.text }
            note(name, copy: copy.content, now: now)
        case .error(let error): faults.append("\(name): \(error)")
        }
    }

    private func follow<V: RealmCollectionValue>(
        _ name: String, _ map: Map<String, V>, _ text: @escaping (V) -> String
    ) {
        let copy = Copy<[String: String]>([:])
        func read(_ map: Map<String, V>) -> [String: String] {
            map.isInvalidated ? [:] : Dictionary(uniqueKeysWithValues: map.map { ($0.key, text($0.value)) })
        }
        tokens.append(
            map.observe { [weak self] change in
                switch change {
                case .initial(let map): copy.content = read(map)
                case .update(let map, let deletions, let insertions, let modifications):
                    let now = read(map)
                    for key in deletions { copy.content[key] = nil }
                    for key in insertions + modifications { copy.content[key] = now[key] }
                    self?.note(name, copy: copy.content.map { "\($0)" }.sorted(), now: now.map { "\($0)" }.sorted())
                case .error(let error): self?.faults.append("\(name): \(error)")
                }
            })
        ends.append {
            guard !map.isInvalidated else { return nil }
            return copy.content == read(map) ? nil : "\(name) ends with \(copy.content), not \(read(map))"
        }
    }

    // MARK: Sections

    private func follow<Key>(_ name: String, _ sections: SectionedResults<Key, ModelNode>) {
        let copy = Copy<[[Int]]>([])
        tokens.append(
            sections.observe { [weak self] change in
                switch change {
                case .initial(let sections): copy.content = sections.map { $0.map(\.id) }
                case .update(let now, let deletions, let insertions, _, let new, let gone):
                    for path in deletions.reversed() { copy.content[path.section].remove(at: path.item) }
                    for section in gone.reversed() { copy.content.remove(at: section) }
                    for section in new { copy.content.insert([], at: section) }
                    for path in insertions { copy.content[path.section].insert(now[path].id, at: path.item) }
                    self?.note(name, copy: ["\(copy.content)"], now: ["\(now.map { $0.map(\.id) })"])
                }
            })
        ends.append {
            let now = sections.map { $0.map(\.id) }
            return copy.content == now ? nil : "\(name) ends with \(copy.content), not \(now)"
        }
    }

    // MARK: One object

    private func follow(_ node: ModelNode) {
        guard followed.insert(node).inserted else { return }
        let id = node.id
        follow("\(id).ints", collection: node.ints) { "\($0)" }
        follow("\(id).nodes", collection: node.nodes) { "\($0.id)" }
        follow("\(id).words", collection: node.words) { $0 }
        follow("\(id).friends", collection: node.friends) { "\($0.id)" }
        follow("\(id).counts", node.counts) { $0.map { "\($0)" } ?? "nil" }
        follow("\(id).links", node.links) { $0.map { "\($0.id)" } ?? "nil" }
        let seen = Copy<[String: String]>(scalars(node))
        tokens.append(
            node.observe { [weak self] (change: ObjectChange<ModelNode>) in
                guard let self, case .change(let node, let properties) = change else { return }
                let now = scalars(node)
                for property in properties where now[property.name] != nil {
                    let (old, new) = (text(property.oldValue), text(property.newValue))
                    if new != now[property.name] {
                        faults.append("\(id).\(property.name) became \(new), not \(now[property.name]!)")
                    }
                    if old != seen.content[property.name] {
                        faults.append("\(id).\(property.name) was \(seen.content[property.name]!), not \(old)")
                    }
                    seen.content[property.name] = new
                }
                note("\(id)", copy: seen.content.map { "\($0)" }.sorted(), now: now.map { "\($0)" }.sorted())
            })
    }

    private func text(_ value: Any?) -> String { value.map { "\($0)" } ?? "nil" }

    /// The values that changes name with what they were and are.
    private func scalars(_ node: ModelNode) -> [String: String] {
        [
            "number": text(node.number), "text": node.text, "float": text(node.float),
            "double": text(node.double), "decimal": text(node.decimal), "uuid": text(node.uuid),
            "objectId": text(node.objectId), "date": text(node.date),
        ]
    }
}
