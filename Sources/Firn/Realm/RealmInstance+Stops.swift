extension _RealmInstance {
    /// Stops the program: a realm was used in a forked child.
    @inline(never)
    func stopInForkedChild() -> Never {
        fatalError(
            "Firn: a realm, or an object or collection of one, was used in a process that was forked off the one that opened it. Open a realm there, or let the child run another program at once (exec)."
        )
    }

    /// Stops the program: a realm was used on the wrong thread, or after its thread had ended.
    @inline(never)
    func stopOnWrongThread() -> Never {
        if hasEnded.load(ordering: .acquiring) {
            fatalError(
                "Firn: a live realm, or an object or collection of one, was used after the thread that it was opened on had ended. Open a realm on the thread that uses it, or hand over a frozen object (freeze())."
            )
        }
        fatalError(
            "Firn: a live realm, or an object or collection of one, was used on another thread than the one it was opened on. Open a realm there, or hand over a frozen object (freeze())."
        )
    }
}
