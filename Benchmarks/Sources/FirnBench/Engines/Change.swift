/// One change of many in a transaction. People are named by primary key, texts to take by a place in `People`.
enum Change: Sendable {
    case setAge(Int, person: Int)
    case setBio(of: Int, person: Int)
    case insert(Int)
    case delete(person: Int)
}

extension Change {
    /// Bytes of the values that it brings; of a deletion, its key's.
    func byteCount(_ people: People) -> Int {
        switch self {
        case .setAge, .delete: 8
        case .setBio(let index, _): Int(people.records[index].bioLength)
        case .insert(let index): people.records[index].byteCount
        }
    }
}
