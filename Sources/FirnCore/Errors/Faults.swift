import CFirn

/// The first damage that work has met which is to throw at its end.
struct FaultRecord {
    fileprivate var fault: Fault?
    /// Of the realm whose transaction the work is: what its accessors remember of the transaction's nodes holds no more once damage is met.
    var core: UnsafeMutablePointer<firn_realm_core_t>?

    final class Fault {
        let text: String
        /// Where it is; nil where something contradicts itself.
        let damage: StoreDamage?

        init(_ text: String, _ damage: StoreDamage?) {
            self.text = text
            self.damage = damage
        }
    }

    /// Whether damage was met.
    @inline(__always)
    var isSet: Bool { fault != nil }

    /// What was met; nil while all is well.
    var text: String? { fault?.text }
    var damage: StoreDamage? { fault?.damage }

    fileprivate mutating func set(_ fault: Fault) {
        self.fault = fault
        guard let core else { return }
        core.pointee.generation &+= 1
        FaultRecord.hide(core)
    }

    /// Lets accessors find nothing without asking the transaction.
    static func hide(_ core: UnsafeMutablePointer<firn_realm_core_t>) {
        core.pointee.root = 0
        core.pointee.stamp = .max
    }
}

/// Damage met deep inside of work that throws.
///
/// Trees are read and changed by code that can't throw: a throw at each step would cost every reader, for something that hardly ever happens. So who runs such work (opening, replay, following, a write
/// transaction, a compaction, `Store.verify`) enters a **record** on its thread. A node that can't be read is then noted there, and the reader is given a **stand-in**, an empty node of the same
/// kind and shape (`StandIns`), with which the work goes on. Whoever entered the record looks at it before anything becomes visible, drops what was done, and throws. Without a record, that is in a
/// getter, the program stops after `StoreOptions.onDamage`.
///
/// **Nothing that comes from a stand-in outlives the work, or leaves it.** Once a record is set, what the thread unpacks is kept for nobody (`ChunkEncoding`), and a transaction shows its state to nobody but itself
/// (`WriteTransaction.snapshot`).
enum Faults {
    typealias Record = UnsafeMutablePointer<FaultRecord>

    /// The calling thread's record.
    static var current: Record? { firn_fault_record()?.assumingMemoryBound(to: FaultRecord.self) }

    /// Whether the thread's work has met damage.
    static var isSet: Bool { current?.pointee.isSet ?? false }

    /// What the thread's record holds.
    static var text: String? { current?.pointee.text }

    /// Notes what was found, unless something was before. False where nobody would be told.
    static func note(_ damage: StoreDamage) -> Bool {
        note { FaultRecord.Fault(damage.description, damage) }
    }

    private static func note(_ fault: () -> FaultRecord.Fault) -> Bool {
        guard let record = current else { return false }
        if !record.pointee.isSet { record.pointee.set(fault()) }
        return true
    }

    /// Something in the store contradicts itself although its checksums are right: noted, or, where nobody would be told, a stop.
    static func contradiction(_ text: @autoclosure () -> String) {
        let text = text()
        if !note({ FaultRecord.Fault("\(text); run `firn verify`", nil) }) { preconditionFailure("Firn: \(text)") }
    }

    /// Runs `body` with a record on this thread.
    @inline(__always)
    static func with<Result, Failure: Error>(
        _ record: Record, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let outer = firn_set_fault_record(record)
        defer { _ = firn_set_fault_record(outer) }
        return try body()
    }

    /// Runs `body`, and throws the damage that it met, whatever else it threw or gave.
    static func throwing<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        var record = FaultRecord()
        let result = withUnsafeMutablePointer(to: &record) { pointer in
            with(pointer) { Swift.Result { () throws(StoreError) in try body() } }
        }
        if let text = record.text { throw StoreError(.damage, text) }
        return try result.get()
    }

    /// Throws what this thread's work has met so far.
    static func check() throws(StoreError) {
        if let text { throw StoreError(.damage, text) }
    }
}
