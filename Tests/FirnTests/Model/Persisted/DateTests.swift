import Firn
import Foundation
import FirnTestSupport
import Testing

/// Dates are read as they were stored, and order, equality and self-assignment agree (SEMANTICS 74).
@Suite(.timeLimit(.minutes(20))) struct DateTests {
    private class Event: Object {
        @Persisted var number = 0
        @Persisted var date = Date(timeIntervalSinceReferenceDate: 0)
        @Persisted(indexed: true) var indexed = Date(timeIntervalSinceReferenceDate: 0)
        @Persisted var optional: Date?
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private static let extremes: [Double] = {
        var intervals: [Double] = [
            0, -0.0, 1e-9, -1e-9, 4e-10, -4e-10, 0.5, -0.5, 0.999_999_999_9, -0.999_999_999_9, .leastNonzeroMagnitude,
            -.leastNonzeroMagnitude, 978_307_200, -978_307_200, -978_307_200.5, 63_113_904_000, -63_114_076_800, 1e15,
            -1e15, 8.999e18, -8.999e18, 9e18, -9e18, 9.1e18, -9.1e18, 1e19, -1e19, 1e300, -1e300,
            .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .infinity, -.infinity,
            Date.distantPast.timeIntervalSinceReferenceDate, Date.distantFuture.timeIntervalSinceReferenceDate,
        ]
        // Around the largest and smallest timestamps, where neighbouring dates are a quarter of an hour and more apart.
        for edge in [0x1p63, -0x1p63, 0x1p63 - 978_307_200, -0x1p63 + 978_307_200, -0x1p63 - 978_307_200] {
            var (up, down) = (edge, edge)
            intervals.append(edge)
            for _ in 0..<3 {
                (up, down) = (up.nextUp, down.nextDown)
                intervals += [up, down]
            }
        }
        return intervals
    }()

    private static func random(_ seed: UInt64, _ count: Int) -> [Double] {
        var random = SeededRandom(seed: seed)
        return (0..<count).map { _ in
            while true {
                let any = Double(bitPattern: random.next())
                // Half of them have an exponent at which dates differ by nanoseconds to centuries.
                let exponent = Int(random.next() % 90) - 30
                let value =
                    random.next() & 1 == 0
                    ? any
                    : Double(sign: any.sign, exponent: exponent, significand: 1 + Double(random.next() >> 12) * 0x1p-52)
                if !value.isNaN { return value }
            }
        }
    }

    /// The dates that may be read back. A store holds nanoseconds and 64-bit seconds.
    private func nearest(_ interval: Double) -> ClosedRange<Double> {
        let limit = 9_223_372_035_876_468_736.0
        if interval >= limit { return limit...limit }
        if interval <= -0x1p63 { return -0x1p63 ... -0x1p63 }
        return interval - Swift.max(5.1e-10, interval.ulp)...interval + Swift.max(5.1e-10, interval.ulp)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func storedDatesAreReadBackAndOrderedAsInSwift(seed: UInt64) throws {
        let realm = try memoryRealm([Event.self])
        let intervals = Self.extremes + Self.random(seed, 150)
        let events = intervals.enumerated().map { number, interval in
            let event = Event()
            event.number = number
            let date = Date(timeIntervalSinceReferenceDate: interval)
            (event.date, event.indexed, event.optional) = (date, date, date)
            return event
        }
        try realm.write {
            realm.add(events)
            // The setter converts as creating does.
            for (event, interval) in zip(events, intervals) where event.number % 2 == 0 {
                event.date = Date(timeIntervalSinceReferenceDate: interval)
            }
        }
        let all = realm.objects(Event.self)
        let read = all.map(\.date)
        for (event, interval) in zip(events, intervals) {
            let date = event.date
            #expect(
                nearest(interval).contains(date.timeIntervalSinceReferenceDate),
                "\(interval): \(date.timeIntervalSinceReferenceDate)")
            #expect(event.indexed == date && event.optional == date, "\(interval)")
        }
        // Assigning what was read changes nothing, and comparing with the given date is comparing with the stored
        // one.
        try realm.write { for event in events { (event.date, event.indexed) = (event.date, event.indexed) } }
        #expect(all.map(\.date) == read && all.map(\.indexed) == read)
        for (interval, date) in zip(intervals, read) {
            let given = Date(timeIntervalSinceReferenceDate: interval)
            let equal = read.indices.filter { read[$0] == date }
            let below = read.indices.filter { read[$0] < date }
            for probe in [given, date] {
                #expect(all.where { $0.date == probe }.map(\.number) == equal, "\(interval)")
                #expect(all.where { $0.indexed == probe }.map(\.number) == equal, "\(interval)")
                #expect(all.where { $0.date < probe }.map(\.number) == below, "\(interval)")
                #expect(Set(all.where { $0.indexed < probe }.map(\.number)) == Set(below), "\(interval)")
            }
        }
        let sorted = read.indices.sorted { (read[$0], $0) < (read[$1], $1) }
        #expect(all.sorted(byKeyPath: "date").map(\.number) == sorted)
        #expect(all.sorted(byKeyPath: "indexed").map(\.number) == sorted)
        #expect(
            all.max(ofProperty: "date") as Date? == read.max() && all.min(ofProperty: "date") as Date? == read.min())
    }

    @Test func nanIsStoredAsTheStartOf1970() throws {
        let realm = try memoryRealm([Event.self])
        let event = Event(value: ["date": Date(timeIntervalSinceReferenceDate: .nan)])
        try realm.write { realm.add(event) }
        #expect(event.date == Date(timeIntervalSince1970: 0))
        let nan = Date(timeIntervalSinceReferenceDate: .nan)
        #expect(realm.objects(Event.self).where { $0.date == nan }.count == 1)
    }

    /// The identifier has the nearest second that it can hold.
    @Test func anObjectIdCanBeMadeFromAnyDate() {
        let last = TimeInterval(UInt32.max)
        for (seconds, expected) in [
            (0, 0), (1.5, 1), (1_700_000_000, 1_700_000_000), (last, last), (last + 1, last), (1e10, last),
            (1e19, last), (.infinity, last), (-0.5, 0), (-1, 0), (-1e19, 0), (-.infinity, 0), (.nan, 0),
        ] as [(TimeInterval, TimeInterval)] {
            let id = ObjectId(timestamp: Date(timeIntervalSince1970: seconds))
            #expect(id.timestamp == Date(timeIntervalSince1970: expected), "\(seconds)")
        }
    }

    @Test func upsertingTheSameInfiniteDateChangesNothing() throws {
        let realm = try memoryRealm([Event.self])
        let event = Event(value: ["date": Date(timeIntervalSinceReferenceDate: .infinity)])
        try realm.write { realm.add(event) }
        let stored = event.date
        #expect(stored > Date.distantFuture && stored.timeIntervalSinceReferenceDate.isFinite)
        try realm.write { event.date = stored }
        #expect(event.date == stored)
        #expect(realm.objects(Event.self).where { $0.date > Date.distantFuture }.count == 1)
    }
}
