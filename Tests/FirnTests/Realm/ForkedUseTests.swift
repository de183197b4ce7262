#if os(Linux)
    import FirnCore
    import FirnStorage
    import FirnTestSupport
    import Foundation
    import Testing

    @testable import Firn

    /// Whatever a forked child has of its parent's realms: using it stops the child with a message, releasing it harms
    /// nobody.
    @Suite(.timeLimit(.minutes(20))) struct ForkedUseTests {
        private static let types: [ObjectBase.Type] = [Dog.self, Person.self, Walker.self, WalkerHome.self]

        /// What the parent has at the fork.
        private final class Things: @unchecked Sendable {
            let configuration: Realm.Configuration
            let realm: Realm
            let person: Person
            let dog: Dog
            let card: WalkerCard
            let frozen: Realm
            let results: Results<Dog>
            let sections: SectionedResults<Int, Dog>
            var tokens: [NotificationToken] = []
            let reference: ThreadSafeReference<Person>
            /// In a transaction.
            let open: Realm
            /// The realm of a queue, which the main thread may not use.
            let queue = DispatchQueue(label: "queue")
            var ofQueue: Realm!

            init(_ folder: String) throws {
                configuration = Realm.Configuration(
                    fileURL: URL(fileURLWithPath: folder + "/store"), objectTypes: ForkedUseTests.types)
                var configuration = configuration
                configuration.activeVersionPolicy = .spill
                realm = try Realm(configuration: configuration)
                let realm = realm
                try realm.write {
                    realm.add(Person(value: ["name": "Ann", "dogs": [[1, "Rex"], [2, "Max"]], "numbers": [1, 2]]))
                    realm.create(Walker.self, value: ["id": 1, "name": "Wim", "tags": ["fast"]] as [String: Any])
                }
                // What lies in a checkpoint is no part of a child's memory.
                try realm.compact()
                person = realm.objects(Person.self)[0]
                dog = realm.objects(Dog.self)[0]
                card = realm.objects(WalkerCard.self)[0]
                frozen = realm.freeze()
                results = realm.objects(Dog.self).where { $0.age > 0 }.sorted(by: \.name)
                sections = results.sectioned(by: \.age)
                reference = ThreadSafeReference(to: person)
                _ = (results.count, sections.count, person.dogs.count, card.title)
                open = try Realm(
                    configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: ForkedUseTests.types))
                open.beginWrite()
                open.add(Dog(7, "uncommitted"))
                ofQueue = try queue.sync {
                    let realm = try Realm(configuration: configuration, queue: queue)
                    _ = realm.objects(Dog.self).count
                    return realm
                }
                // A child hangs if another thread is just making a type of Swift's that the child needs, too. So each
                // kind of token was released here before.
                tokens = observing(queue.sync { observingOnQueue() })
                tokens = observing(queue.sync { observingOnQueue() })
                queue.sync {}
                realm.writeAsync { realm.add(Dog(5, "later")) }
            }

            private func observingOnQueue() -> NotificationToken { ofQueue.objects(Dog.self).observe { _ in } }

            private func observing(_ first: NotificationToken) -> [NotificationToken] {
                [
                    first, results.observe { _ in }, person.observe { (_: ObjectChange<Person>) in },
                    realm.observe { _, _ in }, sections.observe { _ in }, card.observe { _ in },
                ]
            }

            /// Each use must stop the child.
            var uses: [(name: String, use: () throws -> Void)] {
                [
                    ("a property", { _ = self.dog.name }),
                    ("a property by its name", { _ = self.dog["name"] }),
                    ("a link", { _ = self.dog.owner }),
                    ("backlinks", { _ = self.dog.keepers.count }),
                    ("a list", { _ = self.person.dogs.count }),
                    ("an element", { _ = self.person.dogs[0] }),
                    ("a list of numbers", { _ = self.person.numbers.first }),
                    ("a sum", { _ = self.person.numbers.sum() as Int }),
                    ("a description", { _ = self.person.description }),
                    ("freezing an object", { _ = self.person.freeze() }),
                    ("freezing a realm", { _ = self.realm.freeze() }),
                    ("thawing", { _ = self.frozen.objects(Person.self)[0].thaw() }),
                    ("a frozen realm", { _ = self.frozen.objects(Dog.self).count }),
                    ("results", { _ = self.results.count }),
                    ("an element of results", { _ = self.results.first }),
                    ("a query", { _ = self.results.filter("age > 2").count }),
                    ("sections", { _ = self.sections[0].count }),
                    ("a projection", { _ = self.card.title }),
                    ("a projection's list", { _ = self.card.friends.count }),
                    ("looking up", { _ = self.realm.object(ofType: Dog.self, forPrimaryKey: 1) }),
                    ("an observer of results", { _ = self.results.observe { _ in } }),
                    ("an observer of an object", { _ = self.person.observe { (_: ObjectChange<Person>) in } }),
                    ("refreshing", { self.realm.refresh() }),
                    ("refreshing, which may throw", { try self.realm.tryRefresh() }),
                    ("a write", { try self.realm.write {} }),
                    ("an asynchronous write", { self.realm.writeAsync {} }),
                    ("committing", { try self.open.commitWrite() }),
                    ("cancelling", { self.open.cancelWrite() }),
                    ("adding in a transaction", { self.open.add(Dog(8, "x")) }),
                    ("the versions", { _ = self.realm.activeVersions }),
                    ("compacting", { try self.realm.compact() }),
                    ("invalidating", { self.realm.invalidate() }),
                    ("a past version", { _ = try self.realm.asOf(version: 1) }),
                    ("the realm of a queue", { _ = self.ofQueue.objects(Dog.self).count }),
                    (
                        "a copy",
                        {
                            try self.realm.writeCopy(
                                toFile: self.configuration.fileURL!.appendingPathExtension("copy"))
                        }
                    ),
                    (
                        "resolving in an own realm",
                        { _ = try Realm(configuration: self.configuration).resolve(self.reference) }
                    ),
                    (
                        "adding to an own realm",
                        {
                            let own = try Realm(configuration: self.configuration)
                            try own.write { own.create(Dog.self, value: self.dog, update: .modified) }
                        }
                    ),
                ]
            }

            /// These let go, and end nothing of the parent's.
            var releases: [(name: String, use: () throws -> Void)] {
                [
                    ("tokens", { self.tokens = [] }),
                    ("invalidating tokens", { for token in self.tokens { token.invalidate() } }),
                    ("comparing", { _ = self.tokens[0] == self.tokens[1] }),
                    ("the end by exit", { exit(0) }),
                    (
                        "a store of its own",
                        {
                            var configuration = self.configuration
                            configuration.fileURL!.appendPathExtension("own")
                            let own = try Realm(configuration: configuration)
                            try own.write { own.add(Dog(1, "own")) }
                            exit(own.objects(Dog.self).count == 1 ? 0 : 5)
                        }
                    ),
                    (
                        "the parent's store, opened again, and the end by exit",
                        {
                            let own = try Realm(configuration: self.configuration)
                            exit(own.objects(Dog.self).count >= 2 ? 0 : 5)
                        }
                    ),
                    (
                        "deleting the parent's store",
                        {
                            do { _ = try Realm.deleteFiles(for: self.configuration) } catch Realm.Error.alreadyOpen {
                                exit(0)
                            }
                            exit(5)
                        }
                    ),
                ]
            }

            /// Nothing of the parent's has changed: what was observed is observed, what was open is open, and the
            /// asynchronous write goes on.
            func checkParent() throws {
                #expect(person.name == "Ann" && dog.name == "Rex" && frozen.objects(Dog.self).count == 2)
                #expect(card.title == "Wim" && sections.count == 1 && results.count >= 2)
                #expect(open.isInWriteTransaction && open.objects(Dog.self).count == 1)
                try open.commitWrite()
                #expect(open.objects(Dog.self).count == 1)
                try realm.write { person.name = "Bob" }
                #expect(person.name == "Bob" && frozen.objects(Person.self)[0].name == "Ann")
                #expect(queue.sync { ofQueue.objects(Dog.self).count } >= 2)
            }
        }

        @Test func everyUseStopsAForkedChildWithTheMessage() async {
            await #expect(processExitsWith: .success) { @MainActor in
                let folder = TemporaryFolder()
                let things = try Things(folder.path)
                for (name, use) in things.uses {
                    let (end, text) = outcome(inChild: use)
                    #expect(
                        end == .killed
                            && text.contains("was used in a process that was forked off the one that opened"),
                        "\(name): \(end), \(text)")
                }
                try things.checkParent()
            }
        }

        /// Right after the observers were added, other threads are still at work for them. `FIRN_FORKS` says how often.
        @Test func tokensMayBeReleasedWhateverOtherThreadsDoAtTheFork() async {
            await #expect(processExitsWith: .success) { @MainActor in
                for round in 0..<(TestEnvironment.value("FIRN_FORKS").flatMap { Int($0) } ?? 3) {
                    let folder = TemporaryFolder()
                    let things = try Things(folder.path)
                    let (end, text) = outcome { things.tokens = [] }
                    #expect(end == .exited(0), "round \(round): \(end), \(text)")
                }
            }
        }

        @Test func everythingMayBeReleasedInAForkedChild() async {
            await #expect(processExitsWith: .success) { @MainActor in
                let folder = TemporaryFolder()
                var things: Things? = try Things(folder.path)
                for (name, use) in things!.releases {
                    let (end, text) = outcome(inChild: use)
                    #expect(end == .exited(0), "\(name): \(end), \(text)")
                }
                for usesExit in [true, false] {
                    let (end, text) = outcome {
                        things = nil
                        if usesExit { exit(0) }
                    }
                    #expect(end == .exited(0), "everything, \(usesExit): \(end), \(text)")
                }
                try things!.checkParent()
            }
        }
    }
#endif
