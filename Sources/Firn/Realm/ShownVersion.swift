import FirnCore
import FirnStorage

/// The version that a realm shows. Belongs to the realm's thread, queue or actor.
struct ShownVersion {
    /// Its pin, or the pin of the running transaction's base; nil until the first read.
    private(set) var pin: Pin?
    /// The frozen realm of the version, once it was made. It holds the same version as `pin`.
    var frozen: _RealmInstance?
    /// The realm's newest asynchronous commit, as long as it may not be durable: see `RealmInstance+AsyncWriting`.
    var ahead: Pin?
    /// Whether a transaction may change values in place, because the classes fit the schema as it is.
    private(set) var writesInPlace = false
    /// The schema that the classes were last compared with.
    private var comparedSchema: ResolvedSchema?

    init(_ pin: Pin?) { self.pin = pin }

    /// Shows another version. Stops the program if the realm's classes can't show it.
    mutating func show(_ pin: Pin?, as classes: SchemaBinding) {
        if let pin { compare(pin.snapshot.resolvedSchema, with: classes) }
        self.pin = pin
        frozen = nil
    }

    /// Shows the state of a transaction, which a migration has begun with another schema than the base's. Stops the
    /// program if the realm's classes can't show it.
    mutating func show(_ transaction: WriteTransaction, as classes: SchemaBinding) {
        compare(transaction.resolvedSchema, with: classes)
        pin = transaction.base
        frozen = nil
    }

    /// Takes the pin for a transaction, whose base replaces it. The frozen realm is dropped, because it must not hold
    /// the version then.
    mutating func takeOwnPin() -> OwnPin {
        frozen = nil
        return OwnPin(&pin)
    }

    /// A pin of the newest published version. If nothing else holds the version shown, this moves its pin, and
    /// allocates nothing.
    mutating func newestPin(of store: Store, at callSite: CallSite) -> Pin {
        frozen = nil
        return store.pin(replacing: &pin, at: callSite)
    }

    /// The realm's newest commit, shown or not, if it is on its way to the disk.
    func unpublished(in store: Store) -> Pin? {
        guard let ahead, ahead.version > store.publishedVersion else { return nil }
        return ahead
    }

    /// Checks whether the realm's classes can show a version with a schema, which another opener of the store may
    /// have changed.
    @inline(__always)
    private mutating func compare(_ resolvedSchema: ResolvedSchema, with classes: SchemaBinding) {
        if resolvedSchema !== comparedSchema { compareAnew(resolvedSchema, with: classes) }
    }

    @inline(never)
    private mutating func compareAnew(_ resolvedSchema: ResolvedSchema, with classes: SchemaBinding) {
        let (fit, table) = classes.fit(resolvedSchema.schema)
        if fit == .none {
            stopProgram(
                "the store was migrated while a realm was open whose class \(table?.info.name ?? "") can't show it any more. Release all realms and objects of the store before it is opened with a higher schemaVersion."
            )
        }
        writesInPlace = fit == .inPlace
        comparedSchema = resolvedSchema
    }
}
