import FirnStorage

extension _RealmInstance {
    /// Stops the program: a realm was used in a forked child.
    @inline(never)
    func stopInForkedChild() -> Never {
        fatalError(
            "Firn: a realm, or an object or collection of one, was used in a process that was forked off the one that opened it. Open a realm there, or let the child run another program at once (exec)."
        )
    }

    /// Stops the program if the instance shows the objects of a migration.
    @inline(__always)
    func stopIfMigrating(_ what: String) {
        if migration != nil { stopInMigration(what) }
    }

    @inline(never)
    private func stopInMigration(_ what: String) -> Never {
        stopProgram(
            "can't \(what): it belongs to a migration, which begins and ends its own transaction. Do it in the realm that the opening returns."
        )
    }

    /// Stops the program: a realm was used on the wrong thread, or after its thread had ended.
    @inline(never)
    func stopOnWrongThread() -> Never {
        if migration != nil {
            stopProgram(
                "a new object of a migration was used after its migration had ended, after renameProperty, or on another thread than the migration block's. Read it in the block, or open the realm."
            )
        }
        if hasEnded.load(ordering: .acquiring) {
            stopProgram(
                "a live realm, or an object or collection of one, was used after the thread that it was opened on had ended. Open a realm on the thread that uses it, or hand over a frozen object (freeze())."
            )
        }
        let place = "It was opened on \(scheduler?.text ?? "no thread") and used on \(Scheduler.current.text)."
        stopProgram(
            "a live realm, or an object or collection of one, was used on another thread than the one it was opened on. Open a realm there, or hand over a frozen object (freeze()). \(place)"
        )
    }
}
