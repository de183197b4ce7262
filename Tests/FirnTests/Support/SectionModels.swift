import Firn

class Member: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted var age = 0
    @Persisted var score: Double?
    @Persisted var club: Club?
    @Persisted var nicknames: List<String>
}

class Club: Object {
    @Persisted var title = ""
    @Persisted var members: List<Member>
}

func sectionRealm(_ name: String) throws -> Realm {
    try Realm(configuration: .init(inMemoryIdentifier: name, objectTypes: [Member.self, Club.self]))
}

func initial(_ member: Member) -> String { String(member.name.prefix(1)) }
