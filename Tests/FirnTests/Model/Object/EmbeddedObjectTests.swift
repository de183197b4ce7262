import Firn
import FirnTestSupport
import Foundation
import Testing

private class Set1: Object {
    @Persisted var parts: MutableSet<Gear>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class KeyedPart: EmbeddedObject {
    @Persisted(primaryKey: true) var id: Int
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class RequiredPart: Object {
    @Persisted var part: Gear
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// `EmbeddedObject` (R57, R58, SEMANTICS 37 to 39).
@Suite(.timeLimit(.minutes(20))) struct EmbeddedObjectTests {
    private func realm() throws -> Realm { try memoryRealm(Machine.types) }

    /// A realm with one machine: a core with a core, two parts in the list, the second of which has a part, and one
    /// part in the map.
    private func machine() throws -> Machine {
        let realm = try realm()
        let machine = Machine(1)
        machine.core = Gear("a", core: Gear("b"))
        machine.parts.append(objectsIn: [Gear("c"), Gear("d", core: Gear("e"))])
        machine.named["f"] = Gear("f")
        try realm.write { realm.add(machine) }
        #expect(realm.countEmbedded() == 6)
        return machine
    }

    // MARK: One parent

    /// What is set to nil, replaced or removed is deleted, with everything that it contains (SEMANTICS 37).
    @Test func whatLosesItsParentIsDeleted() throws {
        let machine = try machine()
        let realm = try #require(machine.realm)
        let core = try #require(machine.core)
        let inner = try #require(core.core)
        try realm.write { machine.core = Gear("new") }
        #expect(core.isInvalidated && inner.isInvalidated && machine.core?.name == "new")
        #expect(realm.countEmbedded() == 5)
        try realm.write { machine.core = nil }
        #expect(machine.core == nil && realm.countEmbedded() == 4)
        let (first, second) = (machine.parts[0], machine.parts[1])
        try realm.write { machine.parts.remove(at: 1) }
        #expect(second.isInvalidated && !first.isInvalidated && realm.countEmbedded() == 2)
        try realm.write { machine.parts[0] = Gear("other") }
        #expect(first.isInvalidated && machine.parts.map(\.name) == ["other"] && realm.countEmbedded() == 2)
        try realm.write { machine.named["f"] = Gear("g") }
        #expect(realm.countEmbedded() == 2 && machine.named["f"]??.name == "g")
        try realm.write { machine.named["f"] = .some(nil) }
        #expect(realm.countEmbedded() == 1 && machine.named.keys == ["f"])
        try realm.write { machine.named["f"] = Gear("h") }
        try realm.write { machine.named["f"] = nil }
        #expect(realm.countEmbedded() == 1 && machine.named.isEmpty)
        try realm.write { machine.parts.removeAll() }
        #expect(realm.countEmbedded() == 0)
    }

    @Test func theParentsDeletionDeletesAll() throws {
        let machine = try machine()
        let realm = try #require(machine.realm)
        try realm.write { realm.delete(machine) }
        #expect(realm.countEmbedded() == 0)
    }

    /// A chain that is too long for a recursion.
    @Test func aLongChainIsAddedAndDeleted() throws {
        let realm = try realm()
        let machine = Machine(1)
        var part = Gear("0")
        machine.core = part
        for number in 1..<20_000 {
            let next = Gear("\(number)")
            part.core = next
            part = next
        }
        try realm.write { realm.add(machine) }
        #expect(realm.countEmbedded() == 20_000)
        try realm.write { machine.core = nil }
        #expect(realm.countEmbedded() == 0)
    }

    /// `Realm.delete(_:)` takes an embedded object out of its parent: a list loses it, a map's key has nil.
    @Test func deletingAPartTakesItOutOfItsParent() throws {
        let machine = try machine()
        let realm = try #require(machine.realm)
        let list = machine.parts
        try realm.write {
            realm.delete(try #require(machine.core))
            realm.delete(list[0])
            realm.delete(try #require(machine.named["f"] ?? nil))
        }
        #expect(machine.core == nil && list.map(\.name) == ["d"] && machine.named.keys == ["f"])
        #expect(machine.named["f"] == .some(nil) && realm.countEmbedded() == 2)
    }

    @Test func movingAndExchangingKeepsParts() throws {
        let machine = try machine()
        let realm = try #require(machine.realm)
        let (c, d) = (machine.parts[0], machine.parts[1])
        try realm.write {
            machine.parts.append(Gear("x"))
            machine.parts.move(from: 0, to: 2)
            machine.parts.swapAt(0, 1)
        }
        #expect(machine.parts.map(\.name) == ["x", "d", "c"] && !c.isInvalidated && !d.isInvalidated)
        #expect(realm.countEmbedded() == 7)
    }

    /// Assigning a property to itself keeps what it has (SEMANTICS 31), and observers see an assignment (26).
    @MainActor @Test func assignmentToItselfKeepsEverything() async throws {
        let machine = try machine()
        let realm = try #require(machine.realm)
        var seen: [[String]] = []
        let token = machine.observe { (change: ObjectChange<Machine>) in
            if case .change(_, let changes) = change { seen.append(changes.map(\.name).sorted()) }
        }
        let (core, part, named) = (machine.core, machine.parts[0], machine.named["f"] ?? nil)
        try realm.write {
            machine.core = core
            machine.parts = machine.parts
            machine.named = machine.named
        }
        #expect(core?.isInvalidated == false && !part.isInvalidated && named?.isInvalidated == false)
        #expect(realm.countEmbedded() == 6)
        await waitForDeliveries(of: realm)
        #expect(seen == [["core", "named", "parts"]])
        // By name, too.
        try realm.write {
            machine["parts"] = machine["parts"]
            machine["named"] = machine["named"]
            machine["core"] = machine["core"]
        }
        #expect(core?.isInvalidated == false && !part.isInvalidated && realm.countEmbedded() == 6)
        token.invalidate()
    }

    @Test func aCancelledTransactionRestoresWhatItDeleted() throws {
        let machine = try machine()
        let realm = try #require(machine.realm)
        let core = try #require(machine.core)
        realm.beginWrite()
        machine.core = Gear("new")
        machine.parts.removeAll()
        realm.cancelWrite()
        #expect(machine.core?.isSameObject(as: core) == true && core.core?.name == "b")
        #expect(machine.parts.map(\.name) == ["c", "d"] && realm.countEmbedded() == 6)
    }

    // MARK: Stops

    @Test func linkingToAPartThatHasAParentStops() async {
        let link = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let machine = try EmbeddedObjectTests().machine()
            try machine.realm?.write { machine.core = machine.parts[0] }
        }
        expectMessage(link, "an embedded object of Gear has a parent already")
        let list = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let machine = try EmbeddedObjectTests().machine()
            try machine.realm?.write { machine.parts.append(machine.core!) }
        }
        expectMessage(list, "an embedded object of Gear has a parent already")
        let map = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let machine = try EmbeddedObjectTests().machine()
            try machine.realm?.write { machine.named["x"] = machine.core }
        }
        expectMessage(map, "an embedded object of Gear has a parent already")
        let twice = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let machine = try EmbeddedObjectTests().machine()
            let part = Gear("x")
            try machine.realm?.write { machine.parts.append(objectsIn: [part, part]) }
        }
        expectMessage(twice, "an embedded object of Gear has a parent already")
        let added = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm(Machine.types)
            let machine = Machine(1)
            machine.core = Gear("x")
            machine.parts.append(machine.core!)
            try realm.write { realm.add(machine) }
        }
        expectMessage(added, "an embedded object of Gear has a parent already")
    }

