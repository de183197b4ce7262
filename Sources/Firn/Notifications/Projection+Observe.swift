public import Dispatch
import FirnCore
import FirnStorage

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
    /// to a collection or to a computed property counts as changed if anything that it reads has changed. Its old value
    /// is given only if it reads nothing but the object's own single values. No values are given if it is a collection.
    /// `ObjectBase.observe(keyPaths:on:_:file:line:)` says when and where the block is called, what it costs, and what
    /// stops the program.
    ///
    /// The first call for the class finds out which stored properties a computed property reads. To do so, it reads the
    /// computed property of unmanaged objects with their initial values. Then it reads it again with the other value of
    /// each `Bool` and another case of each enum. So a stored property that is read only for other values is not
    /// noticed. Nor is a property behind a map, a backlink or more than four links.
    ///
    /// - Parameters:
    ///   - keyPaths: the projected properties that matter, or key paths that read them. An empty array stands for all.
    ///   - queue: a serial queue on which the block is called, with the projection of that queue's realm.
    ///   - block: is called with the change.
    ///   - file: the call site's file, which messages about held versions name.
    ///   - line: the call site's line.
    /// - Returns: a token to be held as long as the block is to be called.
    public func observe(
        keyPaths: [PartialKeyPath<Self>] = [], on queue: DispatchQueue? = nil,
        _ block: @escaping (ObjectChange<Self>) -> Void, file: StaticString = #fileID, line: UInt = #line
    ) -> NotificationToken {
        observe(beginObserving(keyPaths, at: CallSite(file, line)), on: queue, block)
    }

    private func observe(
        _ start: ProjectionObserving<Self>, on queue: DispatchQueue?, _ block: @escaping (ObjectChange<Self>) -> Void
    ) -> NotificationToken {
        let token = NotificationToken()
        if let queue {
            start.realm.onQueue(.queue(queue), from: start.from) { realm in
                realm.add(ProjectionSubscription(realm: realm, start: start, block), token)
            }
        } else {
            start.realm.checkDelivery()
            start.realm.add(ProjectionSubscription(realm: start.realm, start: start, block), token)
        }
        return token
    }

    /// Calls `block` on an actor, with the actor's own projection, after each write that changes a projected property
    /// or deletes the object. Otherwise it is like `observe(keyPaths:on:_:)`.
    /// `ObjectBase.observe(keyPaths:on:isolation:_:file:line:)` describes observers on actors.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Self>] = [], on actor: A, isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, ObjectChange<Self>) -> Void, file: StaticString = #fileID,
        line: UInt = #line
    ) async -> NotificationToken {
        await observe(
            beginObserving(keyPaths, at: CallSite(file, line)), on: actor, isolation: isolation, block)
    }

    private func observe<A: Actor>(
        _ start: ProjectionObserving<Self>, on actor: A, isolation: isolated (any Actor)?,
        _ block: @escaping @Sendable (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken {
        let token = NotificationToken()
        guard !Task.isCancelled else {
            token.invalidate()
            return token
        }
        await ActorObserving.install(start.realm, on: actor, from: start.from, isolation: isolation) { realm in
            // The reference is weak, because the actor may keep the token, which keeps this closure.
            let subscription = ProjectionSubscription<Self>(realm: realm, start: start) { [weak actor] change in
                guard let actor else { return }
                nonisolated(unsafe) let change = change
                actor.assumeIsolated { block($0, change) }
            }
            realm.add(subscription, token)
        }
        return token
    }

    /// The object's changes, to be awaited on the realm's actor, like `ObjectBase.changes(keyPaths:file:line:)`.
    ///
    /// - Parameters:
    ///   - keyPaths: the projected properties that matter. An empty array stands for all.
    ///   - file: the call site's file, which messages about held versions name.
    ///   - line: the call site's line.
    /// - Returns: the changes.
    public func changes(
        keyPaths: [PartialKeyPath<Self>] = [], file: StaticString = #fileID, line: UInt = #line
    ) -> ChangeSequence<ObjectChange<Self>> {
        let site = CallSite(file, line)
        return ChangeSequence { changes in
            let start = self.beginObserving(keyPaths, at: site)
            changes.observe(
                start.realm,
                ProjectionSubscription<Self>(realm: start.realm, start: start) { [weak changes] in changes?.receive($0)
                })
        }
    }

    /// Calls `block` when projected properties with these names have changed: like the other `observe(keyPaths:on:_:)`,
    /// with names instead of key paths. Nil stands for all properties. Stops the program if the projection has no
    /// property with one of the names, and in the same cases as the other function.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]?, on queue: DispatchQueue? = nil, _ block: @escaping (ObjectChange<Self>) -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> NotificationToken {
        observe(beginObserving(named: keyPaths ?? [], at: CallSite(file, line)), on: queue, block)
    }

    /// Calls `block` on an actor when projected properties with these names have changed: like the other
    /// `observe(keyPaths:on:isolation:_:file:line:)`, with names instead of key paths. Nil stands for all properties.
    /// Stops the program if the projection has no property with one of the names, and in the same cases as the other
    /// function.
    @_disfavoredOverload
    public func observe<A: Actor>(
        keyPaths: [String]?, on actor: A, isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, ObjectChange<Self>) -> Void, file: StaticString = #fileID,
        line: UInt = #line
    ) async -> NotificationToken {
        await observe(
            beginObserving(named: keyPaths ?? [], at: CallSite(file, line)), on: actor, isolation: isolation, block)
    }

    private func beginObserving(named names: [String], at site: CallSite) -> ProjectionObserving<Self> {
        let all = ProjectionInfo.of(self).properties
        return beginObserving(
            numbers: names.map { name in
                guard let number = all.firstIndex(where: { $0.label == name }) else {
                    stopProgram(
                        "\(Self.self) has no projected property \"\(name)\"; it has \(all.map(\.label).joined(separator: ", "))."
                    )
                }
                return number
            }, at: site)
    }

    private func beginObserving(
        _ keyPaths: [PartialKeyPath<Self>], at site: CallSite
    ) -> ProjectionObserving<Self> {
        let all = ProjectionInfo.of(self).properties
        let chosen = keyPaths.flatMap { keyPath -> [Int] in
            let numbers = ObservableKeyPath.of(keyPath).projected
            guard numbers.contains(where: { !all[$0].wrapper(in: self)._ways.isEmpty }) else {
                stopProgram(
                    "\(keyPath) reads no projected property of \(Self.self) that the store has, so it can't be observed. Give the key path of such a property."
                )
            }
            return numbers
        }
        return beginObserving(numbers: chosen, at: site)
    }

    /// - Parameter chosen: the numbers of the projected properties that matter. An empty array stands for all.
    private func beginObserving(numbers chosen: [Int], at site: CallSite) -> ProjectionObserving<Self> {
        let all = ProjectionInfo.of(self).properties
        let start = rootObject.beginObserving(nil, at: site)
        let properties = (chosen.isEmpty ? Array(all.indices) : Set(chosen).sorted()).map { number in
            let paths = all[number].wrapper(in: self)._ways.map {
                ObservedPath(text: $0.dotted, binding: start.binding, schema: start.realm.schema)
            }
            return ObservedProjected(property: all[number], paths: paths)
        }
        return ProjectionObserving(
            type: Swift.type(of: self), realm: start.realm, binding: start.binding, key: start.key, from: start.from,
            properties: properties, site: site)
    }
}

