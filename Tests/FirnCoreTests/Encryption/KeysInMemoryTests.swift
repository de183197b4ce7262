#if Encryption && os(Linux)
    import FirnBytes
    import FirnStorage
    import FirnTestSupport
    import Glibc
    import Testing

    @testable import FirnCore
    @testable import FirnCrypto
    @testable import FirnLog

    /// What is left of a store's keys in the memory of a process. A core dump holds a part of this memory.
    @Suite(.timeLimit(.minutes(20)), .disabled(if: TestEnvironment.hasKey)) struct KeysInMemoryTests {
        /// 16 bytes of a key.
        private struct Piece {
            let name: String
            let bytes: [UInt8]
        }

        private static func pieces(_ name: String, _ key: UnsafeRawBufferPointer) -> [Piece] {
            stride(from: 0, to: key.count, by: 16).map { start in
                Piece(name: "\(name), byte \(start)", bytes: [UInt8](key[start..<start + 16]))
            }
        }

        /// The keys of a store: the user's, and all that are made from it.
        private static func keys(of path: String, _ user: [UInt8]) throws -> [Piece] {
            let key = try #require(user.withUnsafeBytes { EncryptionKey($0) })
            var folder = StoreFolder(try PosixStorage.shared.openFolder(path))
            folder.keyRing = KeyRing(key, randomness: SystemRandomness.shared)
            let keys = try #require(try folder.keys(folder.readManifest()))
            var pieces = user.withUnsafeBytes { Self.pieces("the user's key", $0) }
            pieces += keys.dataKey.withBytes { Self.pieces("the data key", $0) }
            pieces += keys.manifestKey.withUnsafeBytes { Self.pieces("the manifest's key", $0) }
            for inner in ["log", "checkpoint"] {
                for name in try PosixStorage.shared.list(path + "/" + inner) {
                    let file = try PosixStorage.shared.open("\(path)/\(inner)/\(name)", .read)
                    defer { file.close() }
                    let header = try file.read(128, at: 0)
                    let cipher = header.withUnsafeBytes { keys.cipher(salt: [UInt8](header[64..<96]), header: $0) }
                    pieces += cipher.key.withUnsafeBytes { Self.pieces("the key of \(name)", $0) }
                }
            }
            return pieces
        }

        /// Rules out most words that begin no piece.
        private struct Beginnings {
            private var bits = [Bool](repeating: false, count: 1 << 16)

            init(_ words: some Sequence<UInt64>) { for word in words { bits[Int(word & 0xFFFF)] = true } }

            func mayContain(_ word: UInt64) -> Bool { bits[Int(word & 0xFFFF)] }
        }

        /// Returns which of some pieces lie in the memory that a process may write, and the regions' names.
        private static func search(_ process: pid_t, for pieces: [Piece]) throws -> [String: String] {
            let memory = open("/proc/\(process)/mem", O_RDONLY)
            try #require(memory >= 0, "the memory of process \(process) can't be read")
            defer { close(memory) }
            let maps = open("/proc/\(process)/maps", O_RDONLY)
            try #require(maps >= 0)
            defer { close(maps) }
            let window = 1 << 20
            let buffer = UnsafeMutableRawPointer.allocate(byteCount: window, alignment: 16)
            defer { buffer.deallocate() }
            var text = ""
            while case let count = read(maps, buffer, window), count > 0 {
                text += String(decoding: UnsafeRawBufferPointer(start: buffer, count: count), as: UTF8.self)
            }
            var found: [String: String] = [:]
            let byBeginning = Dictionary(
                pieces.map { ($0.bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }, $0) },
                uniquingKeysWith: { first, _ in first })
            let beginnings = Beginnings(byBeginning.keys)
            for line in text.split(separator: "\n") {
                let words = line.split(separator: " ", omittingEmptySubsequences: true)
                guard words[1].hasPrefix("rw") else { continue }
                let ends = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
                // Windows overlap, so that no piece is cut in two.
                for start in stride(from: ends[0], to: ends[1], by: window - 16) {
                    let length = min(window, Int(ends[1] - start))
                    let count = pread(memory, buffer, length, off_t(truncatingIfNeeded: start))
                    for offset in 0..<max(0, count - 15) {
                        let first = buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                        guard beginnings.mayContain(first), let piece = byBeginning[first],
                            UnsafeRawBufferPointer(start: buffer + offset, count: 16).elementsEqual(piece.bytes)
                        else { continue }
                        found[piece.name] = words.count > 5 ? String(words[5]) : "no name"
                    }
                }
            }
            return found
        }

        @Test func aProcessThatHasClosedItsStoreHasNoneOfItsKeys() throws {
            let folder = TemporaryFolder()
            let path = folder.path + "/store"
            var user = [UInt8](repeating: 0, count: EncryptionKey.byteCount)
            user.withUnsafeMutableBytes { SystemRandomness.shared.fill($0) }
            let file = try PosixStorage.shared.open(folder.path + "/key", .create)
            try file.write(user, at: 0)
            file.close()
            let child = try ChildProcess(path, "key", folder.path + "/key")
            #expect(try child.readLine() == "open")
            var keys = try Self.keys(of: path, user)
            // The search finds what is there.
            let open = try Self.search(child.identifier, for: keys)
            #expect(open["the user's key, byte 0"] != nil && open["the data key, byte 0"] != nil)
            try PosixStorage.shared.open(path + ".release", .create).close()
            #expect(try child.readLine() == "closed")
            keys += try Self.keys(of: path, user)
            #expect(try Self.search(child.identifier, for: keys) == [:])
        }
    }
#endif
