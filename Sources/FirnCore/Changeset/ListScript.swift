/// What was done to one collection, step by step: each index is about the collection as the steps before have left it.
///
/// A list's elements are its values, a set's too (at their places in its order); a map's are maps of one entry, placed by the order of keys.
/// Neighbouring steps of the same kind are kept as one, so that a million appends are one operation.
public struct ListScript: Sendable, Hashable {
    public enum Operation: Sendable, Hashable {
        /// `count` new elements, the first of which then stands at `index`.
        case insert(at: Int, count: Int)
        /// `count` elements from `index` on go.
        case remove(at: Int, count: Int)
        /// `count` elements from `index` on are replaced.
        case set(at: Int, count: Int)
        /// The element at `from` goes to where it then stands at `to`.
        case move(from: Int, to: Int)
    }

    public private(set) var operations: [Operation]
    /// The new elements of all inserts and sets, in order.
    public private(set) var newElements: [Value]
    /// The old elements of all removes and sets, in order.
    public private(set) var oldElements: [Value]

    public init() {
        operations = []
        newElements = []
        oldElements = []
    }

    public var isEmpty: Bool { operations.isEmpty }

    public mutating func insert(_ element: Value, at index: Int) {
        newElements.append(element)
        ListScript.extend(&operations, .insert(at: index, count: 1))
    }

    public mutating func remove(_ old: Value, at index: Int) {
        oldElements.append(old)
        ListScript.extend(&operations, .remove(at: index, count: 1))
    }

    public mutating func set(_ element: Value, replacing old: Value, at index: Int) {
        newElements.append(element)
        oldElements.append(old)
        ListScript.extend(&operations, .set(at: index, count: 1))
    }

    public mutating func move(from: Int, to: Int) {
        operations.append(.move(from: from, to: to))
    }

    /// Puts the steps of `later` behind these.
    public mutating func append(_ later: ListScript) {
        var new = later.newElements[...]
        var old = later.oldElements[...]
        for operation in later.operations {
            switch operation {
            case .insert(let index, let count):
                for step in 0..<count { insert(new.removeFirst(), at: index + step) }
            case .remove(let index, let count):
                for _ in 0..<count { remove(old.removeFirst(), at: index) }
            case .set(let index, let count):
                for step in 0..<count { set(new.removeFirst(), replacing: old.removeFirst(), at: index + step) }
            case .move(let from, let to): move(from: from, to: to)
            }
        }
    }

    /// The steps that undo these, last first.
    public func inverted() -> ListScript {
        var result = ListScript()
        var new = newElements[...]
        var old = oldElements[...]
        for operation in operations.reversed() {
            switch operation {
            case .insert(let index, let count):
                for step in (0..<count).reversed() { result.remove(new.removeLast(), at: index + step) }
            case .remove(let index, let count):
                for _ in 0..<count { result.insert(old.removeLast(), at: index) }
            case .set(let index, let count):
                for step in (0..<count).reversed() {
                    result.set(old.removeLast(), replacing: new.removeLast(), at: index + step)
                }
            case .move(let from, let to): result.move(from: to, to: from)
            }
        }
        return result
    }

    /// Does the steps to a collection's elements. False, with `elements` in any state, where an index does not fit.
    public func apply(to elements: inout [Value]) -> Bool {
        var new = newElements[...]
        for operation in operations {
            switch operation {
            case .insert(let index, let count):
                guard index <= elements.count, count <= new.count else { return false }
                elements.insert(contentsOf: new.prefix(count), at: index)
                new.removeFirst(count)
            case .remove(let index, let count):
                guard index <= elements.count, count <= elements.count - index else { return false }
                elements.removeSubrange(index..<index + count)
            case .set(let index, let count):
                guard index <= elements.count, count <= elements.count - index, count <= new.count else { return false }
                elements.replaceSubrange(index..<index + count, with: new.prefix(count))
                new.removeFirst(count)
            case .move(let from, let to):
                guard from < elements.count, to < elements.count else { return false }
                elements.insert(elements.remove(at: from), at: to)
            }
        }
        return true
    }

    /// Adds a step, to the last operation where it goes on with it.
    static func extend(_ operations: inout [Operation], _ step: Operation) {
        switch (operations.last, step) {
        case (.insert(let start, let count)?, .insert(let index, let more)) where index == start + count:
            operations[operations.count - 1] = .insert(at: start, count: count + more)
        case (.remove(let start, let count)?, .remove(let index, let more)) where index == start:
            operations[operations.count - 1] = .remove(at: start, count: count + more)
        case (.set(let start, let count)?, .set(let index, let more)) where index == start + count:
            operations[operations.count - 1] = .set(at: start, count: count + more)
        default: operations.append(step)
        }
    }
}
