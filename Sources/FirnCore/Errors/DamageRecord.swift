import CFirn

/// Damage that is met deep inside an operation that throws.
///
/// Trees are read and changed by code that can't throw: a throw at each step would cost every reader, for something
/// that hardly ever happens. So each operation that throws (for example opening, replay, following, a write
/// transaction, a compaction, a copy, `Store.verify`) enters a **record** on its thread. When a node can't be read,
/// that is noted in the record. The reader gets a **stand-in**, a node of the same kind and shape whose rows are blank
/// (`StandIns`), and the work continues with it. The code that entered the record looks at it before anything becomes
/// visible. If damage was noted, it drops what was done, and throws. A getter enters no record: there the program stops
/// after `StoreOptions.onDamage`.
///
/// **Nothing that comes from a stand-in outlives the work, or leaves it**. Once damage is noted in a record, what the
/// thread decodes is not cached (`ScratchNode`). From then on, a transaction shows its state to nobody but itself
/// (`WriteTransaction.snapshot`).
struct DamageRecord {
    typealias Pointer = UnsafeMutablePointer<DamageRecord>

    /// The first damage that the work has met; nil if it has met none so far.
    private(set) var met: Met?
    /// The core of the realm whose transaction does the work. Once damage is met, the realm's accessors can no longer
    /// trust what they remember of the transaction's nodes.
    var core: UnsafeMutablePointer<firn_realm_core_t>?

    final class Met {
        let text: String
        /// Where the damage is; nil if the store contradicts itself although its checksums are right.
        let damage: StoreDamage?

        init(_ text: String, _ damage: StoreDamage?) {
            self.text = text
            self.damage = damage
        }

        var error: StoreError { StoreError(.damage, text) }
    }

    /// Whether damage was met.
    @inline(__always)
    var isSet: Bool { met != nil }

    private mutating func set(_ met: Met) {
        self.met = met
        guard let core else { return }
        core.pointee.generation &+= 1
        DamageRecord.hide(core)
    }

    /// Throws the damage that was met so far, if any.
    func check() throws(StoreError) {
        if let met { throw met.error }
    }

    /// Hides the transaction's nodes from accessors. From then on they find no row without calling the transaction.
    static func hide(_ core: UnsafeMutablePointer<firn_realm_core_t>) {
        core.pointee.root = 0
        core.pointee.stamp = FIRN_STAMP_READ_ONLY
    }
}

// MARK: The thread's record

extension DamageRecord {
    /// The calling thread's record.
    static var current: Pointer? { firn_damage_record()?.assumingMemoryBound(to: DamageRecord.self) }

    /// Whether the thread's work has met damage.
    static var isSet: Bool { current?.pointee.isSet ?? false }

    /// The damage that the thread's work has met; nil if it has met none.
    static var met: Met? { current?.pointee.met }

    /// Notes damage in the thread's record, unless the record already holds some. Returns false if the thread has no
    /// record.
    static func note(_ damage: StoreDamage) -> Bool {
        note { Met(damage.description, damage) }
    }

    private static func note(_ met: () -> Met) -> Bool {
        guard let record = current else { return false }
        if !record.pointee.isSet { record.pointee.set(met()) }
        return true
    }

    /// Notes that something in the store contradicts itself although its checksums are right. Stops the program if
    /// the thread has no record.
    static func contradiction(_ text: @autoclosure () -> String) {
        let text = text()
        if !note({ Met("\(text); run `firn verify`", nil) }) { preconditionFailure("Firn: \(text)") }
    }

    /// Runs `body` with `record` as the record of this thread.
    @inline(__always)
    static func with<Result, Failure: Error>(
        _ record: Pointer, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let outer = firn_set_damage_record(record)
        defer { _ = firn_set_damage_record(outer) }
        return try body()
    }

    /// Runs `body` and throws the damage that it met, even if `body` returned a result or threw another error.
    static func throwing<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        var record = DamageRecord()
        let result = withUnsafeMutablePointer(to: &record) { pointer in
            with(pointer) { Swift.Result { () throws(StoreError) in try body() } }
        }
        try record.check()
        return try result.get()
    }

    /// Throws the damage that this thread's work has met so far, if any.
    static func check() throws(StoreError) {
        try current?.pointee.check()
    }
}
