import CFirn
import Testing

/// A node that a thread has unpacked or copied is kept until 16 others of its ring have been used, whether they were
/// found or made.
@Suite(.timeLimit(.minutes(20))) struct ScratchTests {
    /// The ring and how many entries it has.
    private static let rings: [(UInt32, Int)] = [
        (UInt32(FIRN_SCRATCH_UNPACKED), 16), (UInt32(FIRN_SCRATCH_CHUNKS), 32), (UInt32(FIRN_SCRATCH_BLOBS), 16),
        (UInt32(FIRN_SCRATCH_INDEXES), 16), (UInt32(FIRN_SCRATCH_LISTS), 16),
    ]

    @Test(arguments: rings) func theNodeThatWasFoundLastIsNotEvictedNext(_ ring: UInt32, _ count: Int) throws {
        let mapping: UInt64 = 1 << 60
        func make(_ address: Int) throws {
            _ = try #require(firn_scratch_make(ring, UInt(address), mapping, 64, true))
        }
        for address in 1...count { try make(address) }
        // The oldest is found again, and must outlive all but one as many new ones.
        let found = try #require(firn_scratch_find(ring, 1, mapping))
        for address in count + 1..<2 * count {
            try make(address)
            #expect(firn_scratch_find(ring, UInt(address), mapping) != found)
        }
        #expect(firn_scratch_find(ring, 1, mapping) == found)
        #expect(firn_scratch_find(ring, 2, mapping) == nil && firn_scratch_find(ring, UInt(count), mapping) == nil)
        #expect(firn_scratch_find(ring, 1, mapping + 1) == nil)
    }

    @Test(arguments: rings) func aNodeThatIsNotKeptIsNeverFoundAndLastsAsLong(_ ring: UInt32, _ count: Int) throws {
        let mapping: UInt64 = 1 << 60 + 1
        let memory = try #require(firn_scratch_make(ring, 1, mapping, 64, false))
        #expect(firn_scratch_find(ring, 1, mapping) == nil)
        for address in 2...count {
            #expect(try #require(firn_scratch_make(ring, UInt(address), mapping, 64, true)) != memory)
        }
        #expect(firn_scratch_find(ring, 1, mapping) == nil && firn_scratch_find(ring, 2, mapping) != nil)
    }

    @Test func aCopyIsFoundInItsRingUntilItIsDropped() throws {
        let mapping: UInt64 = 1 << 60 + 2
        let blobs = UInt32(FIRN_SCRATCH_BLOBS)
        let memory = try #require(firn_scratch_make(blobs, 32, mapping, 100, true))
        #expect(firn_scratch_has_copies() && firn_scratch_has_copy(memory) && firn_scratch_has_copy(memory + 99))
        #expect(firn_scratch_find_copy(32, mapping) == memory && firn_scratch_find_copy(64, mapping) == nil)
        // Nodes of the other rings replace nothing here.
        for (ring, count) in Self.rings where ring != blobs {
            for address in 0..<2 * count { _ = firn_scratch_make(ring, UInt(address + 3) * 32, mapping, 64, true) }
        }
        #expect(firn_scratch_find_copy(32, mapping) == memory)
        firn_scratch_drop(memory)
        #expect(firn_scratch_find_copy(32, mapping) == nil && firn_scratch_find(blobs, 32, mapping) == nil)
    }

    @Test func longBlobsAreFreedExceptForTheLastFour() throws {
        let mapping: UInt64 = 1 << 60 + 3
        let blobs = UInt32(FIRN_SCRATCH_BLOBS)
        for address in 1...16 as ClosedRange<UInt> { _ = firn_scratch_make(blobs, address, mapping, 6 << 20, true) }
        #expect((1...12).allSatisfy { firn_scratch_find(blobs, $0, mapping) == nil })
        #expect((13...16).allSatisfy { firn_scratch_find(blobs, $0, mapping) != nil })
        // Short ones then have room again.
        for address in 17...29 as ClosedRange<UInt> { _ = firn_scratch_make(blobs, address, mapping, 64, true) }
        #expect((17...29).allSatisfy { firn_scratch_find(blobs, $0, mapping) != nil })
    }
}
