#if os(Linux)
    import FirnCore
    import FirnStorage
    import FirnTestSupport
    import Foundation
    import Synchronization
    import Testing

    @testable import Firn

    /// Volumes of the kernel that become read-only. `FIRN_MOUNTS=1`, as root, runs these tests: they mount volumes, and
    /// make one report an error as a broken disk does.
    @Suite(
        .enabled(if: TestEnvironment.value("FIRN_MOUNTS") != nil && geteuid() == 0), .serialized,
        .timeLimit(.minutes(20)))
    struct ReadOnlyVolumeTests {
        /// Runs a command of the shell.
        private static func run(_ command: String) throws {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", command]
            try process.run()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw Failed(command: command) }
        }
        private struct Failed: Error { let command: String }

        /// A volume with ext4 in a file, which is unmounted at the end.
        private final class Volume {
            let folder = TemporaryFolder()
            var path: String { folder.path + "/volume" }
            private var image: String { folder.path + "/image" }

            init() throws {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
                try run("truncate -s 64M \(image) && mkfs.ext4 -q \(image)")
                try mount()
            }

            deinit { try? run("umount -l \(path)") }

            func mount(_ options: String = "errors=remount-ro") throws {
                try run("mount -o loop,\(options) \(image) \(path)")
            }
            func unmount() throws { try run("umount \(path)") }
            func remount(_ option: String) throws { try run("mount -o remount,\(option) \(path)") }

            /// Lets the file system meet an error, whereupon it makes itself read-only.
            func fail() throws {
                try run("echo test > /sys/fs/ext4/$(basename $(findmnt -n -o SOURCE \(path)))/trigger_fs_error")
            }
        }

        private static func configuration(_ volume: Volume, readOnly: Bool = false) -> Realm.Configuration {
            Realm.Configuration(
                fileURL: URL(fileURLWithPath: volume.path + "/store"), readOnly: readOnly,
                objectTypes: [Dog.self, Person.self])
        }

        private static func open(_ configuration: Realm.Configuration) throws -> Realm {
            try Realm(configuration: configuration)
        }

        private static func expectReadOnly(_ error: (any Error)?, _ codes: Realm.Error.Code...) {
            let found = error as? Realm.Error
            #expect(found.map { codes.contains($0.code) } ?? false, "\(String(describing: error))")
            #expect(found?.message.contains("mounted read-only") ?? false, "\(String(describing: error))")
        }

        @Test func anErrorOfTheDiskMakesAnOpenStoresVolumeReadOnly() async {
            await #expect(processExitsWith: .success) { @MainActor in
                for durability in [Realm.Configuration.Durability.full, .relaxed(interval: 1), .none] {
                    try await Self.useWhileTheDiskFails(durability)
                }
            }
        }

        @MainActor private static func useWhileTheDiskFails(_ durability: Realm.Configuration.Durability) async throws {
            let volume = try Volume()
            var configuration = Self.configuration(volume)
            configuration.durability = durability
            do {
                let realm = try Self.open(configuration)
                for id in 0..<50 { try realm.write { realm.add(Dog(id, "dog \(id)")) } }
                try realm.compact()
                for id in 50..<100 { try realm.write { realm.add(Dog(id, "dog \(id)")) } }
                // What is acknowledged without a sync may be lost with the disk.
                try realm.instance.store.log?.sync()
                let frozen = realm.freeze()
                var shown: [Int] = []
                let early = realm.objects(Dog.self).observe { _ in shown.append(realm.objects(Dog.self).count) }
                try volume.fail()
                let dog = realm.objects(Dog.self)[0]
                Self.expectReadOnly(
                    #expect(throws: (any Error).self) { try realm.write { dog.name = "lost" } }, .writeFailed)
                #expect(!realm.isInWriteTransaction)
                realm.refresh()
                #expect(dog.name == "dog 0" && realm.objects(Dog.self).count == 100)
                #expect(frozen.objects(Dog.self).where { $0.name.contains("9") }.count == 19)
                let late = realm.objects(Dog.self).observe { _ in shown.append(-1) }
                await wait { shown.count == 2 }
                #expect(shown.sorted() == [-1, 100])
                let ended = Mutex<(any Error)?>(nil)
                realm.writeAsync {
                    realm.add(Dog(1000, "lost"))
                } onComplete: { error in
                    ended.withLock { $0 = error }
                }
                await wait { ended.withLock { $0 } != nil }
                Self.expectReadOnly(ended.withLock { $0 }, .writeFailed)
                Self.expectReadOnly(
                    #expect(throws: (any Error).self) { try realm.compact() }, .writeFailed,
                    .filePermissionDenied)
                let copy = URL(fileURLWithPath: volume.folder.path + "/copy")
                try realm.writeCopy(toFile: copy)
                var copied = configuration
                copied.fileURL = copy
                #expect(try Self.open(copied).objects(Dog.self).count == 100)
                early.invalidate()
                late.invalidate()
            }
            await mainQueueIsThrough()
            Self.expectReadOnly(
                #expect(throws: (any Error).self) { _ = try Self.open(configuration) },
                .filePermissionDenied)
            do {
                let reading = try Self.open(Self.configuration(volume, readOnly: true))
                #expect(reading.objects(Dog.self).count == 100)
            } catch {
                #expect("\(error)".contains("whether its last bytes are on the disk"), "\(error)")
            }
            try volume.unmount()
            try volume.mount()
            let realm = try Self.open(configuration)
            #expect(realm.objects(Dog.self).where { $0.id < 100 && $0.name != "lost" }.count >= 99)
            #expect(realm.objects(Dog.self).count == 100)
            try realm.write { realm.add(Dog(200, "after")) }
            try realm.instance.store.verify()
        }

        /// The system refuses to mount a volume read-only while a file on it is open for writing. So this store is
        /// closed then.
        @Test func aVolumeThatIsMountedReadOnlyIsRead() async {
            await #expect(processExitsWith: .success) { @MainActor in
                let volume = try Volume()
                let configuration = Self.configuration(volume)
                do {
                    let realm = try Self.open(configuration)
                    try realm.write { for id in 0..<10 { realm.add(Dog(id, "dog \(id)")) } }
                    #expect(throws: Failed.self) { try volume.remount("ro") }
                }
                do {
                    let reading = try Self.open(Self.configuration(volume, readOnly: true))
                    #expect(reading.objects(Dog.self).count == 10)
                    // So that writers know of it, it has two files open for writing.
                    #expect(throws: Failed.self) { try volume.remount("ro") }
                }
                try volume.remount("ro")
                for _ in 0..<2 {
                    let error = #expect(throws: (any Error).self) { _ = try Self.open(configuration) }
                    Self.expectReadOnly(error, .filePermissionDenied)
                    #expect("\(String(describing: error))".contains("`readOnly`"))
                    let deleting = #expect(throws: (any Error).self) {
                        _ = try Realm.deleteFiles(for: configuration)
                    }
                    Self.expectReadOnly(deleting, .filePermissionDenied)
                    var new = configuration
                    new.fileURL = URL(fileURLWithPath: volume.path + "/new")
                    Self.expectReadOnly(
                        #expect(throws: (any Error).self) { _ = try Self.open(new) }, .filePermissionDenied)
                    let reading = try Self.open(Self.configuration(volume, readOnly: true))
                    #expect(reading.objects(Dog.self).where { $0.name == "dog 3" }.count == 1)
                }
                try volume.remount("rw")
                let realm = try Self.open(configuration)
                #expect(realm.objects(Dog.self).count == 10)
                try realm.write { realm.add(Dog(200, "after")) }
            }
        }
    }
#endif
