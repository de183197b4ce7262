public import Firn

// RealmSwift's functions for actors, so that they can satisfy a protocol's requirements. A requirement keeps the
// caller's isolation if it is `nonisolated(nonsending)`, or if its module has the upcoming feature
// `NonisolatedNonsendingByDefault`. With any other requirement, Swift leaves the caller's actor, and the function stops
// the program, as on a wrong thread.

extension Realm {
    /// `asyncWrite(isolation:file:line:_:)` without `isolation`, `file` and `line`, so that it can satisfy a protocol's
    /// requirement.
    ///
    /// - Throws: what `asyncWrite(isolation:file:line:_:)` throws.
    @_disfavoredOverload @discardableResult
    public nonisolated(nonsending) func asyncWrite<Result>(_ block: () throws -> Result) async throws -> Result {
        try await asyncWrite(isolation: #isolation, file: throughProtocol, line: 0, block)
    }

    /// `asyncRefresh(isolation:file:line:)` without `isolation`, `file` and `line`, so that it can satisfy a protocol's
    /// requirement.
    @_disfavoredOverload @discardableResult
    public nonisolated(nonsending) func asyncRefresh() async -> Bool {
        await asyncRefresh(isolation: #isolation, file: throughProtocol, line: 0)
    }

    /// `open(configuration:downloadBeforeOpen:isolation:file:line:)` without `isolation`, `file` and `line`, so that it
    /// can satisfy a protocol's requirement.
    ///
    /// - Throws: what `open(configuration:downloadBeforeOpen:isolation:file:line:)` throws.
    @_disfavoredOverload
    public nonisolated(nonsending) static func open(
        configuration: Configuration, downloadBeforeOpen: OpenBehavior
    ) async throws -> Realm {
        try await open(
            configuration: configuration, downloadBeforeOpen: downloadBeforeOpen, isolation: #isolation,
            file: throughProtocol, line: 0)
    }

    /// `init(configuration:downloadBeforeOpen:file:line:)` of the main actor, without `file` and `line`, so that it
    /// can satisfy a protocol's requirement.
    ///
    /// - Throws: what `init(configuration:downloadBeforeOpen:file:line:)` throws.
    @_disfavoredOverload @MainActor
    public init(configuration: Configuration, downloadBeforeOpen: OpenBehavior) async throws {
        try await self.init(
            configuration: configuration, downloadBeforeOpen: downloadBeforeOpen, file: throughProtocol, line: 0)
    }

    /// `init(configuration:actor:downloadBeforeOpen:file:line:)` without `file` and `line`, so that it can satisfy a
    /// protocol's requirement.
    ///
    /// - Throws: what `init(configuration:actor:downloadBeforeOpen:file:line:)` throws.
    @_disfavoredOverload
    public init<A: Actor>(
        configuration: Configuration, actor: isolated A, downloadBeforeOpen: OpenBehavior
    ) async throws {
        try await self.init(
            configuration: configuration, actor: actor, downloadBeforeOpen: downloadBeforeOpen, file: throughProtocol,
            line: 0)
    }
}

extension RealmCollection {
    /// `observe(keyPaths:on:isolation:_:file:line:)` without `isolation`, `file` and `line`, so that it can satisfy a
    /// protocol's requirement.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [String]?, on actor: A,
        _ block: @escaping @Sendable (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }

    /// `observe(keyPaths:on:isolation:_:file:line:)` without key paths, `isolation`, `file` and `line`, so that it can
    /// satisfy a protocol's requirement.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        on actor: A, _ block: @escaping @Sendable (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(keyPaths: nil, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }
}

extension RealmCollection where Element: _QueriedObject {
    /// `observe(keyPaths:on:isolation:_:file:line:)` with key paths of Swift, but without `isolation`, `file` and
    /// `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Element>], on actor: A,
        _ block: @escaping @Sendable (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }
}

extension RealmKeyedCollection {
    /// `observe(keyPaths:on:isolation:_:file:line:)` without `isolation`, `file` and `line`, so that it can satisfy a
    /// protocol's requirement.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [String]?, on actor: A, _ block: @escaping @Sendable (isolated A, RealmMapChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }
}

extension RealmKeyedCollection where Value: _OptionalProtocol, Value.Wrapped: _QueriedObject {
    /// `observe(keyPaths:on:isolation:_:file:line:)` with key paths of Swift, but without `isolation`, `file` and
    /// `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Value.Wrapped>], on actor: A,
        _ block: @escaping @Sendable (isolated A, RealmMapChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }
}

extension SectionedResults {
    /// `observe(keyPaths:on:isolation:_:file:line:)` without `isolation`, `file` and `line`, so that it can satisfy a
    /// protocol's requirement.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [String]?, on actor: A,
        _ block: @escaping @Sendable (isolated A, SectionedResultsChange<SectionedResults>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }
}

extension ResultsSection {
    /// `observe(keyPaths:on:isolation:_:file:line:)` without `isolation`, `file` and `line`, so that it can satisfy a
    /// protocol's requirement.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [String]?, on actor: A,
        _ block: @escaping @Sendable (isolated A, SectionedResultsChange<ResultsSection>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }
}

extension SectionedResults where SectionElement: _QueriedObject {
    /// `observe(keyPaths:on:isolation:_:file:line:)` with key paths of Swift, but without `isolation`, `file` and
    /// `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [PartialKeyPath<SectionElement>], on actor: A,
        _ block: @escaping @Sendable (isolated A, SectionedResultsChange<SectionedResults>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }
}

extension ResultsSection where Element: _QueriedObject {
    /// `observe(keyPaths:on:isolation:_:file:line:)` with key paths of Swift, but without `isolation`, `file` and
    /// `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Element>], on actor: A,
        _ block: @escaping @Sendable (isolated A, SectionedResultsChange<ResultsSection>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }
}

extension ProjectedCollection {
    /// `observe(keyPaths:on:isolation:_:file:line:)` without `isolation`, `file` and `line`, so that it can satisfy a
    /// protocol's requirement.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [String]?, on actor: A,
        _ block: @escaping @Sendable (isolated A, RealmCollectionChange<ProjectedCollection>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }
}

extension ObjectBase {
    /// `observe(keyPaths:on:isolation:_:file:line:)` without `isolation`, `file` and `line`, so that it can satisfy a
    /// protocol's requirement.
    @_disfavoredOverload
    public final nonisolated(nonsending) func observe<A: Actor, T: ObjectBase>(
        keyPaths: [String]?, on actor: A, _ block: @escaping @Sendable (isolated A, ObjectChange<T>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }

    /// `observe(keyPaths:on:isolation:_:file:line:)` with key paths of Swift, but without `isolation`, `file` and
    /// `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public final nonisolated(nonsending) func observe<A: Actor, T: ObjectBase>(
        keyPaths: [PartialKeyPath<T>], on actor: A, _ block: @escaping @Sendable (isolated A, ObjectChange<T>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }
}

extension ProjectionObservable {
    /// `observe(keyPaths:on:isolation:_:file:line:)` without `isolation`, `file` and `line`, so that it can satisfy a
    /// protocol's requirement.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Self>], on actor: A,
        _ block: @escaping @Sendable (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }

    /// `observe(keyPaths:on:isolation:_:file:line:)` with names of properties, but without `isolation`, `file` and
    /// `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [String]?, on actor: A, _ block: @escaping @Sendable (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }
}
