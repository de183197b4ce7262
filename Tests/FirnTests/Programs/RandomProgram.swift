/// A random program beside a plain oracle, on the main actor. Equal seeds give equal programs.
@MainActor
protocol RandomProgram {
    init(seed: UInt64) throws
    func run() async throws
    /// How many answers or frames it has compared with the oracle's.
    var compared: Int { get }
}

extension RandomProgram {
    /// Runs every second one of `count` programs, from number `part` on, and returns how much they have compared.
    static func run(_ count: Int, part: Int) async throws -> Int {
        var compared = 0
        for seed in 0..<count where seed % 2 == part {
            let program = try Self(seed: UInt64(seed + 1))
            try await program.run()
            compared += program.compared
            await Task.yield()
        }
        return compared
    }
}
