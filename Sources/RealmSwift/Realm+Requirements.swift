public import Dispatch
public import Firn
public import Foundation

extension Realm {
    /// `init(configuration:queue:file:line:)` without `file` and `line`, so that it can satisfy a protocol's
    /// requirement.
    ///
    /// - Throws: what `init(configuration:queue:file:line:)` throws.
    @_disfavoredOverload
    public init(configuration: Configuration, queue: DispatchQueue?) throws {
        try self.init(configuration: configuration, queue: queue, file: throughProtocol, line: 0)
    }

    /// `init(queue:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    ///
    /// - Throws: what `init(queue:file:line:)` throws.
    @_disfavoredOverload
    public init(queue: DispatchQueue?) throws { try self.init(queue: queue, file: throughProtocol, line: 0) }

    /// `init(fileURL:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    ///
    /// - Throws: what `init(fileURL:file:line:)` throws.
    @_disfavoredOverload
    public init(fileURL: URL) throws { try self.init(fileURL: fileURL, file: throughProtocol, line: 0) }

    /// `write(withoutNotifying:_:file:line:)` without `file` and `line`, so that it can satisfy a protocol's
    /// requirement.
    ///
    /// - Throws: what `write(withoutNotifying:_:file:line:)` throws.
    @_disfavoredOverload @discardableResult
    public func write<Result>(
        withoutNotifying tokens: [NotificationToken], _ block: () throws -> Result
    ) throws -> Result {
        try write(withoutNotifying: tokens, block, file: throughProtocol, line: 0)
    }

    /// `beginWrite(file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func beginWrite() { beginWrite(file: throughProtocol, line: 0) }

    /// `writeAsync(file:line:_:onComplete:)` without `file` and `line`, so that it can satisfy a protocol's
    /// requirement.
    @_disfavoredOverload @discardableResult
    public func writeAsync(
        _ block: @escaping () -> Void, onComplete: ((_ error: (any Swift.Error)?) -> Void)?
    ) -> AsyncTransactionId {
        writeAsync(file: throughProtocol, line: 0, block, onComplete: onComplete)
    }

    /// `beginAsyncWrite(file:line:_:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload @discardableResult
    public func beginAsyncWrite(_ asyncWriteBlock: @escaping () -> Void) -> AsyncTransactionId {
        beginAsyncWrite(file: throughProtocol, line: 0, asyncWriteBlock)
    }

    /// `observe(_:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func observe(_ block: @escaping NotificationBlock) -> NotificationToken {
        observe(block, file: throughProtocol, line: 0)
    }

    /// `refresh(file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload @discardableResult
    public func refresh() -> Bool { refresh(file: throughProtocol, line: 0) }

    /// `freeze(file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func freeze() -> Realm { freeze(file: throughProtocol, line: 0) }

    /// `thaw(file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func thaw() -> Realm { thaw(file: throughProtocol, line: 0) }

    /// `freeze(_:file:line:)` of an object, without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func freeze<T: ObjectBase>(_ object: T) -> T { freeze(object, file: throughProtocol, line: 0) }

    /// `thaw(_:file:line:)` of an object, without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func thaw<T: ObjectBase>(_ object: T) -> T? { thaw(object, file: throughProtocol, line: 0) }

    /// `freeze(_:file:line:)` of a collection, without `file` and `line`, so that it can satisfy a protocol's
    /// requirement.
    @_disfavoredOverload
    public func freeze<Collection: RealmCollection>(_ collection: Collection) -> Collection {
        freeze(collection, file: throughProtocol, line: 0)
    }

    /// Deletes the objects of a map: `delete(_:)` with a map's own type.
    @_disfavoredOverload
    public func delete<Element: ObjectBase>(_ map: Map<String, Element?>) { delete(map.values.compactMap { $0 }) }

    /// `resolve(_:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func resolve<Confined: ThreadConfined>(_ reference: ThreadSafeReference<Confined>) -> Confined? {
        resolve(reference, file: throughProtocol, line: 0)
    }

    /// `performMigration(for:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    ///
    /// - Throws: what `performMigration(for:file:line:)` throws.
    @_disfavoredOverload
    public static func performMigration(for configuration: Configuration) throws {
        try performMigration(for: configuration, file: throughProtocol, line: 0)
    }

    /// `asyncOpen(configuration:callbackQueue:file:line:callback:)` without `file` and `line`, so that it can satisfy a
    /// protocol's requirement.
    @_disfavoredOverload @discardableResult
    public static func asyncOpen(
        configuration: Configuration, callbackQueue: DispatchQueue,
        callback: @escaping (Swift.Result<Realm, any Swift.Error>) -> Void
    ) -> AsyncOpenTask {
        asyncOpen(
            configuration: configuration, callbackQueue: callbackQueue, file: throughProtocol, line: 0,
            callback: callback)
    }
}

extension ThreadConfined {
    /// `freeze(file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func freeze() -> Self { freeze(file: throughProtocol, line: 0) }

    /// `thaw(file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public func thaw() -> Self? { thaw(file: throughProtocol, line: 0) }
}

extension ThreadSafeReference {
    /// `init(to:file:line:)` without `file` and `line`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public init(to threadConfined: Confined) {
        self.init(to: threadConfined, file: throughProtocol, line: 0)
    }
}
