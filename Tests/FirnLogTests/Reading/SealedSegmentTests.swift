#if Encryption
    import FirnCrypto
    import FirnStorage
    import FirnTestSupport
    import Testing

    @testable import FirnLog

    /// A sealed segment of a copy of an encrypted store gets into the store. The copy has the same keys, so each frame
    /// in it is authentic.
    @Suite("A part of a sealed segment is read", .timeLimit(.minutes(20))) struct SealedSegmentTests {
        enum Read: CaseIterable {
            case firstCommits, allCommits, headers, time
        }

        /// A store that goes its own way after version 2, and seals its segment after version 4. It is closed after
        /// version 6, or loses its power after version 4.
        private func copy(attempt: Int, isCut: Bool = false) throws -> Bench {
            let bench = Bench { options in
                options.verify = .directory
                options.encryptionKey = [UInt8](repeating: 7, count: EncryptionKey.byteCount)
                    .withUnsafeBytes { EncryptionKey($0) }
            }
            let clock = ManualClock()
            let log = try bench.open(clock: clock)
            for version: UInt64 in 1...(isCut ? 4 : 6) {
                clock.advance(by: 1_000)
                try LogScript.commit(log, version: version, [200], attempt: version < 3 ? 0 : attempt)
                if version == 4 { try log.sealSegment() }
            }
            if isCut { return bench.afterPowerCut(keeping: 1) }
            try log.close()
            return bench
        }

        private func read(_ log: Log, _ read: Read) throws -> [UInt64] {
            var versions: [UInt64] = []
            switch read {
            case .firstCommits: try log.replay(after: 0, through: 3) { versions.append($0.version) }
            case .allCommits: try log.replay(after: 0, through: 4) { versions.append($0.version) }
            case .headers: try log.forEachHeader(of: [1...3]) { versions.append($0.version) }
            case .time:
                var times: [Int64] = []
                try log.forEachHeader(of: [5...5]) { times.append($0.time) }
                versions = [try log.newestVersion(through: 6) { $0 < times[0] } ?? 0]
            }
            return versions
        }

        @Test("if it is the store's own", arguments: Read.allCases) func own(_ what: Read) throws {
            let log = try copy(attempt: 0).open()
            let expected: [UInt64] =
                switch what {
                case .firstCommits, .headers: [1, 2, 3]
                case .allCommits: [1, 2, 3, 4]
                case .time: [4]
                }
            for _ in 1...2 { #expect(try read(log, what) == expected) }
            try log.close()
        }

        @Test("and refused if it comes from a copy of the store", arguments: Read.allCases)
        func exchanged(_ what: Read) throws {
            let bench = try copy(attempt: 0)
            try bench.takeSegment(of: copy(attempt: 1))
            let log = try bench.open()
            let error = #expect(throws: LogError.self) { try read(log, what) }
            #expect(error?.code == .damage && error?.path.hasSuffix(Bench.segment) == true)
            try log.close()
        }

        @Test("for the schema and the time of the last commit, if nothing follows it", arguments: [false, true])
        func opening(isExchanged: Bool) throws {
            let bench = try copy(attempt: 0, isCut: true)
            if isExchanged {
                try bench.takeSegment(of: copy(attempt: 1, isCut: true))
                let error = #expect(throws: LogError.self) { try bench.open() }
                #expect(error?.code == .damage && error?.path.hasSuffix(Bench.segment) == true)
            } else {
                #expect(try bench.open().recovery.lastTime > 0)
            }
        }
    }
#endif
