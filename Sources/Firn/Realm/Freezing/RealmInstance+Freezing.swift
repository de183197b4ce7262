import FirnCore
import FirnStorage

extension _RealmInstance {
    /// The frozen instance of the version shown. O(1).
    func freeze(_ what: String, at callSite: CallSite) -> _RealmInstance {
        check()
        if isFrozen { return self }
        if isInTransaction {
            stopProgram(
                "\(what) can't be frozen within a write transaction, whose changes are no version yet. Commit it first.",
                at: callSite)
        }
        waitForOwnCommit()
        if let frozen = shown.frozen { return frozen }
        let frozen = shared.frozen(configuration, schema: schema, pin: shownPin, at: callSite)
        shown.frozen = frozen
        return frozen
    }

    /// The calling thread's live instance of a frozen instance's store.
    func thaw(at callSite: CallSite) -> _RealmInstance {
        guard isFrozen else { return self }
        stopIfMigrating("thaw an old object")
        let live = shared.instance(configuration, schema: schema, scheduler: .current, at: callSite)
        live.startListening()
        return live
    }
}

extension Realm {
    /// The realm at the version that it shows now: it never changes, and may be read on any thread. O(1).
    ///
    /// ```swift
    /// nonisolated(unsafe) let frozen = realm.freeze()     // the compiler can't know that it is frozen
    /// DispatchQueue.global().async { print(frozen.objects(Dog.self).count) }
    /// ```
    ///
    /// A frozen realm returns itself. The version is held as long as the frozen realm, or anything read from it, is:
    /// see <doc:HoldingVersions>. Writing to it, observing it and invalidating it stop the program.
    ///
    /// Stops the program on the wrong thread, and in a write transaction, whose changes are not a version yet.
    public func freeze(file: StaticString = #fileID, line: UInt = #line) -> Realm {
        Realm(instance.freeze("a realm", at: CallSite(file, line)))
    }

    /// The realm at the version that it shows now: `freeze()` for tasks. `freeze()` waits if a commit of `asyncWrite`
    /// or `writeAsync` is on its way to the disk, and this function suspends instead. So nothing is frozen that a power
    /// cut could undo. This function does not wait for commits that other tasks make meanwhile.
    ///
    /// ```swift
    /// actor Shop {
    ///     func orders() async -> Frozen<Results<Order>> {
    ///         let frozen = await realm.asyncFreeze()
    ///         return Frozen(frozen.objects(Order.self))
    ///     }
    /// }
    /// ```
    ///
    /// If the disk fails, the frozen realm shows the newest durable version. O(1), apart from the waiting. Stops the
    /// program for the reasons of `freeze()`, and if the realm belongs neither to the main actor nor to the actor that
    /// calls this.
    public func asyncFreeze(
        isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID, line: UInt = #line
    ) async -> Realm {
        instance.check()
        if isFrozen { return self }
        instance.checkActor(isolation, "asyncFreeze()", instead: "freeze()")
        let callSite = CallSite(file, line)
        guard !instance.isInTransaction, instance.unpublished != nil else { return freeze(file: file, line: line) }
        // Another task of the actor may commit, or begin a transaction, while this one is suspended.
        let schema = instance.schema
        var shown = instance.shownPin.again(at: callSite)
        do { try await instance.published(shown.version, isolation) } catch {
            // The write that made the commit reports the error. The version that the realm showed never existed.
            shown = instance.store.pin(at: callSite)
        }
        return Realm(instance.shared.frozen(instance.configuration, schema: schema, pin: shown, at: callSite))
    }

    /// The live realm of the calling thread; a live realm returns itself.
    ///
    /// It shows what that thread's realm shows, or the newest version if the thread has not read from it. On a queue or
    /// an actor other than the main one, open the realm there instead. This function returns the realm of the thread
    /// that is running the queue or the actor at the moment. O(1). May be called on any thread for a frozen realm.
    public func thaw(file: StaticString = #fileID, line: UInt = #line) -> Realm {
        Realm(instance.thaw(at: CallSite(file, line)))
    }

    /// The object at the version that its realm shows now: the same as `object.freeze()`. O(log n). Stops the program
    /// for the same reasons.
    public func freeze<T: ObjectBase>(_ object: T, file: StaticString = #fileID, line: UInt = #line) -> T {
        object._freeze(file, line)
    }

    /// The live form of a frozen object in the calling thread's realm; nil if the object has been deleted: the same as
    /// `object.thaw()`. O(log n). Stops the program for the same reasons.
    public func thaw<T: ObjectBase>(_ object: T, file: StaticString = #fileID, line: UInt = #line) -> T? {
        object._thaw(file, line)
    }

    /// The collection at the version that its realm shows now: the same as `collection.freeze()`. O(log n) at most.
    /// Stops the program for the same reasons.
    public func freeze<C: RealmCollection>(_ collection: C, file: StaticString = #fileID, line: UInt = #line) -> C {
        collection._freeze(file, line)
    }
}
