/// One of many changes in a transaction. A person is named by primary key, a text by the index of its person in
/// `People`.
enum Change: Sendable {
    case setAge(Int, person: Int)
    case setBio(of: Int, person: Int)
    case insert(Int)
    case delete(person: Int)
}

extension Change {
    /// The bytes of the change's values; for a deletion, those of its key.
    func byteCount(_ people: People) -> Int {
        switch self {
        case .setAge, .delete: 8
        case .setBio(let index, _): Int(people.records[index].bioLength)
        case .insert(let index): people.records[index].byteCount
        }
    }
}
