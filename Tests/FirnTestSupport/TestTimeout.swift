import Dispatch
import FirnStorage

/// How long a test waits for another thread or process before it fails.
///
/// The time is long, because the machine may be busy: what takes longer hangs.
public enum TestTimeout {
    public static let seconds = 120

    /// A time of the monotonic clock, in nanoseconds.
    public static func deadline(_ seconds: Int = seconds) -> Int64 {
        SystemClock.shared.monotonic() + Int64(seconds) * 1_000_000_000
    }

    /// Waits until a condition holds; false if it does not in time.
    public static func awaits(within seconds: Int = seconds, _ condition: () -> Bool) -> Bool {
        let deadline = deadline(seconds)
        var turns = 0
        while !condition() {
            guard SystemClock.shared.monotonic() < deadline else { return false }
            turns += 1
            // What it waits for may need this processor.
            if turns < 100 { yieldThread() } else { sleepThread(nanoseconds: 200_000) }
        }
        return true
    }

    /// Waits until a condition holds, and leaves the caller's actor to others meanwhile; false if it does not in time.
    ///
    /// Other tests may keep the actor busy for longer than the time, so it also has 1,000 turns.
    public static func suspends(
        within seconds: Int = seconds, isolation: isolated (any Actor)? = #isolation, until condition: () -> Bool
    ) async -> Bool {
        let deadline = deadline(seconds)
        var turns = 0
        while !condition() {
            guard turns < 1_000 || SystemClock.shared.monotonic() < deadline else { return false }
            try? await Task.sleep(for: .milliseconds(2))
            turns += 1
        }
        return true
    }

    /// Waits until a word is not 0; stops the process if it stays so.
    public static func awaitChange(of word: SharedWord) {
        let deadline = deadline()
        while word.load() == 0 {
            let left = deadline - SystemClock.shared.monotonic()
            precondition(left > 0, "nobody has changed the word or woken its waiter")
            // Waits until the deadline, because a waiter that polls would not notice that no thread wakes it.
            _ = word.wait(expected: 0, timeout: left)
        }
        precondition(SystemClock.shared.monotonic() < deadline, "nobody has woken the word's waiter")
    }
}

extension DispatchTime {
    /// The time at which a test stops waiting.
    public static var testTimeout: DispatchTime { .now() + .seconds(TestTimeout.seconds) }
}
