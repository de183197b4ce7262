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

        private func isDamage(_ error: LogError?, of segment: Int = 1) -> Bool {
            error?.code == .damage && error?.path.hasSuffix("000000000\(segment).segment") == true
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
            #expect(isDamage(error))
            try log.close()
        }

        @Test("and refused, too, if the manifest changes before the segment's end is read")
        func manifestChanges() throws {
            let bench = try copy(attempt: 0)
            try bench.takeSegment(of: copy(attempt: 1))
            let log = try bench.open()
            let error = #expect(throws: LogError.self) {
                try log.replay(after: 0, through: 6) { commit in
                    if commit.version == 4 { try log.sealSegment() }
                }
            }
            #expect(isDamage(error))
            try log.close()
        }

        @Test("and refused before any of its headers is used") func headersOfACopy() throws {
            let bench = try copy(attempt: 0)
            try bench.takeSegment(of: copy(attempt: 1))
            let log = try bench.open()
            var delivered = 0
            let error = #expect(throws: LogError.self) { try log.forEachHeader(of: [1...3]) { _ in delivered += 1 } }
            #expect(isDamage(error) && delivered == 0)
            try log.close()
        }

        @Test("and refused by a process that follows, if it stops within the segment") func followed() throws {
            for isExchanged in [false, true] {
                let bench = try copy(attempt: 0)
                if isExchanged { try bench.takeSegment(of: copy(attempt: 1)) }
                let log = try bench.open()
                let manifest = try log.folder.readManifest()
                let read = {
                    try LogFollower(log.folder).read(from: LogReadPosition(version: 0), manifest, through: 3) { _ in }
                }
                if isExchanged {
                    let error = #expect(throws: LogError.self) { _ = try read() }
                    #expect(isDamage(error))
                } else {
                    #expect(try read().0.version == 3)
                }
                try log.close()
            }
        }

        @Test("if only the time of the first commit in it decides", arguments: [false, true])
        func timeOfTheSegmentBehind(isExchanged: Bool) throws {
            // Two copies go their own ways when the second segment is empty. One of them commits version 3 later.
            func copy(pause: Int64) throws -> Bench {
                let bench = Bench { options in
                    options.verify = .directory
                    options.encryptionKey = [UInt8](repeating: 7, count: EncryptionKey.byteCount)
                        .withUnsafeBytes { EncryptionKey($0) }
                }
                let clock = ManualClock()
                let log = try bench.open(clock: clock)
                for version: UInt64 in 1...6 {
                    clock.advance(by: version == 3 ? pause : 1_000)
                    try LogScript.commit(log, version: version, [200])
                    if version == 2 || version == 4 { try log.sealSegment() }
                }
                try log.close()
                return bench
            }
            let bench = try copy(pause: 1_000)
            let log = try bench.open()
            var third: Int64 = 0
            try log.forEachHeader(of: [3...3]) { third = $0.time }
            try log.close()
            if isExchanged { try bench.takeSegment(of: copy(pause: 500_000), number: 2) }
            let again = try bench.open()
            if isExchanged {
                let error = #expect(throws: LogError.self) { _ = try again.newestVersion(through: 6) { $0 <= third } }
                #expect(isDamage(error, of: 2))
            } else {
                #expect(try again.newestVersion(through: 6) { $0 <= third } == 3)
            }
            try again.close()
        }

        @Test("for the schema and the time of the last commit, if nothing follows it", arguments: [false, true])
        func opening(isExchanged: Bool) throws {
            let bench = try copy(attempt: 0, isCut: true)
            if isExchanged {
                try bench.takeSegment(of: copy(attempt: 1, isCut: true))
                let error = #expect(throws: LogError.self) { try bench.open() }
                #expect(isDamage(error))
            } else {
                #expect(try bench.open().recovery.lastTime > 0)
            }
        }
    }
#endif