/// A projected property that is observed.
private struct ObservedProjected {
    let property: ProjectionInfo.Property
    /// The paths along which the property's value may change.
    let paths: [ObservedPath]
    /// Whether the value depends only on the object's own single values, so that the old value can be shown.
    var isOwn: Bool { paths.allSatisfy { !$0.isNested && !$0.property.isLinkingObjects && !$0.property.isCollection } }
}

/// The data from which an observer of a projection is made.
private struct ProjectionObserving<P: ProjectionObservable> {
    /// The class of the observed projection, which may be a subclass of `P`.
    let type: P.Type
    let realm: _RealmInstance
    let binding: TableBinding
    let key: Int64
    let from: SubscriptionStart
    let properties: [ObservedProjected]
    let site: CallSite
}

/// An observer of one projection.
private final class ProjectionSubscription<P: ProjectionObservable>: RowSubscription {
    private let type: P.Type
    private let properties: [ObservedProjected]
    private let site: CallSite
    private let block: (ObjectChange<P>) -> Void

    init(realm: _RealmInstance, start: ProjectionObserving<P>, _ block: @escaping (ObjectChange<P>) -> Void) {
        type = start.type
        properties = start.properties
        site = start.site
        self.block = block
        super.init(realm: realm, binding: start.binding, key: start.key, from: start.from)
    }

    override func deleted() { block(.deleted) }

    override func notify(_ difference: RowDifference) {
        let changed = properties.compactMap { observed -> (observed: ObservedProjected, isOwnChange: Bool)? in
            let affected = observed.paths.filter(difference.isAffected)
            guard !affected.isEmpty else { return nil }
            return (observed, affected.contains { difference.isOwn($0.property, in: realm) })
        }
        guard !changed.isEmpty else { return }
        let root = unsafeDowncast(realm.accessor(binding, key), to: P.Root.self)
        let projection = type.init(projecting: root)
        var old: ObjectBase?
        let changes = changed.map { observed, isOwnChange -> PropertyChange in
            let wrapper = observed.property.wrapper(in: projection)
            let name = observed.property.label
            if wrapper._isCollection { return PropertyChange(name: name, oldValue: nil, newValue: nil) }
            guard observed.isOwn else {
                return PropertyChange(name: name, oldValue: nil, newValue: wrapper._any(of: root))
            }
            if old == nil, !isOwnChange { old = rootBefore(difference) }
            return PropertyChange(
                name: name, oldValue: isOwnChange ? nil : old.flatMap { live(wrapper._any(of: $0)) },
                newValue: wrapper._any(of: root))
        }
        block(.change(projection, changes))
    }

    /// The object in the old version, frozen. Old values are computed from this object.
    private func rootBefore(_ difference: RowDifference) -> ObjectBase {
        let frozen = realm.shared.frozen(realm.configuration, schema: realm.schema, pin: difference.old, at: site)
        return frozen.accessor(frozen.binding(like: binding), key)
    }

    /// A value as observers get it: an object that it links to is live, whichever version has the link.
    private func live(_ value: Any?) -> Any? {
        func moved<T: ThreadConfined>(_ value: T) -> Any { value._moved(to: realm) }
        if let mixed = cast(value, to: AnyRealmValue.self) { return live(mixed) }
        guard let object = value as? ObjectBase, let confined = object as? any ThreadConfined else { return value }
        return moved(confined)
    }

    /// A mixed value with live objects. Its lists and dictionaries are copies, because the stored ones may have
    /// changed.
    private func live(_ value: AnyRealmValue) -> AnyRealmValue {
        switch value {
        case .object(let object): return .object(object._moved(to: realm))
        case .list(let list): return .fromArray(list.map(live))
        case .dictionary(let map):
            let copy = Map<String, AnyRealmValue>()
            for entry in map { copy[entry.key] = live(entry.value) }
            return .dictionary(copy)
        default: return value
        }
    }
}
