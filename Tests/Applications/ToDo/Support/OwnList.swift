import FirnTestSupport
import Foundation
import RealmSwift
import ToDo

/// A list that one process has for itself, among those that it shares with others.
///
/// What is in it after a number of steps depends on the seed alone, and the list counts its steps. So whoever reads
/// the store knows whether all steps up to some number are there, and nothing of another one.
public struct OwnList {
    public let key: String
    /// What is in the list after `stepCount` steps.
    public private(set) var drafts: [Draft] = []
    public private(set) var stepCount = 0
    private var random: SeededRandom

    /// The list before its first step.
    public init(seed: UInt64) {
        key = Self.keyPrefix + "\(seed)"
        random = SeededRandom(seed: seed)
    }

    private static let keyPrefix = "own "

    /// Whether any process has the list for itself.
    static func isOwn(_ list: TaskList) -> Bool { list.key.hasPrefix(keyPrefix) }

    /// Returns the next step, and applies it to `drafts`.
    public mutating func next() -> Step {
        let step = Step.random(&random, count: drafts.count, limit: 40)
        step.apply(to: &drafts)
        stepCount += 1
        return step
    }

    /// Takes as many steps as the list in a store has counted; none if the store has no such list.
    public mutating func catchUp(with store: Store) {
        let count = store.list(key)?.editCount ?? 0
        while stepCount < count { _ = next() }
    }

    /// Takes the next step, here and in a store.
    public mutating func advance(_ edit: Edit) {
        let list = edit.makeList(key, name: "Mine")
        next().apply(edit, to: list)
        edit.countEdit(of: list)
    }
}
