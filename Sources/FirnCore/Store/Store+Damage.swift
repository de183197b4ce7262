extension Store {
    /// Runs `body`, which reads versions on this thread, and throws the damage that it meets. Outside of this function,
    /// such damage stops the program.
    ///
    /// Nothing that `body` has read since `checkDamage` last returned may be shown to anybody: it may come from a
    /// stand-in.
    package static func throwingDamage<Result>(_ body: () throws -> Result) throws -> Result {
        try DamageRecord.throwing { () throws(StoreError) in Swift.Result { try body() } }.get()
    }

    /// Throws the damage that a body of `throwingDamage` has met so far, if any.
    package static func checkDamage() throws(StoreError) { try DamageRecord.check() }
}
