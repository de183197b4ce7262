import Firn
import FirnTestSupport
import Foundation
import Testing

class Chest: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted(indexed: true) var weight = 0
    @Persisted var price: Double?
    @Persisted var label: String?
    @Persisted var isSent = false
    @Persisted var `in` = 0
    @Persisted var sent: Date?
    @Persisted var state = ChestState.new
    @Persisted var next: Chest?
    @Persisted var parts: List<Chest>
    @Persisted var marks: List<Int>
    @Persisted var tags: MutableSet<String>
    @Persisted(originProperty: "next") var previous: LinkingObjects<Chest>

    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    var doubleWeight: Int { weight * 2 }
}

enum ChestState: String, PersistableEnum, Codable { case new, packed, gone }

/// `#Predicate` is translated (FACTS P6): each gives what Foundation finds by evaluating it for each object.
@Suite(.timeLimit(.minutes(20))) struct FoundationPredicateTests {
    private let realm: Realm
    private let chests: Results<Chest>

    init() throws {
        realm = try memoryRealm([Chest.self])
        chests = realm.objects(Chest.self)
        try realm.write {
            let names = ["", "a", "ab", "Abc", "émile", "zebra", "a%@b", "%K"]
            for id in 0..<48 {
                let chest = Chest()
                chest.id = id
                chest.name = names[id % names.count]
                chest.weight = id % 7
                chest.price = id % 3 == 0 ? nil : Double(id) / 4
                chest.label = id % 5 == 0 ? nil : names[id % 4]
                chest.isSent = id % 2 == 0
                chest.in = id % 4
                chest.sent = id % 6 == 0 ? nil : Date(timeIntervalSinceReferenceDate: Double(id))
                chest.state = ChestState.allCases[id % 3]
                chest.marks.append(objectsIn: (0..<id % 5).map { $0 * id % 11 })
                chest.tags.insert(objectsIn: names.prefix(id % 4))
                realm.add(chest)
            }
            for chest in chests where chest.id % 4 != 0 {
                chest.next = chests[(chest.id * 7) % 48]
                chest.parts.append(objectsIn: (0..<chest.id % 4).map { chests[(chest.id * 5 + $0 * 3) % 48] })
            }
        }
    }

    /// The objects that both ways of asking find.
    @discardableResult
    private func check(
        _ predicate: Predicate<Chest>, _ location: SourceLocation = #_sourceLocation
    ) throws -> [Int] {
        let text = try RealmPredicate(predicate)
        let expected = try chests.compactMap { try predicate.evaluate($0) ? $0.id : nil }
        let found = chests.filter(predicate).map(\.id)
        #expect(Array(found) == expected, "\(text)", sourceLocation: location)
        // A case that holds for all or none shows little.
        #expect(!expected.isEmpty && expected.count < 48, "\(text): \(expected.count)", sourceLocation: location)
        return expected
    }

    @Test func comparisonsAndLogic() throws {
        let least = 3
        try check(#Predicate { $0.weight > least })
        try check(#Predicate { least < $0.weight })
        try check(#Predicate { $0.weight >= least && $0.weight != 5 || $0.id <= 2 })
        try check(#Predicate { !($0.weight == least) })
        try check(#Predicate { $0.isSent })
        try check(#Predicate { !$0.isSent && $0.isSent == false })
        try check(#Predicate { $0.in == 2 })
        try check(#Predicate { $0.in == $0.weight })
        try check(#Predicate { $0.weight > least + 1 })
        try check(#Predicate { least == 3 && $0.weight > 2 })
        try check(#Predicate { $0.isSent ? $0.weight > 4 : $0.id < 9 })
        let state = ChestState.packed
        try check(#Predicate { $0.state == state })
        let limit = Date(timeIntervalSinceReferenceDate: 20)
        try check(#Predicate { $0.sent == limit })
        #expect(try RealmPredicate(#Predicate<Chest> { _ in true }).predicateFormat == "TRUEPREDICATE")
    }

    @Test func rangesAndArrays() throws {
        let (low, high) = (2, 4)
        try check(#Predicate { (low...high).contains($0.weight) })
        try check(#Predicate { (low..<high).contains($0.weight) })
        let closed = 1...5
        try check(#Predicate { closed.contains($0.id) })
        let ids = [3, 5, 99]
        try check(#Predicate { ids.contains($0.id) })
        let names: Set = ["a", "%K"]
        try check(#Predicate { names.contains($0.name) })
    }

    @Test func optionals() throws {
        try check(#Predicate { $0.price == nil })
        try check(#Predicate { $0.price != nil })
        try check(#Predicate { $0.price == 0.5 })
        try check(#Predicate { $0.price != 0.5 })
        try check(#Predicate { ($0.price ?? 0) < 3 })
        try check(#Predicate { ($0.price ?? 100) > 3 })
        try check(#Predicate { ($0.label ?? "ab") == "ab" })
        try check(#Predicate { ($0.label ?? "none") != "ab" })
        try check(#Predicate { $0.price != nil && $0.price! > 4 })
        try check(#Predicate { $0.label?.starts(with: "a") == true })
        try check(#Predicate { $0.label?.starts(with: "a") == false })
        try check(#Predicate { $0.label?.contains("b") ?? true })
        try check(#Predicate { $0.label?.contains("b") ?? false })
        // Behind a nil link nothing holds.
        try check(#Predicate { $0.next?.marks.isEmpty == true })
        try check(#Predicate { $0.next?.marks.isEmpty ?? false })
        try check(#Predicate { $0.next?.marks.isEmpty == false })
        try check(#Predicate { $0.next?.marks.allSatisfy { $0 < 5 } == true })
        try check(#Predicate { $0.next.flatMap { $0.name != "ab" } == true })
    }

    @Test func strings() throws {
        try check(#Predicate { $0.name.starts(with: "a") })
        try check(#Predicate { $0.name.contains("b") })
        try check(#Predicate { $0.name == "a%@b" || $0.name == "%K" })
    }

    @Test func links() throws {
        try check(#Predicate { $0.next == nil })
        try check(#Predicate { $0.next?.weight == 3 })
        try check(#Predicate { $0.next?.next?.name == "ab" })
        try check(#Predicate { $0.next != nil && $0.next!.weight > 3 })
        try check(#Predicate { ($0.next?.weight ?? 9) > 5 })
        let seventh = chests[7].id
        try check(#Predicate { $0.next?.id == seventh })
    }

    @Test func collections() throws {
        try check(#Predicate { $0.parts.isEmpty })
        try check(#Predicate { !$0.marks.isEmpty })
        try check(#Predicate { $0.parts.count == 2 })
        try check(#Predicate { $0.marks.count > 2 })
        try check(#Predicate { $0.tags.count == 1 && !$0.tags.isEmpty })
        try check(#Predicate { $0.previous.count > 0 })
        try check(#Predicate { $0.previous.isEmpty })
        try check(#Predicate { $0.marks.contains(3) })
        try check(#Predicate { $0.tags.contains("ab") })
        try check(#Predicate { $0.marks.contains { $0 > 8 } })
        try check(#Predicate { $0.marks.allSatisfy { $0 < 5 } })
        try check(#Predicate { $0.parts.contains { $0.weight > 3 && $0.name.starts(with: "a") } })
        try check(#Predicate { $0.parts.allSatisfy { $0.isSent } })
        try check(#Predicate { $0.parts.filter { $0.weight > 2 }.count > 1 })
        try check(#Predicate { $0.parts.contains { $0.parts.contains { $0.in == 3 } } })
        try check(#Predicate { $0.previous.contains { $0.weight == 2 } })
    }

    @Test func resultsAreLiveAndUseIndexes() throws {
        let heavy = chests.filter(#Predicate { $0.weight == 6 })
        let before = heavy.count
        try realm.write { chests.first?.weight = 6 }
        #expect(heavy.count == before + 1)
        #expect("\(try RealmPredicate(#Predicate<Chest> { $0.weight == 6 }))" == #"(%K == %@) ["weight", "6"]"#)
        #expect(chests.index(matching: #Predicate { $0.id == 9 }) == 9)
        #expect(try chests.filter(validating: #Predicate { $0.id > 40 }).count == 7)
        #expect(chests[3].parts.filter(#Predicate { $0.id > 0 }).count == 3)
    }

    /// Each names what can't be translated.
    @Test func whatCannotBeTranslatedThrows() {
        func reason(_ predicate: Predicate<Chest>) -> String {
            do {
                return "none: \(try RealmPredicate(predicate))"
            } catch let error as Realm.Error {
                #expect(error.code == .invalidInput)
                return "\(error)"
            } catch { return "\(error)" }
        }
        #expect(reason(#Predicate { $0.weight + 1 > 3 }).contains("it has Arithmetic of a property"))
        #expect(reason(#Predicate { $0.doubleWeight > 3 }).contains("gives what the application computes"))
        #expect(reason(#Predicate { $0.name.count > 3 }).contains("which Firn does not store"))
        #expect(reason(#Predicate { $0.marks.contains { $0 > 3 && $0 < 9 } }).contains("more than one comparison"))
        #expect(reason(#Predicate { ($0.label ?? $0.name) == "a" }).contains("behind ?? is no constant"))
        #expect(reason(#Predicate { ($0.weight > 3) == $0.isSent }).contains("it compares two things"))
        let counted = reason(#Predicate { $0.next?.parts.count == 0 })
        #expect(counted.contains("behind an optional link"))
        #expect(reason(#Predicate { $0.parts[0].weight == 3 }).contains("named by its index"))
        #expect(reason(#Predicate { $0.parts[0].marks.contains(5) }).contains("named by its index"))
        #expect(reason(#Predicate { $0.marks.contains { ($0 > 3) == false } }).contains("more than one comparison"))
        #expect(reason(#Predicate { ($0.isSent ? $0.weight : $0.id) > 3 }).contains("is no condition"))
        #expect(reason(#Predicate { $0.marks[0] > 3 }).hasPrefix("none"))
        #expect(reason(#Predicate { $0.weight > 3 }).hasPrefix("none"))
    }

    @Test func stopsWithoutTry() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try memoryRealm([Chest.self]).objects(Chest.self).filter(#Predicate { $0.weight * 2 > 3 })
        }
        expectMessage(result, "can't be translated: it has Arithmetic of a property")
    }
}
