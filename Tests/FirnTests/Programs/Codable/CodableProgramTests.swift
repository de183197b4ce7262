import Firn
import FirnTestSupport
import Foundation
import Testing

/// Random graphs of objects of a class with all types are encoded and decoded as the same structures of Swift are: with
/// JSON and property lists, null and absent keys, special values, in collections, embedded objects and links; added,
/// copied and added again. Damaged texts are refused or accepted as Swift's own are (R49, R97, SEMANTICS 90).
///
/// `FIRN_PROGRAMS=10000` runs so many.
@Suite(.timeLimit(.minutes(60))) struct CodableProgramTests {
    private static let count = TestEnvironment.programCount(40)

    @Test(arguments: 0..<2) func codedObjectsAreThoseOfSwift(part: Int) throws {
        var (refused, accepted) = (0, 0)
        for seed in 0..<Self.count where seed % 2 == part {
            let program = try CodableProgram(seed: UInt64(seed + 1))
            try program.run()
            refused += program.refused
            accepted += program.accepted
        }
        #expect(refused > Self.count && accepted > Self.count, "\(refused) refused and \(accepted) accepted")
    }
}
