@testable import Firn
import FirnTestSupport
import Foundation

class Box: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var any: AnyRealmValue
    @Persisted(indexed: true) var indexed: AnyRealmValue = .int(1)
    @Persisted var list: List<AnyRealmValue>
    @Persisted var set: MutableSet<AnyRealmValue>
    @Persisted var map: Map<String, AnyRealmValue>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    static let types: [ObjectBase.Type] = [Box.self, Dog.self, Person.self]

    convenience init(_ id: Int, _ any: AnyRealmValue = .none) {
        self.init()
        self.id = id
        self.any = any
    }
}

class Label: Object {
    @Persisted var text = "kept"
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
