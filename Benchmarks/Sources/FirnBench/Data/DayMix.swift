/// What a day does to a server's store, in small: half of the changes give somebody another bio, a fifth another age.
/// The rest adds people and deletes people in equal numbers. Four of five concern the newest tenth.
struct DayMix {
    private var random = SplitMix64(seed: 16)
    private let people: People
    private var alive: [Int]
    private var next: Int

    /// The first `loaded` of `people` are in the store; those after them are added.
    init(_ people: People, loaded: Int) {
        self.people = people
        alive = people.records[..<loaded].map(\.id)
        next = loaded
    }

    mutating func transaction(_ count: Int) -> [Change] { (0..<count).map { _ in change() } }

    private mutating func change() -> Change {
        let dice = random.below(100)
        if dice >= 70, dice < 85, next < people.count {
            alive.append(people.records[next].id)
            next += 1
            return .insert(next - 1)
        }
        let tenth = alive.count / 10
        let index = random.below(5) > 0 ? alive.count - 1 - random.below(tenth) : random.below(alive.count)
        switch dice {
        case ..<50: return .setBio(of: random.below(people.count), person: alive[index])
        case 85...:
            let person = alive[index]
            alive[index] = alive[alive.count - 1]
            alive.removeLast()
            return .delete(person: person)
        default: return .setAge(random.below(100), person: alive[index])
        }
    }
}
