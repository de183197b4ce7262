import FirnBytes
import FirnStorage

/// The parts of a long commit on their way to the disk. Two workers compress parts while the caller encodes the next
/// part. Parts are written in order.
///
/// 1. The caller passes a part with `submit`. There are `capacity` slots; when all are taken, the caller waits. So a
///    commit's memory is bounded.
/// 2. A worker takes the oldest part that nobody has taken, and compresses it into its slot's frame buffer.
/// 3. A worker that has compressed a part becomes the writer, if there is none. It writes parts as long as the next one
///    in order is ready.
/// 4. `drain` waits until all parts are written; meanwhile the caller compresses and writes like the workers. If no
///    thread could be started, it does everything.
///
/// `lock` guards all counts, `isWriting`, `failure`, and each slot's state. A slot's buffers belong to the caller
/// until the part is submitted, then to the worker that took it, then to the writer.
final class PartQueue: @unchecked Sendable {
    private final class Slot {
        var raw = ByteWriter(capacity: 16)
        var frame = ByteWriter(capacity: 16)
        var kind = FrameHeader.Kind.changes
        var isLast = false
        var part: UInt32 = 0
        var isReady = false
        var encoded: EncodedPart?
    }

    private static let capacity = 4
    private static let workerCount = 2

    private let lock = Lock(.innermost)
    private let work = Condition()
    private let progress = Condition()
    private let slots = (0..<capacity).map { _ in Slot() }
    private var submitted = 0
    private var taken = 0
    private var written = 0
    private var isWriting = false
    private var isStopping = false
    private var failure: StorageError?
    private var workers: [StorageThread] = []
    private var version: UInt64 = 0
    private var time: Int64 = 0
    private let tail: LogTail
    // Used by the caller when it compresses parts itself.
    private var ownEncoder: PartEncoder

    init(tail: LogTail) {
        self.tail = tail
        ownEncoder = PartEncoder(isEncrypting: tail.isEncrypting)
    }

    /// Must be called before a commit's first part.
    func begin(version: UInt64, time: Int64) {
        lock.lock()
        precondition(submitted == written, "Firn: the commit before has left parts that are not written")
        self.version = version
        self.time = time
        failure = nil
        if tail.options.usesThreads, workers.isEmpty {
            for index in 1...Self.workerCount {
                if let worker = try? StorageThread.start(name: "firn-part-\(index)", { [self] in self.run() }) {
                    workers.append(worker)
                }
            }
        }
        lock.unlock()
    }

    /// Passes a part to the queue, and gives `raw` other memory in exchange, which may be used for another part. Throws
    /// the error that writing an earlier part threw.
    func submit(
        _ raw: inout ByteWriter, kind: FrameHeader.Kind, part: UInt32, isLast: Bool
    ) throws(StorageError) {
        lock.lock()
        while submitted - written == Self.capacity {
            if workers.isEmpty { step(&ownEncoder) } else { progress.wait(lock) }
        }
        let slot = slots[submitted % Self.capacity]
        swap(&slot.raw, &raw)
        slot.kind = kind
        slot.part = part
        slot.isLast = isLast
        slot.isReady = false
        submitted += 1
        work.signal()
        let failure = self.failure
        lock.unlock()
        if let failure { throw failure }
    }

    /// Waits until all parts are written.
    func drain() throws(StorageError) {
        lock.lock()
        while written < submitted {
            if taken < submitted { step(&ownEncoder) } else { progress.wait(lock) }
        }
        let failure = self.failure
        lock.unlock()
        if let failure { throw failure }
    }

    func stop() {
        lock.lock()
        isStopping = true
        let workers = self.workers
        self.workers = []
        work.broadcast()
        lock.unlock()
        for worker in workers { worker.join() }
    }

    private func run() {
        var encoder = PartEncoder(isEncrypting: tail.isEncrypting)
        lock.lock()
        while true {
            if taken < submitted {
                step(&encoder)
            } else if isStopping {
                break
            } else {
                work.wait(lock)
            }
        }
        lock.unlock()
    }

    /// Compresses one part and writes the parts that are ready. The lock is held when it is called and when it returns.
    private func step(_ encoder: inout PartEncoder) {
        lock.assertHeld()
        let slot = slots[taken % Self.capacity]
        taken += 1
        let skip = failure != nil
        let version = self.version
        lock.unlock()
        if !skip {
            var encoded = encoder.encode(
                slot.raw.bytes, kind: slot.kind, version: version, part: slot.part, into: &slot.frame)
            if slot.isLast { encoded.flags.insert(.last) }
            slot.encoded = encoded
        }
        lock.lock()
        slot.isReady = true
        if isWriting { return }
        isWriting = true
        while written < taken, case let next = slots[written % Self.capacity], next.isReady {
            let skip = failure != nil
            let time = self.time
            var thrown: StorageError?
            lock.unlock()
            if !skip, let encoded = next.encoded {
                do {
                    try tail.write(&next.frame, encoded, time: time)
                } catch {
                    thrown = error
                }
            }
            lock.lock()
            if let thrown { failure = thrown }
            next.isReady = false
            next.encoded = nil
            next.raw.removeAll()
            written += 1
            progress.broadcast()
        }
        isWriting = false
    }
}
