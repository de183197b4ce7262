public import Dispatch
import FirnCore

extension ProjectedCollection {
    /// Calls `block` once with the collection, then after each write that changes it. Such a write inserts, deletes or
    /// moves elements of the list, or changes their projected property.
    /// `RealmCollection.observe(keyPaths:on:_:file:line:)` says when and where the block is called, what it costs, and
    /// what stops the program.
    ///
    /// - Parameters:
    ///   - keyPaths: names of the elements' properties that matter, instead of the projected property. Nil or an empty
    ///     array stands for the projected property.
    ///   - queue: a serial queue on which the block is called, with the collection of that queue's realm.
    ///   - block: is called with the change.
    ///   - file: the call site's file, which messages about held versions name.
    ///   - line: the call site's line.
    /// - Returns: a token to be held as long as the block is to be called.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<ProjectedCollection>) -> Void, file: StaticString = #fileID,
        line: UInt = #line
    ) -> NotificationToken {
        elements.observe(keyPaths, on: queue, block: block, file: file, line: line)
    }

    /// Calls `block` on an actor, with the actor's own collection. Otherwise it is like
    /// `observe(keyPaths:on:_:file:line:)`. `RealmCollection.observe(keyPaths:on:isolation:_:file:line:)` describes
    /// observers on actors.
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, RealmCollectionChange<ProjectedCollection>) -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) async -> NotificationToken {
        await elements.observe(keyPaths, on: actor, isolation: isolation, block: block, file: file, line: line)
    }
}

extension ProjectedElements {
    fileprivate func observe(
        _ keyPaths: [String]?, on queue: DispatchQueue?,
        block: @escaping (RealmCollectionChange<ProjectedCollection<Element>>) -> Void, file: StaticString,
        line: UInt
    ) -> NotificationToken {
        base.observe(
            keyPaths: observed(keyPaths), on: queue, { [keyPath] in block(projected($0, keyPath)) }, file: file,
            line: line)
    }

    fileprivate func observe<A: Actor>(
        _ keyPaths: [String]?, on actor: A, isolation: isolated (any Actor)?,
        block: @escaping @Sendable (isolated A, RealmCollectionChange<ProjectedCollection<Element>>) -> Void,
        file: StaticString, line: UInt
    ) async -> NotificationToken {
        await base.observe(
            observed(keyPaths), on: actor, isolation: isolation, at: CallSite(file, line), block: block
        ) { [keyPath] base, start, paths, block in
            CollectionSubscription(collection: base, from: start, paths: paths) { block(projected($0, keyPath)) }
        }
    }

    /// The key paths to observe: the given ones, or all that the projected key path reads if none are given.
    private func observed(_ keyPaths: [String]?) -> [String]? {
        keyPaths.flatMap { $0.isEmpty ? nil : $0 } ?? ways(.observing).map(\.dotted)
    }
}

private func projected<Base: RealmCollection, Element: RealmCollectionValue>(
    _ change: RealmCollectionChange<Base>, _ keyPath: KeyPath<Base.Element, Element>
) -> RealmCollectionChange<ProjectedCollection<Element>> where Base.Element: ObjectBase {
    func projected(_ base: Base) -> ProjectedCollection<Element> { ProjectedCollection(ElementsOf(base, keyPath)) }
    return switch change {
    case .initial(let base): .initial(projected(base))
    case .update(let base, let deletions, let insertions, let modifications):
        .update(projected(base), deletions: deletions, insertions: insertions, modifications: modifications)
    case .error(let error): .error(error)
    }
}
