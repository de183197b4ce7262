import FirnStorage

/// Keeps work in the background to so many bytes a second, by resting after each piece.
struct Pace {
    let bytesPerSecond: Int
    private let rest = (lock: Lock(), never: Condition())
    private var next: Int64 = 0

    init(bytesPerSecond: Int) { self.bytesPerSecond = bytesPerSecond }

    /// Rests for what is left of the time that `byteCount` bytes may take.
    mutating func rest(after byteCount: Int) {
        let now = SystemClock.shared.monotonic()
        let share = Int64(Double(byteCount) / Double(bytesPerSecond) * 1e9)
        next = max(next, now - share) + share
        guard next > now else { return }
        rest.lock.withLock { while rest.never.wait(rest.lock, until: next) {} }
    }
}
