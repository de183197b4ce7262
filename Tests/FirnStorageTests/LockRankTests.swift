import FirnStorage
import FirnTestSupport
import Foundation
import Testing

#if DEBUG
    /// In debug builds, a wrong order of locks stops the program at once, whether or not threads contend. Each test
    /// runs in a process of its own.
    @Suite(.timeLimit(.minutes(20))) struct LockRankTests {
        @Test func locksTakenInOrderAreAllowed() {
            let (outer, inner) = (Lock(.history), Lock(.versionTable))
            outer.withLock { inner.withLock {} }
            inner.withLock {}
            outer.withLock {}
            #expect(outer.tryLock())
            outer.unlock()
            LockRank.expectNone("nothing is held")
        }

        @Test func aLockTakenUnderAnInnerOneStopsTheProgram() async {
            await #expect(processExitsWith: .failure) {
                let (outer, inner) = (Lock(.history), Lock(.versionTable))
                inner.withLock { outer.withLock {} }
            }
        }

        @Test func aLockTakenTwiceStopsTheProgram() async {
            await #expect(processExitsWith: .failure) {
                let lock = Lock(.innermost)
                lock.withLock { lock.withLock {} }
            }
        }

        @Test func twoLocksOfOneRankStopTheProgram() async {
            await #expect(processExitsWith: .failure) {
                Lock(.innermost).withLock { Lock(.innermost).withLock {} }
            }
        }

        @Test func aLockIsHeldUntilItIsReleasedAlsoAfterAWait() {
            let (lock, condition) = (Lock(.versionTable), Condition())
            lock.withLock {
                lock.assertHeld()
                _ = condition.wait(lock, until: SystemClock.shared.monotonic())
                lock.assertHeld()
            }
            #expect(lock.tryLock())
            lock.assertHeld()
            lock.unlock()
        }

        @Test func aLockThatIsNotHeldStopsTheProgram() async {
            await #expect(processExitsWith: .failure) {
                let lock = Lock(.innermost)
                lock.withLock {}
                lock.assertHeld()
            }
        }

        @Test func aLockThatAnotherThreadHoldsStopsTheProgram() async {
            await #expect(processExitsWith: .failure) {
                let lock = Lock(.innermost)
                lock.lock()
                let hasReturned = DispatchSemaphore(value: 0)
                let other = Thread {
                    lock.assertHeld()
                    hasReturned.signal()
                }
                other.start()
                hasReturned.wait()
            }
        }

        @Test func aWaitUnderALockStopsTheProgram() async {
            await #expect(processExitsWith: .failure) {
                Lock(.versionTable).withLock { sleepThread(nanoseconds: 1) }
            }
        }

        @Test func waitingForAnEventUnderALockStopsTheProgram() async {
            await #expect(processExitsWith: .failure) {
                let event = EventCount()
                let ticket = event.ticket()
                event.signal()
                Lock(.versionTable).withLock { event.wait(ticket) }
            }
        }

        @Test func aForkUnderALockStopsTheProgram() async {
            await #expect(processExitsWith: .failure) {
                Lock(.versionTable).withLock { _ = end(of: forked { 0 }) }
            }
        }

        @Test func aSystemCallUnderALockStopsTheProgram() async {
            await #expect(processExitsWith: .failure) {
                Lock(.versionTable).withLock { _ = try? PosixStorage.shared.open("/nowhere", .read) }
            }
        }
    }
#endif
