#if Encryption
    import FirnBytes
    import FirnCore
    import FirnCrypto
    import FirnLog
    import FirnStorage
    import FirnTestSupport

    /// Encrypted stores whose contents somebody with the key has forged. All that is encrypted in them is authentic.
    package enum KeyedStore {
        /// - Parameter decryptedByteCount: see `StoreOptions.decryptedMemoryByteCount`.
        package static func options(decryptedByteCount: Int? = nil) -> StoreOptions {
            var options = BaseStore.options()
            options.log?.encryptionKey = [UInt8](repeating: 3, count: EncryptionKey.byteCount)
                .withUnsafeBytes { EncryptionKey($0) }
            options.decryptedMemoryByteCount = decryptedByteCount
            return options
        }

        /// The base store with a key, with other nodes in its checkpoint and other commits after it.
        ///
        /// - Parameters:
        ///   - checkpoint: the bytes of the file without encryption. The footer is not used.
        ///   - commits: the parts of each commit: see `Forging.appendCommit`.
        package static func storage(
            checkpoint: [UInt8] = BaseStore.made.checkpoint,
            commits: [[UInt8]] = Forging.commits(of: BaseStore.made.segment)
        ) throws -> MemoryStorage {
            let base = BaseStore.made
            let storage = MemoryStorage()
            let log = try Log.open(
                options().log!, storage: storage, clock: ManualClock(), randomness: SeededRandomness(seed: 1))
            log.finishOpening()
            let origin = try Log.open(
                BaseStore.options(access: .readOnly).log!, storage: try base.storage(replacing: [:]),
                clock: ManualClock(), randomness: SeededRandomness(seed: 1))
            defer { try? origin.close() }
            guard let live = origin.checkpoint else { preconditionFailure("the base store has no checkpoint") }
            // What the checkpoint holds is not read in the log.
            for version in 1...live.version { try append([], to: log, as: version) }
            try log.sealSegment()
            let writer = try log.beginCheckpoint(start: 0)
            let end = Forging.footerStart(of: base.checkpoint)
            try checkpoint.withUnsafeBytes { try writer.append(UnsafeRawBufferPointer(rebasing: $0[64..<end])) }
            let made = try writer.finish(version: live.version, time: live.time, earlier: [], state: live.state)
            try log.publish(made, keepingVersionsAfter: live.version)
            for (number, commit) in commits.enumerated() {
                try append(commit, to: log, as: live.version + 1 + UInt64(number))
            }
            try log.close()
            return storage
        }

        private static func append(_ parts: [UInt8], to log: Log, as version: UInt64) throws {
            var appender = try log.beginCommit(version: version)
            for part in Forging.parts(of: parts) {
                var bytes = ByteWriter()
                part.bytes.withUnsafeBytes { bytes.append($0) }
                try appender.add(part.isSchema ? .schema : .changes, bytes)
            }
            _ = try appender.seal()
        }
    }
#endif
