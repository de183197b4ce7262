public import Dispatch
import FirnCore

extension ProjectionObservable {
    /// Calls `block` after each write that changes a projected property, or deletes the object. There is no first call.
    ///
    /// ```swift
    /// token = card.observe { change in
    ///     switch change {
    ///     case .change(let card, let properties): print(card.name, properties.map(\.name))
    ///     case .deleted: print("deleted")
    ///     case .error: break
    ///     }
    /// }
    /// ```
    ///
    /// The changes name properties of the projection, in the order of its class. A property that leads through a link,
    /// or to a collection, counts as changed if anything on its way has changed. See
    /// `ObjectBase.observe(keyPaths:on:_:file:line:)` for when and where the block is called, what it costs, and what
    /// stops the program.
    ///
    /// - Parameters:
    ///   - keyPaths: the projected properties that matter; an empty array for all.
    ///   - queue: a serial queue to be called on, with the projection of that queue.
    ///   - block: is called with the change.
    ///   - file: the call site's file, which messages about held versions name.
    ///   - line: the call site's line.
    /// - Returns: a token to be held as long as the block is to be called.
    public func observe(
        keyPaths: [PartialKeyPath<Self>] = [], on queue: DispatchQueue? = nil,
        _ block: @escaping (ObjectChange<Self>) -> Void, file: StaticString = #fileID, line: UInt = #line
    ) -> NotificationToken {
        let start = beginObserving(keyPaths, at: CallSite(file, line))
        let token = NotificationToken()
        if let queue {
            start.realm.onQueue(.queue(queue), from: start.from) { realm in
                realm.add(ProjectionSubscription(realm, start, block), token)
            }
        } else {
            start.realm.checkDelivery()
            start.realm.add(ProjectionSubscription(start.realm, start, block), token)
        }
        return token
    }

    /// Calls `block` on an actor after each write that changes a projected property, or deletes the object, with the
    /// actor's own projection: `observe(keyPaths:on:_:)` as `ObjectBase.observe(keyPaths:on:_:)` has it for actors.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Self>] = [], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, ObjectChange<Self>) -> Void, file: StaticString = #fileID,
        line: UInt = #line
    ) async -> NotificationToken {
        let start = beginObserving(keyPaths, at: CallSite(file, line))
        let token = NotificationToken()
        guard !Task.isCancelled else {
            token.invalidate()
            return token
        }
        await ActorObserving.install(start.realm, on: actor, from: start.from, _isolation: _isolation) { realm in
            // The actor may keep the token.
            let subscription = ProjectionSubscription<Self>(realm, start) { [weak actor] change in
                guard let actor else { return }
                nonisolated(unsafe) let change = change
                actor.assumeIsolated { block($0, change) }
            }
            realm.add(subscription, token)
        }
        return token
    }

    private func beginObserving(
        _ keyPaths: [PartialKeyPath<Self>], at site: CallSite
    ) -> ProjectionObserving {
        let chosen = Set(
            keyPaths.map { keyPath in
                let properties = _KeyPathTracer.allProperties(keyPath)
                guard !properties.isEmpty else {
                    fatalError(
                        "Firn: \(keyPath) reads no stored property of \(Root.self), so it can't be observed. Give the key path of a projected property."
                    )
                }
                return properties.map(\.name).joined(separator: ".")
            })
        let properties = ProjectedProperty.all(of: self).compactMap { property -> (ProjectedProperty, String)? in
            guard let path = property.path, chosen.isEmpty || chosen.contains(path) else { return nil }
            return (property, path)
        }
        let start = rootObject.beginObserving(properties.map(\.1), at: site)
        return ProjectionObserving(
            realm: start.realm, binding: start.binding, key: start.key, from: start.from,
            properties: zip(properties, start.paths ?? []).map { ($0.0, $1) }, site: site)
    }
}

/// What an observer of a projection begins with.
private struct ProjectionObserving {
    let realm: _RealmInstance
    let binding: TableBinding
    let key: Int64
    let from: SubscriptionStart
    let properties: [(ProjectedProperty, ObservedPath)]
    let site: CallSite
}

/// An observer of one projection.
private final class ProjectionSubscription<P: ProjectionObservable>: RowSubscription {
    private let properties: [(property: ProjectedProperty, path: ObservedPath)]
    private let site: CallSite
    private let block: (ObjectChange<P>) -> Void

    init(_ realm: _RealmInstance, _ start: ProjectionObserving, _ block: @escaping (ObjectChange<P>) -> Void) {
        properties = start.properties
        site = start.site
        self.block = block
        super.init(realm, start.binding, start.key, from: start.from)
    }

    override func deleted() { block(.deleted) }

    override func notify(_ difference: RowDifference) {
        let changed = properties.filter { difference.isAffected($0.path) }
        guard !changed.isEmpty else { return }
        let root = realm.accessor(binding, key)
        var old: ObjectBase?
        let changes = changed.map { property, path -> PropertyChange in
            let hasValues = !path.isNested && !path.property.isLinkingObjects && !property.wrapper._isCollection
            guard hasValues else { return PropertyChange(name: property.label, oldValue: nil, newValue: nil) }
            if old == nil, !difference.isOwn(path.property, in: realm) { old = rootBefore(difference) }
            return PropertyChange(
                name: property.label,
                oldValue: difference.isOwn(path.property, in: realm) ? nil : old.flatMap(property.wrapper._any),
                newValue: property.wrapper._any(of: root))
        }
        block(.change(P(projecting: unsafeDowncast(root, to: P.Root.self)), changes))
    }

    /// The object as it was, frozen: what its key paths compute is computed of that.
    private func rootBefore(_ difference: RowDifference) -> ObjectBase {
        let frozen = realm.shared.frozen(realm.configuration, realm.schema, difference.old, at: site)
        return frozen.accessor(frozen.binding(like: binding), key)
    }
}
