public import Dispatch
import FirnCore

/// The common part of `SectionedResults` and `ResultsSection`: a live collection whose changes are given as index
/// paths.
public protocol RealmSectionedResult: RandomAccessCollection, _SourcedCollection where Index == Int {
    /// Implements `observe(keyPaths:on:_:file:line:)`, with the file and line of the call.
    func _observe(
        _ keyPaths: [String]?, on queue: DispatchQueue?, file: StaticString, line: UInt,
        _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken
}

extension RealmSectionedResult {
    /// Calls `block` once with the collection, then after each write that changes the collection. Changes are given as
    /// index paths.
    ///
    /// ```swift
    /// token = byLetter.observe { change in
    ///     switch change {
    ///     case .initial: table.reload()
    ///     case .update(_, let deletions, let insertions, let modifications, let newSections, let goneSections):
    ///         table.update(deletions, insertions, modifications, newSections, goneSections)
    ///     }
    /// }
    /// ```
    ///
    /// `RealmCollection.observe(keyPaths:on:_:file:line:)` says when and where the block is called, what holding the
    /// token costs, and what stops the program. Being shown a version costs computing the sections again, O(elements),
    /// with a call of the closure that computes keys for each element. Under two conditions it costs only O(sections),
    /// and O(log² n) for each object that a change concerns. The elements must be sorted by the property that is the
    /// key. And the collection must be all objects of a class with filters, sorts and at most one `distinct`. The
    /// observer keeps the keys and the positions of all elements.
    ///
    /// Observing one section costs the same, and its index paths begin with the section's index. Changes in other
    /// sections are not shown, even if they change the index of this section.
    ///
    /// - Parameters:
    ///   - keyPaths: names of the elements' properties that make an element modified. Nil or an empty array stands for
    ///     all. An element that moves to another section is always shown.
    ///   - queue: a serial queue on which the block is called, with the sections or the section of that queue's realm.
    ///   - block: is called with the change.
    ///   - file: the call site's file, which messages about held versions name.
    ///   - line: the call site's line.
    /// - Returns: a token to be held as long as the block is to be called.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil,
        _ block: @escaping (SectionedResultsChange<Self>) -> Void, file: StaticString = #fileID, line: UInt = #line
    ) -> NotificationToken {
        _observe(keyPaths, on: queue, file: file, line: line, block)
    }
}

extension SectionedResults: RealmSectionedResult {
    /// Implements `observe(keyPaths:on:_:file:line:)`.
    public func _observe(
        _ keyPaths: [String]?, on queue: DispatchQueue?, file: StaticString, line: UInt,
        _ block: @escaping (SectionedResultsChange<SectionedResults>) -> Void
    ) -> NotificationToken {
        observe(keyPaths, on: queue, at: CallSite(file, line)) {
            SectionSubscription($0, sections: { $0.sections }, key: nil, from: $1, paths: $2, block)
        }
    }

    /// Calls `block` on an actor, with the actor's own sections: once, and then after each write that changes the
    /// sections. Otherwise it is like `observe(keyPaths:on:_:file:line:)` with a queue. If the task was cancelled, the
    /// returned token has ended and the block is never called.
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, SectionedResultsChange<SectionedResults>) -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) async -> NotificationToken {
        await observe(keyPaths, on: actor, isolation: isolation, at: CallSite(file, line), block: block) {
            SectionSubscription($0, sections: { $0.sections }, key: nil, from: $1, paths: $2, $3)
        }
    }
}

extension SectionedResults where SectionElement: _QueriedObject {
    /// Calls `block` once, then after each write that changes the sections or one of the properties:
    /// `observe(keyPaths:on:_:)` with Swift key paths. Also stops the program if a key path does not lead to a stored
    /// property.
    public func observe(
        keyPaths: [PartialKeyPath<SectionElement>], on queue: DispatchQueue? = nil,
        _ block: @escaping (SectionedResultsChange<SectionedResults>) -> Void, file: StaticString = #fileID,
        line: UInt = #line
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { TracedKeyPath.of($0).name }, on: queue, block, file: file, line: line)
    }

    /// Calls `block` on an actor, with the actor's own sections, for changes of the given properties:
    /// `observe(keyPaths:on:isolation:_:file:line:)` with Swift key paths. Also stops the program if a key path does
    /// not lead to a stored property.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<SectionElement>], on actor: A,
        isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, SectionedResultsChange<SectionedResults>) -> Void,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths.map { TracedKeyPath.of($0).name }, on: actor, isolation: isolation, block, file: file,
            line: line)
    }
}

extension ResultsSection: RealmSectionedResult {
    /// Implements `observe(keyPaths:on:_:file:line:)`.
    public func _observe(
        _ keyPaths: [String]?, on queue: DispatchQueue?, file: StaticString, line: UInt,
        _ block: @escaping (SectionedResultsChange<ResultsSection>) -> Void
    ) -> NotificationToken {
        let key = key
        return observe(keyPaths, on: queue, at: CallSite(file, line)) {
            SectionSubscription($0, sections: { $0.sections }, key: key, from: $1, paths: $2, block)
        }
    }

    /// Calls `block` on an actor, with the actor's own section: once, and then after each write that changes the
    /// section. Otherwise it is like `observe(keyPaths:on:_:file:line:)` with a queue. If the task was cancelled, the
    /// returned token has ended and the block is never called.
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, SectionedResultsChange<ResultsSection>) -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) async -> NotificationToken {
        let key = key
        return await observe(keyPaths, on: actor, isolation: isolation, at: CallSite(file, line), block: block) {
            SectionSubscription($0, sections: { $0.sections }, key: key, from: $1, paths: $2, $3)
        }
    }
}

extension ResultsSection where Element: _QueriedObject {
    /// Calls `block` once, then after each write that changes the section or one of the properties:
    /// `observe(keyPaths:on:_:)` with Swift key paths. Also stops the program if a key path does not lead to a stored
    /// property.
    public func observe(
        keyPaths: [PartialKeyPath<Element>], on queue: DispatchQueue? = nil,
        _ block: @escaping (SectionedResultsChange<ResultsSection>) -> Void, file: StaticString = #fileID,
        line: UInt = #line
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { TracedKeyPath.of($0).name }, on: queue, block, file: file, line: line)
    }

    /// Calls `block` on an actor, with the actor's own section, for changes of the given properties:
    /// `observe(keyPaths:on:isolation:_:file:line:)` with Swift key paths. Also stops the program if a key path does
    /// not lead to a stored property.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Element>], on actor: A,
        isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, SectionedResultsChange<ResultsSection>) -> Void,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths.map { TracedKeyPath.of($0).name }, on: actor, isolation: isolation, block, file: file,
            line: line)
    }
}
