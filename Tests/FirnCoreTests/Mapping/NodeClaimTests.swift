import FirnTestSupport
import Testing

@testable import FirnCore

@Suite(.timeLimit(.minutes(20))) struct NodeClaimTests {
    /// The claims for the nodes of a removed file go with the file, and no others do. A node that was taken stays
    /// taken.
    @Test(arguments: 1...4) func claimsAboutARemovedFileAreDropped(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var claims = NodeClaims()
        var model: [Int: (claim: NodeClaim, isTaken: Bool)] = [:]
        for _ in 0..<5000 {
            let unit = random.below(20_000)
            if model[unit] != nil { continue }
            let claim = NodeClaim(.rows(random.below(9)), level: random.below(4), count: random.below(1 << 40))
            let isEntered = claims.enter(claim, unit)
            let isTaken = random.below(2) == 0 && claims.take(unit)
            #expect(isEntered)
            model[unit] = (claim, isTaken)
        }
        let gone = [3000..<7000, 7000..<7001, 15_000..<20_000]
        claims.forget(gone)
        for range in gone { for unit in range { model[unit] = nil } }
        let left = claims.count
        #expect(left == model.count)
        for unit in 0..<20_000 {
            let found = claims.find(unit)
            #expect(found == model[unit]?.claim)
            guard let known = model[unit] else { continue }
            let isFree = claims.take(unit)
            #expect(isFree != known.isTaken)
        }
        // There is capacity for other claims, and none are left when all are forgotten.
        let isEntered = claims.enter(NodeClaim(.root), 3000)
        claims.forget([0..<20_000])
        let isEmpty = claims.count == 0 && claims.find(3000) == nil
        #expect(isEntered && isEmpty)
    }
}
