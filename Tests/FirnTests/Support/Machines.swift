@testable import Firn

/// A part of a machine, or of another gear.
class Gear: EmbeddedObject {
    @Persisted var name = "gear"
    @Persisted var size: Int?
    @Persisted var core: Gear?
    @Persisted var parts: List<Gear>
    @Persisted var named: Map<String, Gear?>
    @Persisted var maker: Dog?
    @Persisted(originProperty: "core") var machines: LinkingObjects<Machine>
    @Persisted(originProperty: "parts") var lists: LinkingObjects<Machine>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    convenience init(_ name: String, core: Gear? = nil) {
        self.init()
        self.name = name
        self.core = core
    }
}

class Machine: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var core: Gear?
    @Persisted var parts: List<Gear>
    @Persisted var named: Map<String, Gear?>
    @Persisted var others: List<Machine>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    static let types: [ObjectBase.Type] = [Machine.self, Gear.self, Dog.self, Person.self]

    convenience init(_ id: Int) {
        self.init()
        self.id = id
    }
}

extension Realm {
    /// How many objects there are of a class of embedded objects, whatever leads to them.
    func countEmbedded(_ type: EmbeddedObject.Type = Gear.self) -> Int {
        instance.table(instance.binding(of: type))?.count ?? 0
    }
}
