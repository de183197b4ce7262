import FirnStorage

/// Who has a store open: locks of bytes of the file `lock`, which die with their process.
///
/// | byte | held by | how |
/// | --- | --- | --- |
/// | 0 | the writer, for as long as the log is open for writing | exclusive |
/// | 1 | everybody who has the store open | shared; exclusive for a moment by a writer that asks whether it is alone |
struct StoreLocks: Sendable {
    private static let writerByte = 0
    private static let openByte = 1

    let lock: any StorageLock
    let path: String

    /// Becomes the writer; waits for up to `waitMilliseconds`.
    func lockWriter(waitMilliseconds: Int, processID: () -> Int32?) throws(LogError) {
        // A reader asks for the byte for an instant to see whether there is a writer, so even one who doesn't wait asks again.
        let deadline = SystemClock.shared.monotonic() + Int64(max(waitMilliseconds, 3)) * 1_000_000
        var pause: Int64 = 500_000
        while true {
            if try stored({ () throws(StorageError) in try lock.tryLock(Self.writerByte, exclusive: true) }) { return }
            if SystemClock.shared.monotonic() >= deadline {
                throw LogError(.locked(processID: processID()), path: path)
            }
            rest(pause)
            pause = min(pause * 2, 20_000_000)
        }
    }

    /// True where some other opener writes at this moment.
    func hasWriter() throws(LogError) -> Bool {
        try stored { () throws(StorageError) in
            guard try lock.tryLock(Self.writerByte, exclusive: false) else { return true }
            try lock.unlock(Self.writerByte)
            return false
        }
    }

    /// Says that this opener has the store open; true where it is the only one. The writer alone asks that.
    func enter(asWriter: Bool) throws(LogError) -> Bool {
        try stored { () throws(StorageError) in
            var alone = false
            if asWriter, try lock.tryLock(Self.openByte, exclusive: true) {
                alone = true
                try lock.unlock(Self.openByte)
            }
            // Only a writer ever holds it exclusively, and for an instant.
            while try !lock.tryLock(Self.openByte, exclusive: false) { rest(200_000) }
            return alone
        }
    }

    func leave() { lock.close() }

    func rest(_ nanoseconds: Int64) {
        let lock = Lock()
        let never = Condition()
        lock.lock()
        let deadline = SystemClock.shared.monotonic() + nanoseconds
        while never.wait(lock, until: deadline) {}
        lock.unlock()
    }
}
