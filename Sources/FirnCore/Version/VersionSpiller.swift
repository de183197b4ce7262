import FirnStorage

/// Writes out what versions need that count no more (`VersionTable.beginSpill`), on a thread that lives while there is something to do.
///
/// References are addresses, and readers on any thread may be amid a held version, so it can't be moved away. Its nodes lie in scratch files that are mapped (`SpillHeap`): their pages are written to these files,
/// and the system takes their memory back. The addresses stay; who reads there waits for the disk.
///
/// Only pages are looked at. Those with a node that was born before the version came about go, once each: what versions before needed has gone already, and what the newest version shares with
/// it comes back when it is read. A compaction touches what the newest version leaves behind, so they go once more after it.
///
/// `lock` guards all state; nothing is written under it.
final class VersionSpiller: @unchecked Sendable {
    private let heap: SpillHeap
    /// False: who adds a version writes it out.
    private let usesThread: Bool
    private let beside: (@Sendable () throws(StorageError) -> Void)?
    private let lock = Lock(.innermost)
    private let ended = Condition()
    private var pins: [Pin] = []
    /// The stamp up to which pages are to go once more.
    private var again: UInt64?
    private var isRunning = false
    private var isStopping = false

    init(_ heap: SpillHeap, usesThread: Bool, _ beside: (@Sendable () throws(StorageError) -> Void)?) {
        self.heap = heap
        self.usesThread = usesThread
        self.beside = beside
    }

    /// Writes a version out; where that fails, it counts again.
    func add(_ pin: Pin) {
        begin { pins.append(pin) }
    }

    /// Gives back what was read of versions with this stamp and older ones since they were written out.
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
                try beside?()
                try heap.writeOut(bornThrough: stamp, again: work.again != nil) { lock.withLock { !isStopping } }
            } catch {
                // What was to go once more is in its file as before, and only takes memory.
                fail(work.pins, error)
            }
        }
    }

    /// What is to be written out; nil where there is nothing, and the work is done.
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

    /// Begins nothing more, and returns when nothing is being written.
    func stop() {
        lock.lock()
        isStopping = true
        while isRunning { ended.wait(lock) }
        let left = pins
        pins = []
        lock.unlock()
        // Not under the lock: the end of a pin may free much.
        withExtendedLifetime(left) {}
    }
}
