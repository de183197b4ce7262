public import Firn

// RealmSwift's functions for actors, as requirements of a protocol. Such a requirement keeps the caller's isolation if
// it is `nonisolated(nonsending)`, or if its module has the upcoming feature `NonisolatedNonsendingByDefault`. Through
// any other one Swift leaves the caller's actor, and the function stops the program, as for a wrong thread.

extension Realm {
    /// `asyncWrite(isolation:file:line:_:)`, as a requirement of a protocol.
    ///
    /// - Throws: as that does.
    @_disfavoredOverload @discardableResult
    public nonisolated(nonsending) func asyncWrite<Result>(_ block: () throws -> Result) async throws -> Result {
        try await asyncWrite(isolation: #isolation, file: throughProtocol, line: 0, block)
    }

    /// `asyncRefresh(isolation:file:line:)`, as a requirement of a protocol.
    @_disfavoredOverload @discardableResult
    public nonisolated(nonsending) func asyncRefresh() async -> Bool {
        await asyncRefresh(isolation: #isolation, file: throughProtocol, line: 0)
    }

    /// `open(configuration:downloadBeforeOpen:isolation:file:line:)`, as a requirement of a protocol.
    ///
    /// - Throws: as that does.
    @_disfavoredOverload
    public nonisolated(nonsending) static func open(
        configuration: Configuration, downloadBeforeOpen: OpenBehavior
    ) async throws -> Realm {
        try await open(
            configuration: configuration, downloadBeforeOpen: downloadBeforeOpen, isolation: #isolation,
            file: throughProtocol, line: 0)
    }

    /// `init(configuration:downloadBeforeOpen:file:line:)` of the main actor, as a requirement of a protocol.
    ///
    /// - Throws: as that does.
    @_disfavoredOverload @MainActor
    public init(configuration: Configuration, downloadBeforeOpen: OpenBehavior) async throws {
        try await self.init(
            configuration: configuration, downloadBeforeOpen: downloadBeforeOpen, file: throughProtocol, line: 0)
    }

    /// `init(configuration:actor:downloadBeforeOpen:file:line:)`, as a requirement of a protocol.
    ///
    /// - Throws: as that does.
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
    /// `observe(keyPaths:on:isolation:_:file:line:)`, as a requirement of a protocol.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [String]?, on actor: A,
        _ block: @escaping @Sendable (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }

    /// The same without key paths, as a requirement of a protocol.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        on actor: A, _ block: @escaping @Sendable (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(keyPaths: nil, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }
}

extension RealmCollection where Element: _QueriedObject {
    /// `observe(keyPaths:on:isolation:_:file:line:)` with key paths of Swift, as a requirement of a protocol.
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
    /// `observe(keyPaths:on:isolation:_:file:line:)`, as a requirement of a protocol.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [String]?, on actor: A, _ block: @escaping @Sendable (isolated A, RealmMapChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }
}

extension RealmKeyedCollection where Value: _OptionalProtocol, Value.Wrapped: _QueriedObject {
    /// `observe(keyPaths:on:isolation:_:file:line:)` with key paths of Swift, as a requirement of a protocol.
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
    /// `observe(keyPaths:on:isolation:_:file:line:)`, as a requirement of a protocol.
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
    /// `observe(keyPaths:on:isolation:_:file:line:)`, as a requirement of a protocol.
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
    /// `observe(keyPaths:on:isolation:_:file:line:)` with key paths of Swift, as a requirement of a protocol.
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
    /// `observe(keyPaths:on:isolation:_:file:line:)` with key paths of Swift, as a requirement of a protocol.
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
    /// `observe(keyPaths:on:isolation:_:file:line:)`, as a requirement of a protocol.
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
    /// `observe(keyPaths:on:isolation:_:file:line:)`, as a requirement of a protocol.
    @_disfavoredOverload
    public final nonisolated(nonsending) func observe<A: Actor, T: ObjectBase>(
        keyPaths: [String]?, on actor: A, _ block: @escaping @Sendable (isolated A, ObjectChange<T>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }

    /// `observe(keyPaths:on:isolation:_:file:line:)` with key paths of Swift, as a requirement of a protocol.
    @_disfavoredOverload
    public final nonisolated(nonsending) func observe<A: Actor, T: ObjectBase>(
        keyPaths: [PartialKeyPath<T>], on actor: A, _ block: @escaping @Sendable (isolated A, ObjectChange<T>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }
}

extension ProjectionObservable {
    /// `observe(keyPaths:on:isolation:_:file:line:)`, as a requirement of a protocol.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Self>], on actor: A,
        _ block: @escaping @Sendable (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }

    /// `observe(keyPaths:on:isolation:_:file:line:)` with names of properties, as a requirement of a protocol.
    @_disfavoredOverload
    public nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [String]?, on actor: A, _ block: @escaping @Sendable (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths, on: actor, isolation: #isolation, block, file: throughProtocol, line: 0)
    }
}
