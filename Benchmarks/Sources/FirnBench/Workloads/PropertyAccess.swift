import Firn

extension Workload {
    /// W23: what one access to a property costs the application, without a store and without a rival.
    static let propertyAccess = Workload(
        id: "W23", title: "property get and set on a managed object",
        details:
            "64 managed objects taken in turn out of an array (so that nothing can be hoisted), the class declared in the "
            + "application's module, a thread-confined realm. Mean of a loop of 5 million; the least of 7 loops.",
        metrics: [
            Metric("Int get, ns", .lower), Metric("Int set, ns", .lower), Metric("String (16) get, ns", .lower),
            Metric("String (16) set, ns", .lower),
        ],
        targets: [
            .peers("Int get, ns", .typed, 5), .firstSlice("Int get, ns", .typed, 5), .peers("Int set, ns", .typed, 5),
            .peers("String (16) get, ns", .typed, 40), .peers("String (16) set, ns", .typed, 40),
        ]
    ) { run in
        guard run.engineName == .typed else { throw Unsupported() }
        let realm = try Realm(configuration: Realm.Configuration(inMemoryIdentifier: "W23", objectTypes: [Person.self]))
        let people = run.people(64)
        try realm.write { for index in 0..<64 { realm.add(Person(people, index)) } }
        let objects = Array(realm.objects(Person.self))
        let count = run.quick ? 500_000 : 5_000_000
        func best(_ loop: () -> Void) -> Double { (0..<7).map { _ in nanoseconds(loop) / Double(count) }.min()! }
        run.beginMemory()
        run.record("Int get, ns", best { escape(sumAges(objects, count)) })
        run.record("String (16) get, ns", best { escape(sumNames(objects, count)) })
        try realm.write {
            run.record("Int set, ns", best { setAges(objects, count) })
            let names = people.texts.map(\.name)
            run.record("String (16) set, ns", best { setNames(objects, names, count) })
        }
        run.endMemory()
    }
}

@inline(never) private func sumAges(_ objects: [Person], _ count: Int) -> Int {
    var sum = 0
    for index in 0..<count { sum &+= objects[index & 63].age }
    return sum
}

@inline(never) private func sumNames(_ objects: [Person], _ count: Int) -> Int {
    var sum = 0
    for index in 0..<count { sum &+= objects[index & 63].name.utf8.count }
    return sum
}

@inline(never) private func setAges(_ objects: [Person], _ count: Int) {
    for index in 0..<count { objects[index & 63].age = index & 127 }
}

@inline(never) private func setNames(_ objects: [Person], _ names: [String], _ count: Int) {
    for index in 0..<count { objects[index & 63].name = names[(index &+ 1) & 63] }
}
