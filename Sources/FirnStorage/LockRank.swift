import CFirn

/// The order in which Firn takes its locks. A thread that holds a lock takes only locks of a higher rank, so threads never
/// wait for each other in a circle. Debug builds check it at every call; release builds contain nothing of it.
///
/// Firn has two kinds of locks:
///
/// - **Turns** are held over waits and system calls, some of them from one call of the API to the next. A thread that
///   has one takes only turns of the same store that stand further down:
///   1. the opening of a store (`SharedStore.Opening`);
///   2. the compactor's turn in the process (`Compactor`), then among processes (the compactor's byte of `StoreLocks`);
///   3. the right to write among processes (`WriterLock`), then in the process (`WriteQueue`). The latter belongs to a
///      write transaction, not to a thread;
///   4. the filling or sealing of the last segment (`LogTail`), and the lead of a group of commits (`GroupCommit`).
///
///   User code may run in turn 3 (write blocks, migrations), and in none of the others.
/// - **Locks** (`Lock`, `Guarded`, `GlobalLock`) guard a few fields for a few instructions. No thread waits, takes a
///   turn, forks or calls user code while it holds one, and none makes a system call that may block (`expectNone`).
///   Most are innermost: no lock is taken under them. What a lock guards and the application's closures may hold is
///   taken out under the lock and released outside of it, since a `deinit` is user code, too.
///
/// Some system calls are made under locks all the same. None of them waits for another thread or process:
/// - `CheckpointMapping` reads pieces of 64 KiB under `.space` where files are not mapped (`readsByMapping` false, or a storage
///   that can't map). A node is read, checked and marked in one step; whoever touches another untouched node of the
///   same space waits for the disk meanwhile. `verify` reads a whole file so, before anybody else has the store.
/// - `PosixLock` asks for, tests, gives back and closes its file under `guardian`, so that the descriptor's number is
///   not given away meanwhile. The requests never wait.
/// - `Compactor` starts its thread under its lock, so that `stop` misses none.
/// - Waking those who wait for a condition or a word, and allocating memory, may enter the system anywhere.
///
/// Below all of these are two mutexes of CFirn (the list of lock files, under which such files are opened and closed,
/// and the list of realm cores) and the locks of disks in memory.
package enum LockRank: UInt8, CaseIterable {
    /// Outside of the order, and not checked: the locks of tests and tools.
    case unranked
    /// `SharedStore`: which instances there are. A new frozen one pins its version.
    case storeInstances
    /// `History`: the past stores. Each has versions of its own.
    case history
    /// `VersionTable`: which versions there are, and who holds them.
    case versionTable
    /// `CheckpointMapping`: the files of a checkpoint, and what was validated in them.
    case mapping
    /// `SpillHeap`: since when it can't write to its files, and why.
    case spillHeap
    /// All others.
    case innermost
}

#if DEBUG
    extension LockRank {
        /// Called before the lock is taken, so that the report comes in place of a deadlock.
        func willLock() {
            guard self != .unranked else { return }
            let held = firn_lock_ranks()
            if held >> UInt64(rawValue) != 0 {
                fatalError(
                    "Firn: a lock of rank \(self) is taken under \(Self.names(held)). The order is that of LockRank.")
            }
            firn_lock_ranks_set(held | bit)
        }

        func willUnlock() { firn_lock_ranks_set(firn_lock_ranks() & ~bit) }

        private var bit: UInt64 { self == .unranked ? 0 : 1 << UInt64(rawValue) }

        private static func names(_ held: UInt64) -> String {
            allCases.filter { held & $0.bit != 0 }.map { "\($0)" }.joined(separator: ", ")
        }

        /// A thread waits under its lock of rank `own`; no wait of a test is looked at.
        static func willWait(under own: LockRank) {
            if own != .unranked { expectNone(but: own, "a thread waits") }
        }

        fileprivate static func expectNone(but own: LockRank, _ what: StaticString) {
            let held = firn_lock_ranks() & ~own.bit
            if held != 0 { fatalError("Firn: \(what) under the lock \(names(held)). No lock may be held there.") }
        }
    }
#endif

extension LockRank {
    /// Stops debug builds where the calling thread holds a lock. Call it before a turn is taken or waited for, before the
    /// application is called, and before a system call that may block.
    @inline(__always) package static func expectNone(_ what: StaticString) {
        #if DEBUG
            expectNone(but: .unranked, what)
        #endif
    }
}
