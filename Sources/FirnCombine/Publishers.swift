#if Combine
    #if canImport(Combine)
        public import Combine
    #else
        // Programs that use the publishers need names of Combine, such as `AnyCancellable`.
        @_exported public import OpenCombine
    #endif
    public import Firn

    // MARK: Collections

    extension RealmCollection {
        /// Publishes the collection itself: at the start, and after each write that changes it.
        public var collectionPublisher: RealmPublishers.Observation<Self, any Error> { collectionPublisher() }

        /// Publishes the collection itself: at the start, and after each write that changes it. Modifications count
        /// only at the given key paths; nil means all key paths.
        public func collectionPublisher(
            keyPaths: [String]? = nil
        ) -> RealmPublishers.Observation<Self, any Error> {
            RealmPublishers.Observation { queue, send in
                self.observe(keyPaths: keyPaths, on: queue) { if let collection = $0.collection { send(collection) } }
            }
        }

        /// Publishes the collection's changes, `.initial` first.
        public var changesetPublisher: RealmPublishers.Observation<RealmCollectionChange<Self>, Never> {
            changesetPublisher()
        }

        /// Publishes the collection's changes, `.initial` first. Modifications count only at the given key paths; nil
        /// means all key paths.
        public func changesetPublisher(
            keyPaths: [String]? = nil
        ) -> RealmPublishers.Observation<RealmCollectionChange<Self>, Never> {
            RealmPublishers.Observation { queue, send in self.observe(keyPaths: keyPaths, on: queue) { send($0) } }
        }

        /// Publishes after each write that changes the collection, when the realm shows the change.
        public var objectWillChange: RealmPublishers.Observation<Void, Never> {
            RealmPublishers.Observation { queue, send in
                self.observe(on: queue) { if case .update = $0 { send(()) } }
            }
        }
    }

    extension RealmKeyedCollection {
        /// Publishes the map itself: at the start, and after each write that changes it.
        public var collectionPublisher: RealmPublishers.Observation<Self, any Error> { collectionPublisher() }

        /// Publishes the map itself: at the start, and after each write that changes it. Modifications of objects count
        /// only at the given key paths; nil means all key paths.
        public func collectionPublisher(
            keyPaths: [String]? = nil
        ) -> RealmPublishers.Observation<Self, any Error> {
            RealmPublishers.Observation { queue, send in
                self.observe(keyPaths: keyPaths, on: queue) { if let collection = $0.collection { send(collection) } }
            }
        }

        /// Publishes the map's changes, `.initial` first.
        public var changesetPublisher: RealmPublishers.Observation<RealmMapChange<Self>, Never> { changesetPublisher() }

        /// Publishes the map's changes, `.initial` first. Modifications of objects count only at the given key paths;
        /// nil means all key paths.
        public func changesetPublisher(
            keyPaths: [String]? = nil
        ) -> RealmPublishers.Observation<RealmMapChange<Self>, Never> {
            RealmPublishers.Observation { queue, send in self.observe(keyPaths: keyPaths, on: queue) { send($0) } }
        }

        /// Publishes after each write that changes the map, when the realm shows the change.
        public var objectWillChange: RealmPublishers.Observation<Void, Never> {
            RealmPublishers.Observation { queue, send in
                self.observe(on: queue) { if case .update = $0 { send(()) } }
            }
        }
    }

    extension SectionedResults {
        /// Publishes the sections: at the start, and after each write that changes them.
        public var collectionPublisher: RealmPublishers.Observation<SectionedResults, any Error> {
            RealmPublishers.Observation { queue, send in self.observe(on: queue) { send($0.collection) } }
        }

        /// Publishes the sections' changes, `.initial` first.
        public var changesetPublisher: RealmPublishers.Observation<SectionedResultsChange<SectionedResults>, Never> {
            RealmPublishers.Observation { queue, send in self.observe(on: queue) { send($0) } }
        }
    }

    extension ResultsSection {
        /// Publishes the section: at the start, and after each write that changes it.
        public var collectionPublisher: RealmPublishers.Observation<ResultsSection, any Error> {
            RealmPublishers.Observation { queue, send in self.observe(on: queue) { send($0.collection) } }
        }

        /// Publishes the section's changes, `.initial` first.
        public var changesetPublisher: RealmPublishers.Observation<SectionedResultsChange<ResultsSection>, Never> {
            RealmPublishers.Observation { queue, send in self.observe(on: queue) { send($0) } }
        }
    }

    extension RealmCollectionChange {
        /// The collection of a change; nil for an error.
        fileprivate var collection: Collection? {
            switch self {
            case .initial(let collection), .update(let collection, _, _, _): collection
            case .error: nil
            }
        }
    }

    extension RealmMapChange {
        /// The map of a change; nil for an error.
        fileprivate var collection: Collection? {
            switch self {
            case .initial(let map), .update(let map, _, _, _): map
            case .error: nil
            }
        }
    }

    extension SectionedResultsChange {
        /// The sections, or the section, of a change.
        fileprivate var collection: Collection {
            switch self {
            case .initial(let sections), .update(let sections, _, _, _, _, _): sections
            }
        }
    }

    // MARK: Objects

    /// Publishes an object after each write that changes the object, and at the start; with `subscribe(on:)`, nothing
    /// is published at the start. Ends when the object is deleted.
    ///
    /// - Parameters:
    ///   - object: a managed object.
    ///   - keyPaths: the properties whose changes are published; nil for all.
    public func valuePublisher<T: Object>(
        _ object: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.Observation<T, any Error> {
        RealmPublishers.Observation { queue, send in
            if queue == nil { send(object) }
            return object.observe(keyPaths: keyPaths, on: queue) { (change: ObjectChange<T>) in
                switch change {
                case .change(let object, _): send(object)
                case .deleted: send(nil)
                case .error: break
                }
            }
        }
    }

    /// Publishes a collection: at the start, and after each write that changes it. The same as its
    /// `collectionPublisher`.
    public func valuePublisher<T: RealmCollection>(
        _ collection: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.Observation<T, any Error> { collection.collectionPublisher(keyPaths: keyPaths) }

    /// Publishes an object's property changes. Ends when the object is deleted, after `.deleted`.
    ///
    /// - Parameters:
    ///   - object: a managed object.
    ///   - keyPaths: the properties whose changes are published; nil for all.
    public func changesetPublisher<T: Object>(
        _ object: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.Observation<ObjectChange<T>, Never> {
        RealmPublishers.Observation { queue, send in
            object.observe(keyPaths: keyPaths, on: queue) { (change: ObjectChange<T>) in
                send(change)
                if case .deleted = change { send(nil) }
            }
        }
    }

    extension Object: ObservableObject {
        /// Publishes after each write that changes the object, when the realm shows the change. An unmanaged object
        /// publishes nothing.
        public var objectWillChange: RealmPublishers.Observation<Void, Never> { willChange(self) }
    }

    extension EmbeddedObject: ObservableObject {
        /// Publishes after each write that changes the object, when the realm shows the change. An unmanaged object
        /// publishes nothing.
        public var objectWillChange: RealmPublishers.Observation<Void, Never> { willChange(self) }
    }

    private func willChange(_ object: ObjectBase) -> RealmPublishers.Observation<Void, Never> {
        RealmPublishers.Observation { queue, send in
            guard object.realm != nil else { return nil }
            return object.observe(on: queue) { (change: ObjectChange<ObjectBase>) in
                send(())
                if case .deleted = change { send(nil) }
            }
        }
    }

    extension Projection: ObservableObject {
        /// Publishes after each write that changes a projected property, when the realm shows the change. A projection
        /// of an unmanaged object publishes nothing.
        public var objectWillChange: RealmPublishers.Observation<Void, Never> {
            RealmPublishers.Observation { queue, send in
                guard self.realm != nil else { return nil }
                return self.observe(on: queue) { change in
                    send(())
                    if case .deleted = change { send(nil) }
                }
            }
        }
    }

    extension Realm {
        /// Publishes after each write by anybody, when the realm shows it.
        public var objectWillChange: RealmPublishers.Observation<Void, Never> {
            RealmPublishers.Observation { _, send in
                self.observe { notification, _ in if notification == .didChange { send(()) } }
            }
        }
    }
#endif
