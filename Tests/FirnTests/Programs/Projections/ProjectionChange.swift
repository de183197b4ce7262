import Firn

/// One change of a random program to projected objects: to the realm's, and to the oracle's.
enum ProjectionChange: Sendable {
    case create(Int), delete([Int])
    case name(Int, String), number(Int, Int?), double(Int, Double), mood(Int, CardMood), any(Int, PlainCard.PlainAny)
    case part(Int, PlainCard.PlainPart?), city(Int, String), innerCity(Int, String?), partLink(Int, Int?)
    case next(Int, Int?), insert(Int, Int, at: Int), removeAt(Int, Int), move(Int, Int, Int)
    case member(Int, Int), noMember(Int, Int), addPart(Int, String), removePart(Int, Int)
    case ints(Int, [Int]), append(Int, Int), word(Int, String), noWord(Int, String), count(Int, String, Int?)
    case noCount(Int, String)

    /// - Parameter isProjected: whether a projection is written, where it can be.
    func apply(_ realm: Realm, isProjected: Bool) {
        func base(_ id: Int?) -> CardBase? { id.flatMap { realm.object(ofType: CardBase.self, forPrimaryKey: $0) } }
        func card(_ id: Int) -> LinkedCard? { base(id).map { LinkedCard(projecting: $0) } }
        switch self {
        case .create(let id): realm.create(CardBase.self, value: ["id": id])
        case .delete(let ids): realm.delete(ids.compactMap { base($0) })
        case .name(let id, let name): if isProjected { card(id)?.again = name } else { base(id)?.name = name }
        case .number(let id, let number):
            if isProjected { card(id)?.number = number } else { base(id)?.number = number }
        case .double(let id, let double):
            if isProjected { card(id)?.double = double } else { base(id)?.double = double }
        case .mood(let id, let mood): if isProjected { card(id)?.mood = mood } else { base(id)?.mood = mood }
        case .any(let id, let any):
            if isProjected { card(id)?.any = any.value(realm) } else { base(id)?.any = any.value(realm) }
        case .part(let id, let part): base(id)?.part = part.map { Self.part($0, base($0.link)) }
        case .city(let id, let city): base(id)?.part?.city = city
        case .innerCity(let id, let city):
            base(id)?.part?.inner = city.map { CardPart(value: ["city": $0]) }
        case .partLink(let id, let link): base(id)?.part?.link = base(link)
        case .next(let id, let next):
            if isProjected { card(id)?.next = base(next) } else { base(id)?.next = base(next) }
        case .insert(let id, let member, let index):
            guard let object = base(id), let member = base(member) else { return }
            object.list.insert(member, at: index % (object.list.count + 1))
        case .removeAt(let id, let index):
            if let list = base(id)?.list, !list.isEmpty { list.remove(at: index % list.count) }
        case .move(let id, let from, let to):
            if let list = base(id)?.list, !list.isEmpty { list.move(from: from % list.count, to: to % list.count) }
        case .member(let id, let member): if let member = base(member) { base(id)?.set.insert(member) }
        case .noMember(let id, let member): if let member = base(member) { base(id)?.set.remove(member) }
        case .addPart(let id, let city): base(id)?.parts.append(CardPart(value: ["city": city]))
        case .removePart(let id, let index):
            if let parts = base(id)?.parts, !parts.isEmpty { parts.remove(at: index % parts.count) }
        case .ints(let id, let ints):
            base(id)?.ints.removeAll()
            if isProjected { card(id)?.ints.append(objectsIn: ints) } else { base(id)?.ints.append(objectsIn: ints) }
        case .append(let id, let int): if isProjected { card(id)?.ints.append(int) } else { base(id)?.ints.append(int) }
        case .word(let id, let word):
            if isProjected { card(id)?.words.insert(word) } else { base(id)?.words.insert(word) }
        case .noWord(let id, let word): base(id)?.words.remove(word)
        case .count(let id, let key, let count): base(id)?.counts.updateValue(count, forKey: key)
        case .noCount(let id, let key): base(id)?.counts.removeObject(for: key)
        }
    }

    private static func part(_ plain: PlainCard.PlainPart, _ link: CardBase?) -> CardPart {
        let part = CardPart()
        part.city = plain.city
        part.inner = plain.innerCity.map { CardPart(value: ["city": $0]) }
        part.link = link
        return part
    }

    func apply(_ cards: inout [Int: PlainCard]) {
        switch self {
        case .create(let id): cards[id] = PlainCard()
        case .delete(let ids):
            for id in ids {
                cards[id] = nil
                for other in cards.keys { cards[other]?.remove(id) }
            }
        case .name(let id, let name): cards[id]?.name = name
        case .number(let id, let number): cards[id]?.number = number
        case .double(let id, let double): cards[id]?.double = double
        case .mood(let id, let mood): cards[id]?.mood = mood
        case .any(let id, let any): cards[id]?.any = any
        case .part(let id, let part): cards[id]?.part = part
        case .city(let id, let city): cards[id]?.part?.city = city
        case .innerCity(let id, let city): cards[id]?.part?.innerCity = city
        case .partLink(let id, let link): cards[id]?.part?.link = link
        case .next(let id, let next): cards[id]?.next = next
        case .insert(let id, let member, let index):
            let count = cards[id]?.list.count ?? 0
            cards[id]?.list.insert(member, at: index % (count + 1))
        case .removeAt(let id, let index):
            if let count = cards[id]?.list.count, count > 0 { cards[id]?.list.remove(at: index % count) }
        case .move(let id, let from, let to):
            guard var list = cards[id]?.list, !list.isEmpty else { return }
            list.insert(list.remove(at: from % list.count), at: to % (list.count + 1))
            cards[id]?.list = list
        case .member(let id, let member): cards[id]?.set.insert(member)
        case .noMember(let id, let member): cards[id]?.set.remove(member)
        case .addPart(let id, let city): cards[id]?.parts.append(.init(city: city))
        case .removePart(let id, let index):
            if let count = cards[id]?.parts.count, count > 0 { cards[id]?.parts.remove(at: index % count) }
        case .ints(let id, let ints): cards[id]?.ints = ints
        case .append(let id, let int): cards[id]?.ints.append(int)
        case .word(let id, let word): cards[id]?.words.insert(word)
        case .noWord(let id, let word): cards[id]?.words.remove(word)
        case .count(let id, let key, let count): cards[id]?.counts.updateValue(count, forKey: key)
        case .noCount(let id, let key): cards[id]?.counts.removeValue(forKey: key)
        }
    }
}
