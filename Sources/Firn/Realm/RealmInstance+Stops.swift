extension RealmInstance {
    @inline(never)
    func stopInForkedChild() -> Never {
        fatalError(
            "Firn: a realm, or an object or collection of one, was used in a process that was forked off the one that opened it. Open a realm there, or let the child run another program at once (exec)."
        )
    }

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
