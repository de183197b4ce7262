import Testing

@testable import FirnLog

@Suite("What retention keeps", .timeLimit(.minutes(20))) struct RetentionTests {
    /// Three segments of ten versions each, with one commit a second.
    private let segments = [
        RetentionRule.Segment(firstVersion: 1, lastVersion: 10, byteCount: 4096, lastTime: 10),
        RetentionRule.Segment(firstVersion: 11, lastVersion: 20, byteCount: 4096, lastTime: 20),
        RetentionRule.Segment(firstVersion: 21, lastVersion: 30, byteCount: 100, lastTime: 30),
    ]

    private func oldest(_ retention: HistoryRetention, now: Int64 = 30) -> UInt64 {
        RetentionRule.oldestNeeded(retention, segments: segments) { now - $0 }
    }

    @Test("none keeps the newest, everything all") func ends() {
        #expect(oldest(.none) == 30)
        #expect(oldest(.everything) == 0)
        #expect(RetentionRule.oldestNeeded(.everything, segments: [], timeOfAge: { 9 - $0 }) == 0)
        let later = Array(segments.dropFirst())
        #expect(RetentionRule.oldestNeeded(.everything, segments: later, timeOfAge: { 9 - $0 }) == 10)
    }

    @Test("a number of versions is counted from the newest, which is one of them") func numbers() {
        #expect(oldest(.versions(1)) == 30)
        #expect(oldest(.versions(5)) == 26)
        #expect(oldest(.versions(30)) == 1)
        #expect(oldest(.versions(31)) == 0)
        #expect(oldest(.versions(.max)) == 0)
        #expect(oldest(.versions(0)) == 30)
    }

    @Test("by age, the version of every moment is kept, and all of a segment if only its end is known")
    func ages() {
        #expect(oldest(.age(nanoseconds: 0)) == 30)
        // At time 25 the newest version was 25, and it is only known that this is after 20.
        #expect(oldest(.age(nanoseconds: 5)) == 20)
        #expect(oldest(.age(nanoseconds: 10)) == 20)
        #expect(oldest(.age(nanoseconds: 11)) == 10)
        #expect(oldest(.age(nanoseconds: 29)) == 0)
        #expect(oldest(.age(nanoseconds: .max)) == 0)
        #expect(oldest(.age(nanoseconds: 5), now: 1000) == 30)
        #expect(RetentionRule.oldestNeeded(.age(nanoseconds: 0), segments: segments) { _ in .min } == 0)
        #expect(oldest(.age(nanoseconds: -5)) == 30)
        let exact = RetentionRule.oldestNeeded(
            .age(nanoseconds: 5), oldest: 0, newest: 30, timeOfAge: { 30 - $0 }, versionAt: { UInt64($0) })
        #expect(exact == 25)
    }

    @Test("as long as nothing is known of ages, everything is kept") func unknownAges() {
        #expect(RetentionRule.oldestNeeded(.age(nanoseconds: 0), segments: segments) { _ in nil } == 0)
        #expect(RetentionRule.oldestNeeded(.versions(5), segments: segments) { _ in nil } == 26)
    }

    @Test("a segment without commits changes nothing") func emptySegment() {
        let more = segments + [RetentionRule.Segment(firstVersion: 31, lastVersion: 30, byteCount: 64, lastTime: 30)]
        for retention in [.none, .versions(7), .age(nanoseconds: 15), .everything] as [HistoryRetention] {
            #expect(RetentionRule.oldestNeeded(retention, segments: more) { 40 - $0 } == oldest(retention, now: 40))
        }
    }

    @Test(
        "what several openers ask for fits in one word",
        arguments: [
            ([], []), ([.none], []), ([.versions(3), .versions(7)], [.versions(7)]),
            ([.age(nanoseconds: 1)], [.age(nanoseconds: 1_000_000_000)]),
            ([.versions(0), .age(nanoseconds: 2_000_000_001)], [.versions(1), .age(nanoseconds: 3_000_000_000)]),
            ([.everything, .versions(5)], [.everything]),
            ([.age(nanoseconds: .max)], [.everything]), ([.versions(.max)], [.versions(Int(UInt32.max) - 1)]),
        ] as [([HistoryRetention], [HistoryRetention])])
    func word(asked: [HistoryRetention], kept: [HistoryRetention]) {
        #expect(RetentionWord(asked).retentions == kept)
        #expect(RetentionWord(raw: RetentionWord(asked).raw).retentions == kept)
    }
}
