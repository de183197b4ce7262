#if Encryption
    import Firn
    import FirnTestSupport
    import Foundation
    import Testing

    /// Realms whose files are encrypted, as a program uses them.
    @Suite(.timeLimit(.minutes(20)), .disabled(if: TestEnvironment.hasKey)) struct EncryptionTests {
        private let folder = TemporaryFolder()
        private static let key = Data((0..<64).map { UInt8($0) })
        private static let otherKey = Data(repeating: 7, count: 64)

        private func configuration(_ name: String = "dogs.firn", key: Data? = key) -> Realm.Configuration {
            .init(
                fileURL: URL(filePath: folder.path + "/" + name), encryptionKey: key,
                objectTypes: [Dog.self, Person.self])
        }

        /// Adds dogs and closes the store. Returns how many the store has.
        @discardableResult
        private func add(_ ids: Range<Int>, to configuration: Realm.Configuration) throws -> Int {
            let realm = try Realm(configuration: configuration)
            try realm.write { for id in ids { realm.add(Dog(id, "dog \(id)")) } }
            return realm.objects(Dog.self).count
        }

        private func names(in configuration: Realm.Configuration) throws -> [String] {
            Array(try Realm(configuration: configuration).objects(Dog.self).sorted(byKeyPath: "id").map(\.name))
        }

        private func message(of configuration: Realm.Configuration) throws -> String {
            let error = try #require(throws: Realm.Error.self) { _ = try Realm(configuration: configuration) }
            #expect(error.code == .invalidDatabase)
            return error.message
        }

        @Test func aStoreIsOpenedWithItsKeyAlone() throws {
            try add(0..<5, to: configuration())
            #expect(try names(in: configuration()) == (0..<5).map { "dog \($0)" })
            #expect(try message(of: configuration(key: Self.otherKey)).contains("another key"))
            #expect(try message(of: configuration(key: nil)).contains("no key was given"))
            try add(0..<1, to: configuration("plain.firn", key: nil))
            #expect(try message(of: configuration("plain.firn")).contains("is not encrypted"))
            #expect(throws: Realm.Error.invalidInput) {
                _ = try Realm(configuration: configuration(key: Data(count: 63)))
            }
            #expect(try add(5..<7, to: configuration()) == 7)
        }

        @Test func openersOfOneProcessAgreeOnTheKey() throws {
            let realm = try Realm(configuration: configuration())
            for key in [Self.otherKey, nil] {
                #expect(throws: Realm.Error.alreadyOpen) { _ = try Realm(configuration: configuration(key: key)) }
            }
            #expect(try Realm(configuration: configuration()) == realm)
            #expect(throws: Realm.Error.alreadyOpen) {
                try Realm.changeEncryptionKey(for: configuration(), to: Self.otherKey)
            }
        }

        @Test func whatAProgramDoesWorksWithAKey() throws {
            var configuration = configuration()
            configuration.historyRetention = .everything
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.add(Dog(1, "Rex")) }
            let version = realm.version
            let frozen = realm.freeze()
            try realm.write { realm.object(ofType: Dog.self, forPrimaryKey: 1)?.name = "Max" }
            try realm.compact()
            #expect(frozen.objects(Dog.self)[0].name == "Rex" && realm.objects(Dog.self)[0].name == "Max")
            #expect(try realm.asOf(version: version).objects(Dog.self)[0].name == "Rex")
            #expect(realm.objects(Dog.self).filter("name CONTAINS 'a'").count == 1)
            #expect(try schemaVersionAtURL(#require(configuration.fileURL), encryptionKey: Self.key) == 0)
        }

        /// A copy has the key that it is given, or none; a seed and its copy have the configuration's.
        @Test func copies() throws {
            try add(0..<5, to: configuration())
            for (name, key) in [("plain.firn", nil), ("other.firn", Self.otherKey), ("same.firn", Self.key)] {
                let copy = configuration(name, key: key)
                do {
                    let realm = try Realm(configuration: configuration())
                    try realm.writeCopy(toFile: #require(copy.fileURL), encryptionKey: key)
                }
                #expect(try names(in: copy).count == 5)
            }
            var seeded = configuration("seeded.firn")
            seeded.seedFilePath = configuration().fileURL
            #expect(try names(in: seeded).count == 5)
            #expect(try message(of: configuration("seeded.firn", key: nil)).contains("no key was given"))
        }

        @Test func theKeyIsChanged() throws {
            try add(0..<5, to: configuration())
            try Realm.changeEncryptionKey(for: configuration(), to: Self.otherKey)
            #expect(try message(of: configuration()).contains("another key"))
            #expect(try names(in: configuration(key: Self.otherKey)).count == 5)
            #expect(throws: Realm.Error.invalidInput) {
                try Realm.changeEncryptionKey(for: configuration(key: nil), to: Self.key)
            }
            #expect(throws: Realm.Error.invalidInput) {
                try Realm.changeEncryptionKey(for: configuration(key: Self.otherKey), to: Data(count: 32))
            }
            #expect(throws: Realm.Error.invalidDatabase) {
                try Realm.changeEncryptionKey(for: configuration(), to: Self.otherKey)
            }
        }

        /// What needs no data needs no key.
        @Test func filesAreFoundAndDeletedWithoutTheKey() throws {
            try add(0..<1, to: configuration())
            let keyless = configuration(key: nil)
            #expect(Realm.fileExists(for: keyless))
            #expect(try Realm.deleteFiles(for: keyless) && !Realm.fileExists(for: keyless))
        }
    }
#endif
