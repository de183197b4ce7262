import CFirn
import Testing

/// A chunk that a thread has unpacked is kept until 16 others have been used, whether they were found or made.
@Suite(.timeLimit(.minutes(20))) struct ScratchTests {
    @Test func theChunkThatWasFoundLastIsNotEvictedNext() throws {
        let mapping: UInt64 = 1 << 60
        func make(_ address: UInt) throws { _ = try #require(firn_scratch_make(address, mapping, 64, true)) }
        for address in 1...16 as ClosedRange<UInt> { try make(address) }
        // The oldest is found again, and must outlive 15 new ones.
        let found = try #require(firn_scratch_find(1, mapping))
        for address in 17...31 as ClosedRange<UInt> {
            try make(address)
            #expect(firn_scratch_find(address, mapping) != found)
        }
        #expect(firn_scratch_find(1, mapping) == found)
        #expect(firn_scratch_find(2, mapping) == nil && firn_scratch_find(16, mapping) == nil)
        #expect(firn_scratch_find(1, mapping + 1) == nil)
    }

    @Test func aChunkThatIsNotCachedIsNeverFoundAndLastsAsLong() throws {
        let mapping: UInt64 = 1 << 60 + 1
        let memory = try #require(firn_scratch_make(1, mapping, 64, false))
        #expect(firn_scratch_find(1, mapping) == nil)
        for address in 2...16 as ClosedRange<UInt> {
            #expect(try #require(firn_scratch_make(address, mapping, 64, true)) != memory)
        }
        #expect(firn_scratch_find(1, mapping) == nil && firn_scratch_find(2, mapping) != nil)
    }
}
