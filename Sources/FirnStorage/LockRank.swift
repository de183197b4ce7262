import CFirn

/// The order in which Firn takes its locks.
///
/// A thread that holds a lock takes only locks of a higher rank, so threads never wait for each other in a cycle. Debug
/// builds check this at every call; release builds contain no such check.
///
/// Firn has two kinds of locks:
///
/// - **Rights** are held during waits and system calls, and some of them from one API call to the next. A thread that
///   holds a right takes only rights of the same store that are further down in this list:
///   1. the opening of a store (`SharedStore.Opening`);
///   2. the right to compact, in the process (`CompactorThread`), then among processes (the compactor's byte of
///      `StoreLocks`);
///   3. the right to write among processes (`WriterLock`), then in the process (`WriteQueue`). The latter belongs to a
///      write transaction, not to a thread;
///   4. filling or sealing the last segment (`LogTail`), and leading a group commit (`GroupCommit`).
///
///   User code may run with right 3 (write blocks, migrations) and during an opening, which is right 1 (the migration
///   block and `onDamage`). It runs with no other right.
/// - **Locks** (`Lock`, `Guarded`, `GlobalLock`) guard a few fields for a few instructions. While a thread holds one,
///   it does not wait, take a right, fork, call user code, or make a system call that may block (`expectNone`). Most of
///   them are innermost: no lock is taken while one is held. A guarded value may hold closures of the application,
///   whose `deinit` is user code too. So it is moved out under the lock and released after it.
///
/// Some system calls are made under locks nevertheless. None of them waits for another thread or process:
/// - `CheckpointMapping` reads pieces of 64 KiB under `.mapping` if files are not mapped (`readsByMapping` is false, or
///   the storage can't map). Of encrypted files it reads blocks of 16 KiB. It reads, checks and marks a node in one
///   step. Meanwhile, a thread that validates another node of the same mapping waits for the disk. `verify` reads a
///   whole file in this way, before any other code uses the store. What is decrypted again is read without the lock.
/// - `PosixLock` locks, tests and unlocks bytes and closes its file under `descriptorLock`, so that the descriptor's
///   number is not reused meanwhile. These calls never wait.
/// - `Compactor` and `LogMaintenanceThread` start their threads under their locks, so that `stop` misses no thread.
/// - `OwnRunLoop` adds its timer to the run loop under its lock, so that the end of the thread misses no timer.
/// - Waking the waiters of a condition or a word, and allocating memory, may enter the system anywhere.
///
/// The locks of disks in memory and two mutexes of CFirn come after all of these. One mutex guards the list of lock
/// files, and such files are opened and closed under it. The other one guards the list of realm cores.
package enum LockRank: UInt8, CaseIterable {
    /// Outside of the order, and not checked: the locks of tests and tools.
    case unranked
    /// `SharedStore`: the list of instances. Making a frozen instance under this lock pins a version.
    case storeInstances
    /// `History`: the past stores. Each of them has versions of its own.
    case history
    /// `VersionTable`: the list of versions, and who holds them.
    case versionTable
    /// `CheckpointMapping`: the files of a checkpoint, and which of their nodes are validated.
    case mapping
    /// `SpillHeap`: since when it can't write to its files, and why.
    case spillHeap
    /// All other locks.
    case innermost
}

#if DEBUG
    extension LockRank {
        /// Called before the lock is taken, so that a violation is reported instead of causing a deadlock.
        func willLock() {
            guard self != .unranked else { return }
            let held = firn_lock_ranks()
            if held >> UInt64(rawValue) != 0 {
                fatalError(
                    "Firn: a lock of rank \(self) is taken while \(Self.names(held)) is held. See LockRank for the order."
                )
            }
            firn_lock_ranks_set(held | bit)
        }

        func willUnlock() { firn_lock_ranks_set(firn_lock_ranks() & ~bit) }

        private var bit: UInt64 { self == .unranked ? 0 : 1 << UInt64(rawValue) }

        private static func names(_ held: UInt64) -> String {
            allCases.filter { held & $0.bit != 0 }.map { "\($0)" }.joined(separator: ", ")
        }

        /// Called before a thread waits and so releases its lock of rank `own`. Waits of tests (`unranked`) are not
        /// checked.
        static func willWait(under own: LockRank) {
            if own != .unranked { expectNone(but: own, "a thread waits") }
        }

        fileprivate static func expectNone(but own: LockRank, _ what: StaticString) {
            let held = firn_lock_ranks() & ~own.bit
            if held != 0 {
                fatalError("Firn: \(what) while the lock \(names(held)) is held. No lock may be held then.")
            }
        }
    }
#endif

extension LockRank {
    /// Stops a debug build if the calling thread holds a lock. Call it before taking a right or waiting for one,
    /// before calling the application, and before a system call that may block.
    @inline(__always) package static func expectNone(_ what: StaticString) {
        #if DEBUG
            expectNone(but: .unranked, what)
        #endif
    }
}
