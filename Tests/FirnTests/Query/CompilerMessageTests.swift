import Testing

/// What the compiler says of a mistake in a program: it stands at the line of the mistake, whichever module the program
/// imports. RealmSwift has overloads without the call's line, among which the compiler would have to choose.
@Suite(.timeLimit(.minutes(20))) struct CompilerMessageTests {
    @Test(arguments: ["Firn", "RealmSwift"]) func aMistakeInABlockIsReportedAtItsLine(module: String) throws {
        let program = """
            import \(module)
            class Dog: Object { @Persisted var id: Int; @Persisted var name: String }
            func use(_ realm: Realm) throws {
                try realm.write {
                    let dog = Dog()
                    dog.name = 3
                    realm.add(dog)
                }
                let id = try realm.write { () -> Int in
                    let dog = Dog()
                    dog.nam = "x"
                    return dog.id
                }
                let token = realm.objects(Dog.self).observe { change in
                    switch change {
                    case .initial(let dogs): print(id, dogs.counts)
                    default: break
                    }
                }
                _ = token
            }
            """
        let compilation = try Compilation(program)
        #expect(compilation.faultyLines == [6, 11, 16], "\(compilation.text)")
        for text in [
            "cannot assign value of type 'Int' to type 'String'", "value of type 'Dog' has no member 'nam'",
            "value of type 'Results<Dog>' has no member 'counts'",
        ] { #expect(compilation.text.contains(text), "\(compilation.text)") }
    }
}
