#if Encryption
    import FirnCore
    import FirnLog
    import FirnStorage
    import FirnTestSupport
    import ForgedStores
    import Testing

    @testable import FirnTool

    /// The subcommands on encrypted stores: with the key they show what they show of others.
    @Suite(.timeLimit(.minutes(20)), .disabled(if: TestEnvironment.hasKey)) struct EncryptionTests {
        private static let bytes = (0..<64).map { UInt8($0) }
        private static let other = [UInt8](repeating: 9, count: 64)

        /// A store, encrypted or not.
        private static func sample(isEncrypted: Bool = true, compacts: Bool = true) throws -> SampleStore {
            let key = bytes.withUnsafeBytes { EncryptionKey($0) }
            let sample = try SampleStore(more: 30, key: isEncrypted ? key : nil)
            if compacts {
                let store = try sample.open()
                _ = try store.compact()
                try store.close()
                _ = try sample.open().close()
            }
            return sample
        }

        private static func run(
            _ file: String? = "/key", _ work: (Output) throws -> ToolError.Status
        ) throws -> Run {
            let keys = ["/key": bytes, "/other": other]
            let key = try file.map { try StoreKeySource.key(#require(keys[$0]), inFile: $0) }
            return try StoreKeySource.$current.withValue(StoreKeySource(fileKey: key)) { try Run(work) }
        }

        private static func verify(_ storage: any Storage, _ path: String = SampleStore.path, _ file: String? = "/key")
            throws -> Run
        {
            try run(file) { try VerifyCommand.run(path, deep: true, json: false, storage: storage, $0) }
        }

        @Test(arguments: [false, true]) func whatIsShownIsThatOfAPlainStore(compacts: Bool) throws {
            let (plain, encrypted) = (
                try Self.sample(isEncrypted: false, compacts: compacts), try Self.sample(compacts: compacts)
            )
            let works: [(any Storage, Output) throws -> ToolError.Status] = [
                { try LogCommand.run(SampleStore.path, from: 1, to: .max, json: true, storage: $0, output: $1) },
                {
                    try DiffCommand.run(
                        SampleStore.path, first: .number(0), second: nil, json: true, storage: $0, output: $1)
                },
                { try ShowCommand.run(SampleStore.path, version: 12, json: true, storage: $0, output: $1) },
                {
                    try ExportCommand.run(
                        SampleStore.path, format: .ndjson, choice: .init(), output: nil, storage: $0, to: $1)
                    return .fine
                },
            ]
            func withoutSizes(_ text: String) -> String {
                text.replacing(#/"(bytes|storedBytes)":[0-9]+/#, with: "")
            }
            for work in works {
                let one = try Self.run(nil) { try work(plain.storage, $0) }
                let two = try Self.run { try work(encrypted.storage, $0) }
                #expect(two.status == one.status && two.error == one.error)
                #expect(withoutSizes(two.out) == withoutSizes(one.out))
            }
            #expect(try Self.verify(encrypted.storage).out.hasPrefix("no damage"))
            let info = try Self.run {
                try InfoCommand.run(SampleStore.path, json: false, storage: encrypted.storage, $0)
            }
            #expect(info.status == .fine && info.out.contains("encrypted"), "\(info)")
        }

        @Test func keysAreTold() throws {
            let (plain, encrypted) = (try Self.sample(isEncrypted: false), try Self.sample())
            #expect(try Self.verify(encrypted.storage, SampleStore.path, nil).error.contains("--key-file"))
            #expect(try Self.verify(encrypted.storage, SampleStore.path, "/other").error.contains("another key"))
            let export = try Self.run {
                try ExportCommand.run(
                    SampleStore.path, format: .ndjson, choice: .init(), output: nil, storage: plain.storage, to: $0)
                return .fine
            }
            #expect(export.error.contains("not encrypted"), "\(export)")
            #expect(try Self.verify(plain.storage).error.contains("not encrypted"))
            let digits = Self.other.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            let key = try StoreKeySource.key(Self.other, inFile: "/k")
            #expect(try StoreKeySource.key(Array("\(digits)\n".utf8), inFile: "/k") == key)
            for text in ["", "abc", digits + "0", String(digits.prefix(64))] {
                #expect(StoreKeySource.key(digits: text) == nil)
            }
            #expect(throws: ToolError.self) { try StoreKeySource.key([1, 2, 3], inFile: "/k") }
            let compact = try Self.run("/other") {
                try CompactCommand.run(SampleStore.path, json: false, storage: encrypted.storage, $0)
            }
            #expect(compact.status == .usage && compact.error.contains("another key"), "\(compact)")
        }

        /// Without the key, `info` shows what can be seen: sizes, and that the store is encrypted.
        @Test func infoWithoutTheKey() throws {
            let info = try Self.run(nil) {
                try InfoCommand.run(SampleStore.path, json: false, storage: Self.sample().storage, $0)
            }
            #expect(info.status == .fine && info.out.contains("encrypted") && !info.out.contains("Person"), "\(info)")
        }

        @Test func aStoreIsEncryptedRekeyedAndDecrypted() throws {
            let storage = try Self.sample(isEncrypted: false).storage
            let encrypt = try Self.run {
                try EncryptCommand.run(SampleStore.path, output: "/e", json: false, storage: storage, $0)
            }
            #expect(encrypt.status == .fine, "\(encrypt)")
            #expect(try Self.verify(storage, "/e").out.hasPrefix("no damage"))
            #expect(try Self.verify(storage, "/e", nil).status == .usage)
            let rekey = try Self.run {
                try RekeyCommand.run(
                    "/e", newKey: StoreKeySource.key(Self.other, inFile: "/other"), json: false, storage: storage, $0)
            }
            #expect(rekey.status == .fine, "\(rekey)")
            #expect(try Self.verify(storage, "/e").error.contains("another key"))
            let decrypt = try Self.run("/other") {
                try DecryptCommand.run("/e", output: "/d", json: false, storage: storage, $0)
            }
            #expect(decrypt.status == .fine, "\(decrypt)")
            #expect(try Self.verify(storage, "/d", nil).out.hasPrefix("no damage"))
            let copy = try Self.run("/other") {
                try CopyCommand.run("/e", output: "/c", json: false, storage: storage, $0)
            }
            #expect(copy.status == .fine, "\(copy)")
            #expect(try Self.verify(storage, "/c", "/other").out.hasPrefix("no damage"))
            // Encrypted anew, with another key.
            let refused = try Self.run("/other") {
                try EncryptCommand.run("/e", output: "/n", json: false, storage: storage, $0)
            }
            #expect(refused.status == .usage && refused.error.contains("--new-key-file"), "\(refused)")
            let again = try Self.run("/other") {
                try EncryptCommand.run(
                    "/e", newKey: StoreKeySource.key(Self.bytes, inFile: "/key"), output: "/n", json: false,
                    storage: storage, $0)
            }
            #expect(again.status == .fine, "\(again)")
            #expect(try Self.verify(storage, "/n").out.hasPrefix("no damage"))
            #expect(try Self.verify(storage, "/n", "/other").error.contains("another key"))
        }

        /// Somebody without the key changes the manifest, and writes the right checksums. Nothing is made of it.
        @Test func aForgedManifestIsRefused() throws {
            let storage = try Self.sample().storage
            var manifest = try storage.bytes(SampleStore.path + "/manifest")
            // The time at which the store was made.
            manifest[96] ^= 1
            Forging.sealManifest(&manifest)
            let file = try storage.open(SampleStore.path + "/manifest", .readWrite)
            try file.write(manifest, at: 0)
            file.close()
            #expect(try Self.verify(storage).status == .damage)
            for work in [
                {
                    try ReplayCommand.run(
                        SampleStore.path, to: .number(3), output: "/n", json: false, storage: storage,
                        randomness: SystemRandomness.shared, clock: ManualClock(), $0)
                },
                { try TailCommand.run(SampleStore.path, from: 1, json: false, storage: storage, output: $0) { false } },
            ] as [(Output) throws -> ToolError.Status] {
                let run = try Self.run { try work($0) }
                #expect(run.status == .damage && run.error.contains("the store's key"), "\(run)")
            }
            #expect(try storage.status("/n") == nil)
        }

        /// A copy of the store has the same keys, so each frame of a segment that comes from it is authentic. Only the
        /// last one is not the one that the manifest names, which whoever reads only a part must find, too.
        @Test(arguments: [false, true]) func aSegmentOfACopyIsRefusedByWhoReadsAPart(isExchanged: Bool) throws {
            let own = try Self.sample(compacts: false)
            var copy = SampleStore(empty: ())
            copy.key = own.key
            for folder in ["", "/log", "/checkpoint"] { try copy.storage.createFolder(SampleStore.path + folder) }
            for file in try own.files() { try copy.write(file, own.bytes(file)) }
            for (sample, age) in [(own, 3_000), (copy, 3_001)] as [(SampleStore, Int64)] {
                // The second transaction begins a segment, and so the first segment is sealed.
                for segmentByteCount in [64 << 20, 4 << 10] {
                    let store = try sample.open(segmentByteCount: segmentByteCount)
                    for number in 0..<2 as Range<Int64> {
                        let transaction = try store.beginWrite()
                        transaction.set(SampleStore.person, column: 1, key: 0, to: .int(age + 2 * number))
                        _ = try transaction.commit()
                    }
                    try store.close()
                }
            }
            let segment = SampleStore.path + "/log/0000000001.segment"
            #expect(try own.bytes(segment).count == copy.bytes(segment).count && own.files().count == 3)
            if isExchanged { try own.write(segment, copy.bytes(segment)) }
            // The copy's own commits begin with version 36.
            let replay = try Self.run {
                try ReplayCommand.run(
                    SampleStore.path, to: .number(36), output: "/n", json: false, storage: own.storage,
                    randomness: SystemRandomness.shared, clock: ManualClock(), $0)
            }
            let show = try Self.run {
                try ShowCommand.run(SampleStore.path, version: 36, json: false, storage: own.storage, output: $0)
            }
            for run in [replay, show] {
                #expect(run.status == (isExchanged ? .damage : .fine), "\(run)")
                #expect(run.error.contains("last frame is not the one") == isExchanged, "\(run)")
            }
            #expect(try own.storage.status("/n") == nil || !isExchanged)
        }

        /// A replay makes a store with keys of its own, which the same key opens. It begins with the checkpoint, if
        /// there is one.
        @Test(arguments: [false, true]) func aReplayIsEncryptedToo(compacts: Bool) throws {
            let sample = try Self.sample(compacts: compacts)
            let version = sample.lastVersion
            let replay = try Self.run {
                try ReplayCommand.run(
                    SampleStore.path, to: .number(version), output: "/new", json: false, storage: sample.storage,
                    randomness: SystemRandomness.shared, clock: ManualClock(), $0)
            }
            #expect(replay.status == .fine, "\(replay)")
            #expect(try Self.verify(sample.storage, "/new").out.hasPrefix("no damage"))
            func export(_ path: String) throws -> String {
                try Self.run {
                    try ExportCommand.run(
                        path, format: .ndjson, choice: .init(), output: nil, storage: sample.storage, to: $0)
                    return .fine
                }.out
            }
            #expect(try export("/new") == export(SampleStore.path))
            #expect(try Self.verify(sample.storage, "/new", nil).status == .usage)
            var options = LogOptions(folder: "/new", verify: .everything)
            options.usesThreads = false
            options.encryptionKey = sample.key
            let store = try Store(StoreOptions(log: options), storage: sample.storage, clock: sample.clock)
            #expect(store.recovery?.outcome == .clean && store.publishedVersion == version)
            try store.close()
        }

        /// What of an encrypted store can still be read is saved, under the same key: damage is found as in any store.
        @Test(arguments: ["log/0000000001.segment", "checkpoint/0000000001.checkpoint"])
        func aDamagedStoreIsRecovered(file: String) throws {
            var random = SeededRandom(seed: 7)
            for _ in 0..<20 {
                let sample = try Self.sample(compacts: file.hasPrefix("checkpoint"))
                let path = SampleStore.path + "/" + file
                let size = try #require(try sample.storage.status(path)).byteCount
                try sample.flip(path, byte: 200 + random.below(size - 200), bit: 3)
                #expect(try Self.verify(sample.storage).status == .damage)
                let recover = try Self.run {
                    try RecoverCommand.run(
                        SampleStore.path, output: "/new", json: false, storage: sample.storage, clock: ManualClock(), $0
                    )
                }
                #expect([.fine, .damage].contains(recover.status), "\(recover)")
                #expect(try Self.verify(sample.storage, "/new").out.hasPrefix("no damage"))
                #expect(try Self.verify(sample.storage, "/new", nil).status == .usage)
            }
        }
    }
#endif
