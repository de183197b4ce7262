import FirnStorage

/// Writes out the memory of versions that no longer count against the limits (`VersionTable.beginSpill`), on a thread
/// that lives while there is something to write.
///
/// References are addresses, and readers on any thread may be reading a held version, so the version can't be moved.
/// Its nodes lie in mapped scratch files (`SpillHeap`): their pages are written to these files, and the system takes
/// their memory back. The addresses stay the same; a thread that reads such a page waits for the disk.
///
/// The unit of work is a page. Every page with a node that was born before the version came about is written out once.
/// Pages that earlier versions needed have been written already. Pages that the newest version shares with the version
/// are read back when they are used. A compaction accesses nodes that the newest version then no longer needs, so their
/// pages are written out once more after it.
///
/// `lock` guards all state; nothing is written while it is held.
final class VersionSpiller: @unchecked Sendable {
    private let heap: SpillHeap
    /// If false, the caller of `add` does the writing itself.
    private let usesThread: Bool
    private let beforeWriting: (@Sendable () throws(StorageError) -> Void)?
    private let lock = Lock(.innermost)
    private let ended = Condition()
    private var pins: [Pin] = []
    /// The stamp up to which pages are to be written out once more.
    private var again: UInt64?
    private var isRunning = false
    private var isStopping = false

    init(_ heap: SpillHeap, usesThread: Bool, _ beforeWriting: (@Sendable () throws(StorageError) -> Void)?) {
        self.heap = heap
        self.usesThread = usesThread
        self.beforeWriting = beforeWriting
    }

    /// Writes a version out. If that fails, the version counts against the limits again.
    func add(_ pin: Pin) {
        begin { pins.append(pin) }
    }

    /// Returns to the system the memory of nodes born up to this stamp that were read back in after they were written
    /// out.
    func writeAgain(bornThrough stamp: UInt64) {
        begin { again = stamp }
    }

    private func begin(_ change: () -> Void) {
        lock.lock()
        change()
        let begins = !isRunning && !isStopping
        if begins { isRunning = true }
        lock.unlock()
        guard begins else { return }
        guard usesThread else { return run() }
        do throws(StorageError) { try StorageThread.start(name: "firn-spill") { [self] in run() } } catch {
            while let work = next() { fail(work.pins, error) }
        }
    }

    private func run() {
        while let work = next() {
            let stamp = work.pins.reduce(work.again ?? 0) { max($0, $1.stamp) }
            do throws(StorageError) {
                try beforeWriting?()
                try heap.writeOut(bornThrough: stamp, again: work.again != nil) { lock.withLock { !isStopping } }
            } catch {
                // The pages that were to be written once more are still in their file; they only take memory.
                fail(work.pins, error)
            }
        }
    }

    /// Returns the next versions and pages to write out; nil if there are none, which ends the work.
    private func next() -> (pins: [Pin], again: UInt64?)? {
        lock.lock()
        defer { lock.unlock() }
        if isStopping || pins.isEmpty && again == nil {
            isRunning = false
            ended.broadcast()
            return nil
        }
        defer { (pins, again) = ([], nil) }
        return (pins, again)
    }

    private func fail(_ pins: [Pin], _ error: StorageError) {
        for pin in pins { pin.failSpill(error) }
    }

    /// Begins no more work, and returns when nothing is being written.
    func stop() {
        lock.lock()
        isStopping = true
        while isRunning { ended.wait(lock) }
        let left = pins
        pins = []
        lock.unlock()
        // Release the pins outside the lock: releasing one may free much.
        withExtendedLifetime(left) {}
    }
}
