import FirnSimulation
import FirnStorage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

// Runs one seed after another, and reports those that fail. `Tools/simulate` builds this program and passes its
// arguments on.

/// The message for a run that stops the program: it names the seed, because no error can be thrown then. Set before
/// each run, and read by the signal handler.
nonisolated(unsafe) let message = UnsafeMutablePointer<CChar>.allocate(capacity: 256)
nonisolated(unsafe) var messageLength = 0

func announce(_ text: String) {
    messageLength = min(text.utf8.count, 255)
    for (index, byte) in text.utf8.prefix(255).enumerated() { message[index] = CChar(bitPattern: byte) }
}

func catchSignals() {
    for number in [SIGILL, SIGTRAP, SIGSEGV, SIGABRT, SIGBUS, SIGALRM] {
        signal(number) { number in
            _ = write(2, message, messageLength)
            signal(number, SIG_DFL)
            raise(number)
        }
    }
}

func usage() -> Never {
    print(
        """
        usage: Tools/simulate [--operators] [--seeds N] [--seed FIRST] [--operations N] [--verbose] [--story]

          --operators      runs days of careless operators instead, who move, replace and remove open stores

          --seeds N        how many seeds to run (100)
          --seed FIRST     the first seed (1)
          --operations N   about how many calls of the store's API per seed (20000)
          --verbose        print a line for each seed
          --story          print a line for each step
        """)
    exit(64)
}

var seeds: UInt64 = 100
var first: UInt64 = 1
var isVerbose = false
var hasOperators = false
var options = Simulation.Options()
var words = CommandLine.arguments.dropFirst()
while let word = words.popFirst() {
    switch word {
    case "--verbose": isVerbose = true
    case "--operators": hasOperators = true
    case "--story": options.onStep = { say($0) }
    case "--seeds", "--seed", "--operations":
        guard let number = words.popFirst().flatMap({ UInt64($0) }) else { usage() }
        switch word {
        case "--seeds": seeds = number
        case "--seed": first = number
        default: options.operations = Int(number)
        }
    default: usage()
    }
}

// Flushes, so that no output is lost if the program stops.
func say(_ text: String) {
    print(text)
    fflush(nil)
}
if options.onStep == nil { catchSignals() }
let start = SystemClock.shared.monotonic()
var total = Simulation.Report()
var days = OperatorDay.Report()
let mode = hasOperators ? " --operators" : ""
var failures = 0
for seed in first..<(first + seeds) {
    announce(
        "\nsimulate: seed \(seed) stopped the program. To reproduce: Tools/simulate\(mode) --seed \(seed) --seeds 1 --operations \(options.operations)\n"
    )
    // A run takes a few seconds. One that takes this long hangs.
    alarm(600)
    do {
        if hasOperators {
            let report = try OperatorDay.run(seed: seed, operations: options.operations)
            days.add(report)
            if isVerbose { print("seed \(seed): \(report)") }
            continue
        }
        let report = try Simulation.run(seed: seed, options)
        total.add(report)
        if isVerbose { print("seed \(seed): \(report)") }
    } catch {
        failures += 1
        print(
            "FAILED: \(error)\nTo reproduce: Tools/simulate\(mode) --seed \(seed) --seeds 1 --operations \(options.operations)"
        )
    }
}
alarm(0)
let seconds = Double(SystemClock.shared.monotonic() - start) / 1e9
let made = total.operations + days.operations
print(
    "\(seeds) seeds, \(failures) failed; \(hasOperators ? "\(days)" : "\(total)"); \(Int(seconds)) s, \(Int(Double(made) / max(seconds, 0.001) * 3600)) operations an hour"
)
exit(failures == 0 ? 0 : 1)
