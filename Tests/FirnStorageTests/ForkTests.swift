import CFirn
import FirnTestSupport
import Testing

@testable import FirnStorage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What happens to locks and shared memory when processes fork and die. Each test runs in a process of its own.
@Suite(.timeLimit(.minutes(20))) struct ForkTests {
    @Test func aForkedChildNeitherFreesNorKeepsItsParentsLock() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let path = folder.path + "/lock"
            let lock = try PosixStorage.shared.lockFile(path)
            let other = try PosixStorage.shared.lockFile(path)
            #expect(try lock.tryLock(0, exclusive: true))
            let tried = Signal()
            let before = forkGeneration()
            let child = forked {
                guard forkGeneration() == before + 1 else { return 1 }
                guard (try? lock.unlock(0)) != nil else { return 2 }
                do {
                    _ = try lock.tryLock(0, exclusive: true)
                    return 3
                } catch {
                    guard (error as? StorageError)?.code == .forked else { return 4 }
                }
                lock.close()
                tried.send()
                pause()
                return 5
            }
            tried.wait()
            #expect(forkGeneration() == before)
            #expect(try !other.tryLock(0, exclusive: true), "the child has released the parent's lock")
            lock.close()
            #expect(try other.tryLock(0, exclusive: true), "the child keeps the lock alive")
            kill(child, SIGKILL)
            #expect(end(of: child) == .killed)
        }
    }

    /// A program that another thread is just starting has copies of all descriptors until its exec, and no fork handler
    /// closes them.
    @Test func aLockThatIsClosedIsFreeAlthoughACopyOfItsDescriptorIsOpen() throws {
        let folder = TemporaryFolder()
        let lock = try PosixStorage.shared.lockFile(folder.path + "/lock")
        var root: (any StorageFolder)? = try PosixStorage.shared.openFolder(folder.path)
        #expect(try lock.tryLock(0, exclusive: true) && lock.tryLock(7, exclusive: false))
        #expect(try root?.tryLock(exclusive: true) == true)
        let copies = try PosixStorage.shared.list("/dev/fd").compactMap { Int32($0) }
            .filter { isIn(folder.path, $0) }.map { fcntl($0, F_DUPFD_CLOEXEC, 3) }
        #expect(copies.count >= 2)
        lock.close()
        root = nil
        let other = try PosixStorage.shared.lockFile(folder.path + "/lock")
        #expect(try other.tryLock(0, exclusive: true) && other.tryLock(7, exclusive: true))
        let otherRoot = try PosixStorage.shared.openFolder(folder.path)
        #expect(try otherRoot.tryLock(exclusive: true))
        for copy in copies { close(copy) }
    }

    @Test func aGlobalLockIsFreeInAForkedChild() async {
        await #expect(processExitsWith: .success) {
            let global = GlobalLock.tests
            let held = Signal()
            let thread = try StorageThread.start(name: "holder") {
                global.lock()
                held.send()
                // Keeps the lock until the fork. A fork that comes later proves nothing, but does not fail the test.
                usleep(200_000)
                global.unlock()
            }
            held.wait()
            let child = forked {
                global.lock()
                return 0
            }
            #expect(end(of: child, within: 20) == .exited(0))
            thread.join()
            // The parent's lock is free too.
            global.withLock {}
        }
    }

    private enum Slow {
        nonisolated(unsafe) static var making: Signal!
        static var global: GlobalGuarded<Int> {
            GlobalGuarded(.tests) {
                if forkGeneration() == 0 {
                    making.send()
                    // Keeps this running until the fork. A fork that comes later proves nothing, but does not fail
                    // the test.
                    usleep(200_000)
                }
                return 1
            }
        }
    }

    /// If the value were a `static let`, the child would wait for a thread that it does not have.
    @Test func aGlobalValueIsUsableInAChildThatIsForkedDuringItsFirstUse() async {
        await #expect(processExitsWith: .success) {
            let making = Signal()
            Slow.making = making
            let thread = try StorageThread.start(name: "first") { Slow.global.withLock { $0 += 1 } }
            making.wait()
            let child = forked { Slow.global.withLock { Int32($0) } }
            #expect(end(of: child, within: 20) == .exited(1))
            thread.join()
            #expect(Slow.global.withLock { $0 } == 2)
        }
    }

    private final class SlowObject {
        nonisolated(unsafe) static var making: Signal!
        static var shared: SlowObject { SharedObject.tests.get { SlowObject() } }
        let isFirst = forkGeneration() == 0

        init() {
            guard isFirst else { return }
            Self.making.send()
            // As in `Slow`.
            usleep(200_000)
        }
    }

    /// The clock, the storage and the randomness with which a child opens a store are shared objects too.
    @Test func aSharedObjectIsUsableInAChildThatIsForkedDuringItsFirstUse() async {
        await #expect(processExitsWith: .success) {
            let making = Signal()
            SlowObject.making = making
            let thread = try StorageThread.start(name: "first") { _ = SlowObject.shared }
            making.wait()
            let child = forked { SlowObject.shared.isFirst ? 1 : 0 }
            #expect(end(of: child, within: 20) == .exited(0))
            thread.join()
            #expect(SlowObject.shared === SlowObject.shared && SlowObject.shared.isFirst)
        }
    }

    @Test func aSharedObjectIsTheSameThroughoutTheProcess() {
        #expect(SystemClock.shared === SystemClock.shared && PosixStorage.shared === PosixStorage.shared)
        #expect(SystemRandomness.shared === SystemRandomness.shared)
        #expect(SharedObject.allCases.count <= Int(FIRN_SHARED_OBJECT_COUNT))
        #expect(zeroBytes.count == 64 << 10 && zeroBytes.allSatisfy { $0 == 0 })
    }

    @Test func eachGlobalLockHasAMutexOfItsOwn() {
        #expect(GlobalLock.allCases.count <= Int(FIRN_GLOBAL_COUNT))
        let mutexes = Set(GlobalLock.allCases.map { firn_global_mutex($0.rawValue) })
        #expect(mutexes.count == GlobalLock.allCases.count)
    }

    @Test func aLockIsReleasedWhenItsProcessEnds() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let path = folder.path + "/lock"
            let held = Signal()
            let child = forked {
                guard let lock = try? PosixStorage.shared.lockFile(path),
                    (try? lock.tryLock(0, exclusive: true)) == true
                else { return 1 }
                held.send()
                pause()
                lock.close()
                return 2
            }
            held.wait()
            let lock = try PosixStorage.shared.lockFile(path)
            #expect(try !lock.tryLock(0, exclusive: true))
            kill(child, SIGKILL)
            #expect(end(of: child) == .killed)
            #expect(try lock.tryLock(0, exclusive: true))
        }
    }

    @Test func aLockIsReleasedWhenItsProcessEndsAlthoughAForkedChildLives() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let path = folder.path + "/lock"
            let held = Signal()
            let finished = Signal()
            let child = forked {
                guard let lock = try? PosixStorage.shared.lockFile(path),
                    (try? lock.tryLock(0, exclusive: true)) == true
                else { return 1 }
                _ = forked {
                    held.send()
                    finished.wait()
                    return 0
                }
                pause()
                lock.close()
                return 2
            }
            held.wait()
            let lock = try PosixStorage.shared.lockFile(path)
            #expect(try !lock.tryLock(0, exclusive: true))
            kill(child, SIGKILL)
            #expect(end(of: child) == .killed)
            #expect(try lock.tryLock(0, exclusive: true), "the grandchild keeps the dead process's lock alive")
            finished.send()
        }
    }

    @Test func aWordWakesAnotherProcess() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let path = folder.path + "/shared"
            let ready = Signal()
            let child = forked {
                guard let memory = try? PosixStorage.shared.sharedMemory(path, byteCount: 4096) else { return 1 }
                let word = SharedWord(memory.bytes.baseAddress!)
                ready.send()
                TestTimeout.awaitChange(of: word)
                SharedLongWord(memory.bytes.baseAddress! + 8).store(1 << 40)
                return withExtendedLifetime(memory) { 0 }
            }
            let memory = try PosixStorage.shared.sharedMemory(path, byteCount: 4096)
            let word = SharedWord(memory.bytes.baseAddress!)
            ready.wait()
            word.store(1)
            word.wakeAll()
            #expect(end(of: child) == .exited(0))
            #expect(SharedLongWord(memory.bytes.baseAddress! + 8).load() == 1 << 40)
            withExtendedLifetime(memory) {}
        }
    }

    @Test func filesAndLocksAreNotInheritedByOtherPrograms() async throws {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let storage = PosixStorage.shared
            let file = try storage.open(folder.path + "/file", .create)
            let lock = try storage.lockFile(folder.path + "/lock")
            // A program that inherits nothing else has the descriptors 0, 1 and 2, and that of this listing.
            let names = try storage.list("/dev/fd").compactMap { Int32($0) }
            var inherited = 0
            for descriptor in names where descriptor > 2 && fcntl(descriptor, F_GETFD) >= 0 {
                var status = stat()
                fstat(descriptor, &status)
                if fcntl(descriptor, F_GETFD) & FD_CLOEXEC == 0, isIn(folder.path, status) { inherited += 1 }
            }
            #expect(inherited == 0)
            file.close()
            lock.close()
        }
    }
}

/// Whether a descriptor is of a folder, or of the lock in it.
private func isIn(_ folder: String, _ descriptor: Int32) -> Bool {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return false }
    return ["", "/lock"].contains { name in
        var other = stat()
        return stat(folder + name, &other) == 0 && other.st_ino == status.st_ino && other.st_dev == status.st_dev
    }
}

private func isIn(_ folder: String, _ status: stat) -> Bool {
    ["file", "lock"].contains { name in
        var other = stat()
        return stat(folder + "/" + name, &other) == 0 && other.st_ino == status.st_ino && other.st_dev == status.st_dev
    }
}

/// A pipe through which one process sends a byte to another.
private struct Signal {
    private let ends: [Int32]

    init() {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0)
        self.ends = ends
    }

    func send() {
        var byte: UInt8 = 1
        precondition(write(ends[1], &byte, 1) == 1)
    }

    func wait() {
        var waiting = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
        while poll(&waiting, 1, Int32(TestTimeout.seconds) * 1000) < 0, errno == EINTR {}
        precondition(waiting.revents != 0, "the other process hangs")
        var byte: UInt8 = 0
        while read(ends[0], &byte, 1) < 0, errno == EINTR {}
    }
}
