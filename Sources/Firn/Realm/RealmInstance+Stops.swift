extension RealmInstance {
    @inline(never)
    func stopOnWrongThread() -> Never {
        fatalError(
            "Firn: a live realm, or an object or collection of one, was used on another thread than the one it was opened on. Open a realm there, or hand over a frozen object (freeze())."
        )
    }
}
