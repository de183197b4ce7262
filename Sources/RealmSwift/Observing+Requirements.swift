public import Dispatch
public import Firn

extension RealmCollection {
    /// `observe(keyPaths:on:_:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths, on: queue, block, file: throughProtocol, line: 0)
    }

    /// `observe(keyPaths:on:_:file:line:)` without key paths, `file` and `line`, so that it can satisfy a protocol's
    /// requirement.
    @_disfavoredOverload
    public func observe(on queue: DispatchQueue?, _ block: @escaping (RealmCollectionChange<Self>) -> Void)
        -> NotificationToken
    {
        observe(keyPaths: nil, on: queue, block, file: throughProtocol, line: 0)
    }
}

extension RealmCollection where Element: _QueriedObject {
    /// `observe(keyPaths:on:_:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func observe(
        keyPaths: [PartialKeyPath<Element>], on queue: DispatchQueue?,
        _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths, on: queue, block, file: throughProtocol, line: 0)
    }
}

extension RealmKeyedCollection {
    /// `observe(keyPaths:on:_:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (RealmMapChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths, on: queue, block, file: throughProtocol, line: 0)
    }

    /// `observe(keyPaths:on:_:file:line:)` without key paths, `file` and `line`, so that it can satisfy a protocol's
    /// requirement.
    @_disfavoredOverload
    public func observe(on queue: DispatchQueue?, _ block: @escaping (RealmMapChange<Self>) -> Void)
        -> NotificationToken
    {
        observe(keyPaths: nil, on: queue, block, file: throughProtocol, line: 0)
    }
}

extension RealmKeyedCollection where Value: _OptionalProtocol, Value.Wrapped: _QueriedObject {
    /// `observe(keyPaths:on:_:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func observe(
        keyPaths: [PartialKeyPath<Value.Wrapped>], on queue: DispatchQueue?,
        _ block: @escaping (RealmMapChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths, on: queue, block, file: throughProtocol, line: 0)
    }
}

extension RealmSectionedResult {
    /// `observe(keyPaths:on:_:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths, on: queue, block, file: throughProtocol, line: 0)
    }

    /// `observe(keyPaths:on:_:file:line:)` without key paths, `file` and `line`, so that it can satisfy a protocol's
    /// requirement.
    @_disfavoredOverload
    public func observe(on queue: DispatchQueue?, _ block: @escaping (SectionedResultsChange<Self>) -> Void)
        -> NotificationToken
    {
        observe(keyPaths: nil, on: queue, block, file: throughProtocol, line: 0)
    }
}

extension SectionedResults where SectionElement: _QueriedObject {
    /// `observe(keyPaths:on:_:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func observe(
        keyPaths: [PartialKeyPath<SectionElement>], on queue: DispatchQueue?,
        _ block: @escaping (SectionedResultsChange<SectionedResults>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths, on: queue, block, file: throughProtocol, line: 0)
    }
}

extension ResultsSection where Element: _QueriedObject {
    /// `observe(keyPaths:on:_:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func observe(
        keyPaths: [PartialKeyPath<Element>], on queue: DispatchQueue?,
        _ block: @escaping (SectionedResultsChange<ResultsSection>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths, on: queue, block, file: throughProtocol, line: 0)
    }
}

extension ProjectedCollection {
    /// `observe(keyPaths:on:_:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]?, on queue: DispatchQueue?,
        _ block: @escaping (RealmCollectionChange<ProjectedCollection>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths, on: queue, block, file: throughProtocol, line: 0)
    }

    /// `observe(keyPaths:on:_:file:line:)` without key paths, `file` and `line`, so that it can satisfy a protocol's
    /// requirement.
    @_disfavoredOverload
    public func observe(
        on queue: DispatchQueue?, _ block: @escaping (RealmCollectionChange<ProjectedCollection>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: nil, on: queue, block, file: throughProtocol, line: 0)
    }
}

extension ObjectBase {
    /// `observe(keyPaths:on:_:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public final func observe<T: ObjectBase>(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (ObjectChange<T>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths, on: queue, block, file: throughProtocol, line: 0)
    }

    /// `observe(keyPaths:on:_:file:line:)` without key paths, `file` and `line`, so that it can satisfy a protocol's
    /// requirement.
    @_disfavoredOverload
    public final func observe<T: ObjectBase>(on queue: DispatchQueue?, _ block: @escaping (ObjectChange<T>) -> Void)
        -> NotificationToken
    {
        observe(keyPaths: nil, on: queue, block, file: throughProtocol, line: 0)
    }

    /// `observe(keyPaths:on:_:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public final func observe<T: ObjectBase>(
        keyPaths: [PartialKeyPath<T>], on queue: DispatchQueue?,
        _ block: @escaping (ObjectChange<T>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths, on: queue, block, file: throughProtocol, line: 0)
    }
}

extension ProjectionObservable {
    /// `observe(keyPaths:on:_:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func observe(
        keyPaths: [PartialKeyPath<Self>], on queue: DispatchQueue?, _ block: @escaping (ObjectChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths, on: queue, block, file: throughProtocol, line: 0)
    }

    /// `observe(keyPaths:on:_:file:line:)` without key paths, `file` and `line`, so that it can satisfy a protocol's
    /// requirement.
    @_disfavoredOverload
    public func observe(on queue: DispatchQueue?, _ block: @escaping (ObjectChange<Self>) -> Void) -> NotificationToken
    {
        observe(keyPaths: [], on: queue, block, file: throughProtocol, line: 0)
    }

    /// `observe(keyPaths:on:_:file:line:)` with names of properties, but without `file` and `line`, so that it can
    /// satisfy a protocol's requirement.
    @_disfavoredOverload
    public func observe(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (ObjectChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths, on: queue, block, file: throughProtocol, line: 0)
    }
}
