import Foundation
import RealmSwift
import Testing

/// A field guide's maps, sets, lists and values of any type.
@Suite(.timeLimit(.minutes(20))) struct FieldGuideCollectionTests {
    private let guide: FieldGuide
    private var realm: Realm { guide.realm }

    init() throws { guide = try FieldGuide() }

    // MARK: Maps

    @Test func mapsAreReadAndChanged() throws {
        let robin = GuideSpecies("ROB", "Robin")
        robin.names["de"] = "Rotkehlchen"
        robin.names["fr"] = "Rouge-gorge"
        #expect(robin.names.count == 2 && robin.names["de"] == "Rotkehlchen" && robin.names["en"] == nil)
        try realm.write {
            realm.add(robin)
            robin.names["es"] = "Petirrojo"
            robin.names["fr"] = nil
            robin.names.updateValue("Roodborst", forKey: "nl")
            robin.names.merge(["nl": "roodborst", "it": "Pettirosso"]) { old, new in "\(old) \(new)" }
        }
        #expect(robin.names.keys.sorted() == ["de", "es", "it", "nl"] && robin.names["nl"] == "Roodborst roodborst")
        #expect(robin.names.values.contains("Pettirosso"))
        #expect(Set(robin.names.map { "\($0.key) \($0.value)" }).contains("es Petirrojo"))
        var pairs: [String: String] = [:]
        for (key, value) in robin.names.asKeyValueSequence() { pairs[key] = value }
        #expect(pairs.count == 4 && pairs["it"] == "Pettirosso")
        #expect(robin.names.contains { key, value in key == "it" && value.hasPrefix("Petti") })
        try realm.write {
            robin.names.removeObject(for: "it")
            robin.names.setValue("Rotkehlchen!", forKey: "de")
        }
        #expect(robin.names.value(forKey: "de") as? String == "Rotkehlchen!" && robin.names.count == 3)
        #expect(
            robin.names.sorted().first == "Petirrojo" && robin.names.sorted(ascending: false).first == "Rotkehlchen!")
        try realm.write { robin.names.removeAll() }
        #expect(robin.names.count == 0 && robin.names.isFrozen == false && robin.names.realm == realm)
    }

    @Test func mapsHoldObjectsOrNothing() throws {
        let wren = try realm.write { realm.create(GuideSpecies.self, value: ["WRE", "Wren"]) }
        let sighting = try guide.saw("Robin") {
            $0.companions["near"] = wren
            $0.companions["far"] = .some(nil)
            $0.counts["adult"] = 2
            $0.counts["young"] = 5
        }
        #expect(sighting.companions["near"]??.name == "Wren" && sighting.companions["far"] == .some(nil))
        #expect(sighting.counts.sum() == 7 && sighting.counts.min() == 2 && sighting.counts.average() == 3.5)
        #expect(guide.sightings.where { $0.companions.values.name == "Wren" }.count == 1)
        #expect(guide.sightings.where { $0.companions["near"].name == "Wren" }.count == 1)
        #expect(guide.sightings.where { $0.counts["young"] > 4 && $0.counts.keys.contains("adult") }.count == 1)
        #expect(guide.sightings.where { $0.counts.keys == "egg" }.isEmpty)
        #expect(guide.sightings.where { $0.counts.values > 4 && $0.counts.sum == 7 }.count == 1)
        #expect(guide.sightings.filter("counts.@keys == 'young' AND counts['young'] == 5").count == 1)
        #expect(guide.sightings.filter("ANY counts.@values > %@", 5).isEmpty)
        #expect(guide.sightings.where { $0.counts.contains(3...4) }.isEmpty)
        #expect(guide.sightings.where { $0.counts.contains(3..<6) }.isEmpty)
        #expect(guide.sightings.where { $0.counts.contains(2..<6) }.count == 1)
        try realm.write { realm.delete(sighting.companions) }
        #expect(wren.isInvalidated && sighting.companions.keys.count == 2 && sighting.companions["near"] == .some(nil))
        let frozen = sighting.counts.freeze()
        try realm.write { sighting.counts["adult"] = nil }
        #expect(frozen.count == 2 && frozen["adult"] == 2 && frozen.thaw()?.count == 1)
    }

    // MARK: Sets

    @Test func setsAreReadAndCombined() throws {
        let (robin, wren) = (GuideSpecies("ROB", "Robin"), GuideSpecies("WRE", "Wren"))
        robin.habitats.insert(objectsIn: [.forest, .meadow, .forest])
        wren.habitats.insert(.forest)
        try realm.write { realm.add([robin, wren]) }
        #expect(robin.habitats.count == 2 && wren.habitats.isSubset(of: robin.habitats))
        #expect(robin.habitats.intersects(wren.habitats) && robin.habitats.contains(.meadow))
        #expect(Set(robin.habitats) == [.forest, .meadow])
        try realm.write {
            robin.habitats.subtract(wren.habitats)
            wren.habitats.formUnion(robin.habitats)
            robin.habitats.insert(.shore)
            robin.habitats.formIntersection(wren.habitats)
        }
        #expect(Array(robin.habitats) == [.meadow] && wren.habitats.count == 2)
        #expect(guide.species.where { $0.habitats.contains(.forest) }.map(\.name) == ["Wren"])
        #expect(guide.species.where { $0.habitats.containsAny(in: [.meadow, .shore]) }.count == 2)
        #expect(
            guide.species.where { $0.habitats == .shore || $0.habitats != .forest }.map(\.name) == ["Robin", "Wren"])
        #expect(guide.species.where { $0.habitats.rawValue.starts(with: "fo") }.map(\.name) == ["Wren"])
        #expect(guide.species.filter("ANY habitats == %@", GuideHabitat.forest.rawValue).count == 1)
        #expect(guide.species.filter("habitats.@count == 2").first?.name == "Wren")
        try realm.write {
            wren.habitats.remove(.meadow)
            robin.habitats.removeAll()
        }
        #expect(Array(wren.habitats) == [.forest] && robin.habitats.isEmpty)
    }

    // MARK: Lists

    @Test func listsAreEdited() throws {
        let sighting = try guide.saw("Robin") { $0.weights.append(objectsIn: [1, 2, 3]) }
        let weights = sighting.weights
        try realm.write {
            weights.insert(0.5, at: 0)
            weights[1] = 1.5
            weights.move(from: 0, to: 3)
            weights.swapAt(0, 1)
            weights.insert(contentsOf: [7, 8], at: 1)
        }
        #expect(Array(weights) == [2, 7, 8, 1.5, 3, 0.5] && weights.index(of: 8) == 2)
        #expect(weights.max() == 8 && weights.sum() == 22 && weights.firstIndex(of: 3) == 4)
        #expect(Array(weights.sorted(ascending: false)).first == 8)
        try realm.write {
            weights.removeFirst()
            weights.removeLast(2)
            weights.remove(atOffsets: IndexSet([0]))
            weights.replaceSubrange(0..<1, with: [9, 10])
            weights.replace(index: 0, object: 4)
            weights.remove(at: 2)
        }
        #expect(Array(weights) == [4, 10] && weights.average() == 7)
        try realm.write { sighting.weights = weights }
        #expect(weights.count == 2 && sighting.weights == weights)
        try realm.write { weights.removeAll() }
        #expect(weights.isEmpty && weights.average() == nil && weights.sum() == 0)
    }

    /// Elements are optional values and enums, too (R63).
    @Test func elementsMayBeNil() throws {
        let sighting = try guide.saw("Robin") {
            $0.temperatures.append(objectsIn: [3, nil, 8])
            $0.surroundings.append(objectsIn: [nil, .shore])
            #expect($0.temperatures.sum() == 11 && $0.surroundings.index(of: .shore) == 1)
        }
        let temperatures = sighting.temperatures
        #expect(temperatures.min() == 3 && temperatures.max() == 8 && temperatures.average() == 5.5)
        let single: Float? = temperatures.average()
        #expect(single == 5.5)
        #expect(temperatures.index(of: nil) == 1 && temperatures.index(of: 8) == 2)
        #expect(guide.sightings.where { $0.temperatures == nil && $0.temperatures.contains(8) }.count == 1)
        #expect(guide.sightings.where { $0.surroundings.contains(.shore) && $0.surroundings.contains(nil) }.count == 1)
        #expect(guide.sightings.where { $0.surroundings == .forest }.isEmpty)
        #expect(guide.sightings.where { $0.surroundings.containsAny(in: [.forest, nil]) }.count == 1)
    }

    // MARK: Values of any type

    @Test func aValueMayBeOfAnyType() throws {
        let robin = try guide.saw("Robin")
        let values: [AnyRealmValue] = [
            .none, .int(1), .bool(true), .float(1.5), .double(2.5), .string("sang"), .data(Data([1])),
            .date(Date(timeIntervalSince1970: 1)), .objectId(.generate()), .decimal128(1.25), .uuid(UUID()),
            .object(try #require(robin.species)),
        ]
        for value in values {
            try realm.write { robin.remark = value }
            #expect(robin.remark == value)
        }
        #expect(robin.remark.object(GuideSpecies.self)?.name == "Robin")
        try realm.write { robin.remark = .string("sang") }
        switch robin.remark {
        case .string(let text): #expect(text == "sang")
        default: Issue.record("another type")
        }
        #expect(robin.remark.stringValue == "sang" && robin.remark.intValue == nil)
        try realm.write { robin.remarks.append(objectsIn: values) }
        #expect(robin.remarks.count == 12 && robin.remarks[5] == .string("sang"))
        #expect(guide.sightings.where { $0.remark == .string("sang") }.count == 1)
        #expect(guide.sightings.where { $0.remarks.contains(.double(2.5)) }.count == 1)
        #expect(guide.sightings.filter("remark == %@", "sang").count == 1)
        #expect(guide.sightings.filter("remark CONTAINS[c] 'SA' AND ANY remarks == 1").count == 1)
        try realm.write { robin.remark = .int(3) }
        #expect(
            guide.sightings.where { $0.remark > .double(2.5) }.count == 1
                && guide.sightings.filter("remark == 3").count == 1)
    }

    @Test func aValueMayHoldCollections() throws {
        let robin = try guide.saw("Robin")
        let dictionary: [String: AnyRealmValue] = ["colour": .string("red"), "size": .int(14)]
        let list: [AnyRealmValue] = [.int(1), .string("two"), .fromDictionary(dictionary)]
        try realm.write {
            robin.remark = .fromDictionary(["bird": .fromDictionary(dictionary), "list": .fromArray(list)])
        }
        let remark = try #require(robin.remark.dictionaryValue)
        #expect(remark["bird"]?.dictionaryValue?["colour"] == .string("red"))
        #expect(remark["list"]?.listValue?[2].dictionaryValue?["size"]?.intValue == 14)
        try realm.write {
            remark["bird"]?.dictionaryValue?["colour"] = .string("orange")
            remark["list"]?.listValue?.append(.bool(true))
            remark["new"] = .fromArray([])
        }
        #expect(robin.remark.dictionaryValue?["bird"]?.dictionaryValue?["colour"]?.stringValue == "orange")
        #expect(robin.remark.dictionaryValue?["list"]?.listValue?.count == 4 && remark.count == 3)
        #expect(guide.sightings.where { $0.remark["bird"]["colour"] == .string("orange") }.count == 1)
        #expect(guide.sightings.where { $0.remark["list"][1] == .string("two") }.count == 1)
        #expect(guide.sightings.where { $0.remark["list"].any == .int(1) }.count == 1)
        #expect(guide.sightings.filter("remark['bird']['size'] == 14").count == 1)
        #expect(guide.sightings.filter("remark['list'][0] == %@", 2).isEmpty)
    }
}