    @Test func theValidatingFormsThrowInstead() throws {
        let realm = try realm()
        let machine = Machine(1)
        machine.core = Gear("x")
        machine.parts.append(machine.core!)
        try realm.write {
            let error = #expect(throws: Realm.Error.self) { try realm.add(validating: machine) }
            #expect(error?.code == .invalidInput && error?.message.contains("has a parent already") == true)
        }
        let part = Gear("loop")
        part.core = part
        try realm.write {
            let error = #expect(throws: Realm.Error.self) {
                try realm.create(Machine.self, validating: ["id": 2, "core": part] as [String: Any])
            }
            #expect(error?.message.contains("can't contain itself") == true, "\(String(describing: error))")
            let text = #expect(throws: Realm.Error.self) {
                try realm.create(
                    Machine.self, validating: ["id": 3, "parts": [["size": "x"]]] as [String: Any])
            }
            #expect(text?.message.contains("parts[0].size") == true, "\(String(describing: text))")
        }
        part.core = nil
        #expect(realm.objects(Machine.self).isEmpty && realm.countEmbedded() == 0)
    }

    @Test func unsuitableDeclarationsAreRefused() throws {
        func message(_ types: [ObjectBase.Type]) throws -> String {
            try #require(throws: Realm.Error.self) { _ = try memoryRealm(types) }.message
        }
        #expect(try message([Set1.self] + Machine.types).contains("is a set of embedded objects"))
        #expect(try message([KeyedPart.self]).contains("is found through its parent"))
        #expect(try message([RequiredPart.self] + Machine.types).contains("declare it as Gear?"))
        // A class of embedded objects that no class uses is allowed (R28).
        #expect(try memoryRealm([Dog.self, Person.self, Machine.self, Gear.self]).schema["Gear"]?.isEmbedded == true)
    }

    // MARK: Creating and updating

    @Test func valuesOfEveryKindMakeParts() throws {
        let realm = try realm()
        let dog = Dog(7, "Rex")
        let part: [String: Any] = ["name": "core", "core": ["name": "inner", "maker": dog] as [String: Any]]
        try realm.write {
            realm.create(
                Machine.self,
                value: [
                    "id": 1, "core": part, "parts": [part, Gear("y"), ["z", 5] as [Any]], "named": ["k": part],
                ] as [String: Any])
        }
        let machine = try #require(realm.object(ofType: Machine.self, forPrimaryKey: 1))
        #expect(machine.core?.core?.maker?.name == "Rex" && machine.parts.map(\.name) == ["core", "y", "z"])
        #expect(machine.parts[2].size == 5 && machine.named["k"]??.core?.name == "inner")
        // The three descriptions of one dog are one dog: a dog is no part.
        #expect(realm.objects(Dog.self).count == 1 && realm.countEmbedded() == 8)
        // A copy within the realm has parts of its own, and links to the same dog (SEMANTICS 38).
        try realm.write {
            realm.create(
                Machine.self,
                value: ["id": 2, "core": machine.core as Any, "parts": machine.parts, "named": machine.named])
        }
        let copy = try #require(realm.object(ofType: Machine.self, forPrimaryKey: 2))
        #expect(copy.core?.isSameObject(as: machine.core) == false && copy.core?.core?.maker?.id == 7)
        #expect(copy.parts.map(\.name) == ["core", "y", "z"] && copy.named["k"]??.core?.name == "inner")
        #expect(realm.objects(Dog.self).count == 1 && realm.countEmbedded() == 16)
        // An unmanaged one can be copied from a managed one, and then be added.
        let third = Machine(value: ["id": 3, "core": machine.core as Any, "parts": machine.parts])
        #expect(third.core?.realm == nil && third.parts[0].realm == nil)
        let whole = Gear(value: machine.core!)
        #expect(whole.realm == nil && whole.core?.name == "inner")
        try realm.write { third.core?.core?.maker = dog }
    }

    /// `.modified` changes the parts in place, `.all` replaces them (SEMANTICS 39).
    @Test(arguments: [true, false]) func updatesChangeInPlaceOrReplace(created: Bool) throws {
        let machine = try machine()
        let realm = try #require(machine.realm)
        func update(_ policy: Realm.UpdatePolicy, _ suffix: String) throws {
            try realm.write {
                if created {
                    let value: [String: Any] = [
                        "id": 1, "core": ["name": "a" + suffix, "core": ["name": "b" + suffix]] as [String: Any],
                        "parts": [["name": "c" + suffix], ["name": "d" + suffix], ["name": "new"]],
                        "named": ["f": ["name": "f" + suffix], "g": NSNull()] as [String: Any],
                    ]
                    realm.create(Machine.self, value: value, update: policy)
                } else {
                    let new = Machine(1)
                    new.core = Gear("a" + suffix, core: Gear("b" + suffix))
                    new.parts.append(objectsIn: [Gear("c" + suffix), Gear("d" + suffix), Gear("new")])
                    new.named["f"] = Gear("f" + suffix)
                    new.named["g"] = .some(nil)
                    realm.add(new, update: policy)
                    #expect(new.parts[0].isSameObject(as: machine.parts[0]))
                }
            }
        }
        let (core, inner) = (machine.core!, machine.core!.core!)
        let (c, d, e) = (machine.parts[0], machine.parts[1], machine.parts[1].core!)
        let f = machine.named["f"]!!
        try update(.modified, "2")
        #expect(core.name == "a2" && inner.name == "b2" && c.name == "c2" && d.name == "d2" && f.name == "f2")
        // A dictionary leaves what it does not mention; an object has all properties.
        #expect(e.isInvalidated == !created && machine.parts[2].name == "new")
        #expect(realm.countEmbedded() == (created ? 7 : 6) && machine.named["g"] == .some(nil))
        #expect(machine.core!.isSameObject(as: core) && machine.parts[0].isSameObject(as: c))
        try update(.all, "3")
        #expect(core.isInvalidated && inner.isInvalidated && c.isInvalidated && d.isInvalidated && f.isInvalidated)
        #expect(machine.core?.core?.name == "b3" && machine.parts.map(\.name) == ["c3", "d3", "new"])
        #expect(machine.named["f"]??.name == "f3" && realm.countEmbedded() == 6)
        // Fewer elements: those at the end go.
        let last = machine.parts[2]
        try realm.write {
            realm.create(
                Machine.self, value: ["id": 1, "parts": [["name": "only"]], "core": NSNull()] as [String: Any],
                update: .modified)
        }
        #expect(last.isInvalidated && machine.parts.map(\.name) == ["only"] && machine.core == nil)
        #expect(realm.countEmbedded() == 2)
    }

    /// Only what differs is set and reported with `.modified`.
    @MainActor @Test func anUpdateWithTheSameValuesChangesNothing() async throws {
        let machine = try machine()
        let realm = try #require(machine.realm)
        var seen: [[String]] = []
        let tokens = [machine.core!, machine.parts[0]].map { part in
            part.observe { (change: ObjectChange<Gear>) in
                if case .change(let part, let changes) = change { seen.append([part.name] + changes.map(\.name)) }
            }
        }
        try realm.write {
            realm.create(
                Machine.self,
                value: ["id": 1, "core": ["name": "a"], "parts": [["name": "x"], ["name": "d"]]] as [String: Any],
                update: .modified)
        }
        await waitForDeliveries(of: realm)
        #expect(seen == [["x", "name"]])
        tokens.forEach { $0.invalidate() }
    }

    // MARK: Reading

    @Test func partsAreReadQueriedFrozenAndObserved() throws {
        let machine = try machine()
        let realm = try #require(machine.realm)
        let core = try #require(machine.core)
        #expect(core.machines.first?.id == 1 && machine.parts[1].lists.first?.id == 1 && core.lists.isEmpty)
        #expect(realm.objects(Machine.self).where { $0.core.core.name == "b" }.count == 1)
        #expect(realm.objects(Machine.self).where { $0.parts.name == "d" }.count == 1)
        #expect(realm.objects(Machine.self).filter("core.name == 'x' OR ANY parts.core.name == 'e'").count == 1)
        #expect(machine.parts.sorted(by: \.name, ascending: false).map(\.name) == ["d", "c"])
        #expect(machine.parts.where { $0.name == "c" }.count == 1)
        #expect(core.description.contains("b") && machine.description.contains("f"))
        // Equality: a class without primary key has identity, frozen ones are one row (SEMANTICS 41).
        #expect(core.isSameObject(as: machine.core) && core.freeze() == machine.core?.freeze())
        let frozen = core.freeze()
        try realm.write { core.name = "changed" }
        #expect(frozen.name == "a" && frozen.core?.name == "b" && frozen.thaw()?.name == "changed")
        try realm.write { machine.core = nil }
        #expect(frozen.name == "a" && frozen.thaw() == nil && frozen.machines.first?.id == 1)
    }

    /// Observers see changes of parts, and their deletion with the parent (R58).
    @MainActor @Test func partsAreObserved() async throws {
        let machine = try machine()
        let realm = try #require(machine.realm)
        var core: [String] = []
        var list: [[[Int]]] = []
        let tokens = [
            machine.core!.observe { (change: ObjectChange<Gear>) in
                switch change {
                case .change(let part, let changes): core.append("\(part.name) \(changes.map(\.name))")
                case .deleted: core.append("deleted")
                case .error: break
                }
            },
            machine.parts.observe { change in
                if case .update(_, let deletions, let insertions, let modifications) = change {
                    list.append([deletions, insertions, modifications])
                }
            },
        ]
        await waitForDeliveries(of: realm)
        try realm.write {
            machine.core!.name = "changed"
            machine.parts[1].core!.name = "deep"
        }
        await waitForDeliveries(of: realm)
        #expect(core == ["changed [\"name\"]"] && list == [[[], [], [1]]])
        try realm.write {
            machine.core = nil
            machine.parts[0] = Gear("new")
        }
        await waitForDeliveries(of: realm)
        #expect(core.last == "deleted")
        // A replaced element counts as modified, as any other that is set.
        #expect(list.last == [[], [], [0]])
        tokens.forEach { $0.invalidate() }
    }
}
