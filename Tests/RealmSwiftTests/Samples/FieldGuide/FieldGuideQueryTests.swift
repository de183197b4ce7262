import Foundation
import RealmSwift
import Testing

/// A field guide's queries, in all their forms (R36, R37, R72 to R77).
@Suite(.timeLimit(.minutes(20))) struct FieldGuideQueryTests {
    private let guide: FieldGuide
    private var realm: Realm { guide.realm }

    init() throws {
        guide = try FieldGuide()
        let noon = Date(timeIntervalSince1970: 1_000_000)
        for (number, name) in ["Robin", "Wren", "Blue tit", "Émeu"].enumerated() {
            try guide.saw(name, count: number + 1) {
                $0.seenAt = noon + Double(number) * 60
                $0.tags.insert(objectsIn: number < 2 ? ["garden", "song"] : ["garden"])
                $0.weights.append(objectsIn: (0...number).map { Double($0) })
                $0.fee = number == 0 ? nil : Decimal128(value: number) / 2
            }
        }
    }

    private func names(_ sightings: Results<GuideSighting>) -> [String] {
        sightings.compactMap { $0.species?.name }
    }

    // MARK: Words

    @Test func textsAreComparedByFormats() {
        func find(_ format: String, _ arguments: Any...) -> [String] {
            switch arguments.count {
            case 0: names(guide.sightings.filter(format))
            case 1: names(guide.sightings.filter(format, arguments[0]))
            default: names(guide.sightings.filter(format, arguments[0], arguments[1]))
            }
        }
        #expect(find("species.name == 'Wren'") == ["Wren"])
        #expect(find("species.name ==[c] %@", "WREN") == ["Wren"])
        #expect(find("species.name BEGINSWITH %@", "Bl") == ["Blue tit"])
        #expect(find("species.name ENDSWITH[c] %@", "N") == ["Robin", "Wren"])
        #expect(find("species.name CONTAINS[cd] 'emeu'") == ["Émeu"])
        #expect(find("species.name LIKE '*ue ?it'") == ["Blue tit"])
        #expect(find("%K == %@", "species.name", "Robin") == ["Robin"])
        #expect(find("species.name IN %@", ["Robin", "Wren"]) == ["Robin", "Wren"])
        #expect(find("species.name IN {'Robin', 'Émeu'}") == ["Robin", "Émeu"])
        #expect(find("NOT species.name IN %@ AND count < %@", ["Robin"], 4) == ["Wren", "Blue tit"])
        #expect(find("count BETWEEN {2, 3}") == ["Wren", "Blue tit"])
        #expect(find("count BETWEEN %@", [2, 3]) == ["Wren", "Blue tit"])
        #expect(find("count > 1 && (count <= 2 || count == 4)") == ["Wren", "Émeu"])
        #expect(find("%@ <= count AND count != %d", 3, 4) == ["Blue tit"])
        #expect(find("fee == nil") == ["Robin"] && find("fee >= %@", Decimal128(1)) == ["Blue tit", "Émeu"])
        #expect(find("seenAt < %@", Date(timeIntervalSince1970: 1_000_060)) == ["Robin"])
        #expect(find("TRUEPREDICATE").count == 4 && find("FALSEPREDICATE").isEmpty)
        #expect(find("species == %@", guide.species[1]) == ["Wren"])
        #expect(find("id == %@", guide.sightings[2].id) == ["Blue tit"])
        #expect(find("trip == %@", guide.sightings[3].trip) == ["Émeu"])
    }

    @Test func collectionsAreQueriedByFormats() {
        #expect(names(guide.sightings.filter("ANY tags == 'song'")) == ["Robin", "Wren"])
        #expect(names(guide.sightings.filter("NONE tags == %@", "song")) == ["Blue tit", "Émeu"])
        #expect(names(guide.sightings.filter("%@ IN tags", "song")) == ["Robin", "Wren"])
        #expect(names(guide.sightings.filter("tags.@count == 1")) == ["Blue tit", "Émeu"])
        #expect(names(guide.sightings.filter("weights.@max >= 2")) == ["Blue tit", "Émeu"])
        #expect(names(guide.sightings.filter("weights.@sum == 1 OR weights.@avg == 1")) == ["Wren", "Blue tit"])
        #expect(names(guide.sightings.filter("weights.@min == 0")).count == 4)
        #expect(guide.species.filter("sightings.@count > 0 AND ANY sightings.count == 3").first?.name == "Blue tit")
        #expect(guide.species.filter("sightings.@sum.count > 3").first?.name == "Émeu")
        #expect(guide.species.filter("SUBQUERY(sightings, $s, $s.count > 1 AND $s.fee < 1).@count > 0").count == 1)
    }

    // MARK: Queries in Swift

    @Test func queriesAreWrittenInSwift() {
        func find(_ query: (Query<GuideSighting>) -> Query<Bool>) -> [String] { names(guide.sightings.where(query)) }
        #expect(find { $0.species.name.like("*in") } == ["Robin"])
        #expect(find { $0.species.name.like("B?UE*", caseInsensitive: true) } == ["Blue tit"])
        #expect(find { $0.species.name.equals("émeu", options: [.caseInsensitive]) } == ["Émeu"])
        #expect(find { $0.species.name.notEquals("ROBIN", options: .caseInsensitive) }.count == 3)
        #expect(find { $0.species.name.starts(with: "w", options: .caseInsensitive) } == ["Wren"])
        #expect(find { $0.species.name.ends(with: "eu") } == ["Émeu"])
        #expect(
            find { $0.species.name.contains("EMEU", options: [.caseInsensitive, .diacriticInsensitive]) } == ["Émeu"])
        #expect(find { $0.species.name.in(["Wren", "Émeu"]) } == ["Wren", "Émeu"])
        #expect(
            find { $0.count.contains(2...3) } == ["Wren", "Blue tit"] && find { $0.count.contains(2..<3) } == ["Wren"])
        #expect(find { !($0.fee == nil) && $0.fee < 1 } == ["Wren"])
        #expect(find { $0.weights.count == $0.count }.count == 4)
        #expect(find { $0.weights.max > 1 && $0.weights.avg < 1.5 } == ["Blue tit"])
        #expect(find { $0.weights.min == 0 && $0.weights.sum > 3 } == ["Émeu"])
        #expect(
            find { $0.weights.contains(0...1) } == ["Robin", "Wren"] && find { $0.weights.contains(1.5...3) } == [])
        #expect(find { $0.tags == "song" && $0.weights > 0 } == ["Wren"])
        #expect(find { $0.species == guide.species[0] } == ["Robin"] && find { $0.species.sightings.count > 1 }.isEmpty)
        #expect(guide.species.where { $0.sightings.count == 1 && $0.sightings.weights[1] == 1 }.count == 3)
        let busy = guide.species.where { ($0.sightings.fee < 1 && $0.sightings.tags == "song").count > 0 }
        #expect(busy.map(\.name) == ["Wren"])
        // Parts, some of which may be left out.
        #expect(names(guide.sightings(of: "Wren", tagged: "song")) == ["Wren"])
        #expect(guide.sightings(of: "Wren", atLeast: 3).isEmpty && guide.sightings().count == 4)
        #expect(names(guide.sightings(atLeast: 3).where { $0.count != 4 }.sorted(byKeyPath: "count")) == ["Blue tit"])
    }

    // MARK: Aggregates and key paths

    @Test func resultsAreAddedUp() {
        let all = guide.sightings
        #expect(all.sum(of: \.count) == 10 && all.min(of: \.count) == 1 && all.max(of: \.fee) == 1.5)
        #expect(all.average(of: \.count) == 2.5 && all.sum(ofProperty: "count") == 10)
        let average: Double? = all.average(ofProperty: "count")
        let latest: Date? = all.max(ofProperty: "seenAt")
        #expect(average == 2.5 && latest == all.last?.seenAt && all.sum(of: \.fee) == 3)
        let none = all.where { $0.count > 99 }
        #expect(none.max(of: \.count) == nil && none.sum(of: \.count) == 0)
        #expect(all.value(forKey: "count") as? [Int] == [1, 2, 3, 4])
        #expect(all.value(forKeyPath: "species.name") as? [String] == ["Robin", "Wren", "Blue tit", "Émeu"])
        #expect(all.value(forKeyPath: "@sum.count") as? Int == 10 && all.value(forKeyPath: "@count") as? Int == 4)
        #expect(all.value(forKeyPath: "@avg.count") as? Double == 2.5)
        #expect(all.value(forKeyPath: "@max.count") as? Int == 4 && all.value(forKeyPath: "@min.count") as? Int == 1)
        #expect(all.first?.weights.value(forKeyPath: "@count") as? Int == 1)
        #expect(all.sorted(byKeyPath: "species.name").first?.species?.name == "Blue tit")
        #expect(all.sorted(by: ["fee", SortDescriptor(keyPath: "count", ascending: false)]).first?.count == 1)
        #expect(all.objects(at: [0, 3]).map(\.count) == [1, 4] && all.dropFirst().prefix(2).map(\.count) == [2, 3])
    }

    @Test func propertiesOfAllResultsAreSetByName() throws {
        try realm.write { guide.sightings.setValue(7, forKey: "count") }
        #expect(guide.sightings.allSatisfy { $0.count == 7 })
        try realm.write { guide.sightings[0].setValue("Redbreast", forKeyPath: "species.name") }
        #expect(guide.species[0].name == "Redbreast")
        #expect(guide.sightings[0].value(forKeyPath: "species.sightings.@sum.count") as? Int == 7)
    }

    // MARK: Objects without classes

    @Test func objectsAreReadWithoutTheirClasses() throws {
        let all = realm.dynamicObjects("GuideSighting")
        let robin = try #require(all.filter("species.name == %@", "Robin").first)
        #expect(all.count == 4 && robin["count"] as? Int == 1 && robin.count as? Int == 1)
        let species = try #require(robin["species"] as? DynamicObject)
        #expect(species.name as? String == "Robin" && species.objectSchema.className == "GuideSpecies")
        #expect(realm.dynamicObject(ofType: "GuideSpecies", forPrimaryKey: "WRE")?.name as? String == "Wren")
        try realm.write {
            robin["count"] = 9
            robin.count = 10
            let emu = realm.dynamicCreate("GuideSpecies", value: ["code": "EMU", "name": "Emu"])
            robin["species"] = emu
            robin.dynamicMap("companions")["other"] = emu
        }
        #expect(guide.sightings[0].count == 10 && guide.sightings[0].species?.code == "EMU")
        #expect(guide.sightings[0].companions["other"]??.name == "Emu")
        #expect((robin["tags"] as? MutableSet<String>)?.count == 2)
        #expect(all.sorted(byKeyPath: "count").last?.isSameObject(as: robin) == true)
    }
}
