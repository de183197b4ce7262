#if Combine
    #if canImport(Combine)
        public import Combine
    #else
        public import OpenCombine
        import OpenCombineDispatch
    #endif
    public import Dispatch
    public import Firn

    extension Publisher where Output: ThreadConfined {
        /// Freezes the published values, so that any thread can use them.
        public func freeze() -> Publishers.Map<Self, Output> { map { $0.freeze() } }

        /// Prepares the published values for another queue: `threadSafeReference().receive(on: queue)`.
        public func threadSafeReference() -> RealmPublishers.ThreadSafe<Self> {
            RealmPublishers.ThreadSafe(upstream: self)
        }
    }

    extension Publisher {
        /// Freezes the object of each published change, so that any thread can use the change.
        public func freeze<T: Object>() -> Publishers.Map<Self, Output> where Output == ObjectChange<T> {
            map { change in
                switch change {
                case .change(let object, let properties): .change(object.freeze(), properties)
                case .error, .deleted: change
                }
            }
        }

        /// Freezes the collection of each published change, so that any thread can use the change.
        public func freeze<T: RealmCollection>() -> Publishers.Map<Self, Output>
        where Output == RealmCollectionChange<T> {
            map { change in
                switch change {
                case .initial(let collection): .initial(collection.freeze())
                case .update(let collection, let deletions, let insertions, let modifications):
                    .update(
                        collection.freeze(), deletions: deletions, insertions: insertions,
                        modifications: modifications)
                case .error: change
                }
            }
        }

        /// Freezes the map of each published change, so that any thread can use the change.
        public func freeze<T: RealmKeyedCollection>() -> Publishers.Map<Self, Output>
        where Output == RealmMapChange<T> {
            map { change in
                switch change {
                case .initial(let map): .initial(map.freeze())
                case .update(let map, let deletions, let insertions, let modifications):
                    .update(
                        map.freeze(), deletions: deletions, insertions: insertions, modifications: modifications)
                case .error: change
                }
            }
        }

        /// Freezes the sections of each published change, so that any thread can use the change.
        public func freeze<T: RealmSectionedResult>() -> Publishers.Map<Self, Output>
        where Output == SectionedResultsChange<T> {
            map { change in
                switch change {
                case .initial(let sections): .initial(sections.freeze())
                case .update(
                    let sections, let deletions, let insertions, let modifications, let sectionsToInsert,
                    let sectionsToDelete):
                    .update(
                        sections.freeze(), deletions: deletions, insertions: insertions, modifications: modifications,
                        sectionsToInsert: sectionsToInsert, sectionsToDelete: sectionsToDelete)
                }
            }
        }
    }

    extension RealmPublishers {
        /// A publisher that hands live values over to another queue. See `Publisher.threadSafeReference()`.
        public struct ThreadSafe<Upstream: Publisher> where Upstream.Output: ThreadConfined {
            fileprivate let upstream: Upstream

            /// Publishes the values on a serial queue, as values of the queue's own realm. A value that has been
            /// deleted meanwhile is left out. If the realm can't be opened for the queue, the value is left out, too,
            /// and an error is logged. Each value holds its version until it has been received.
            public func receive(on queue: DispatchQueue) -> AnyPublisher<Upstream.Output, Upstream.Failure> {
                upstream
                    .map { value in
                        (ThreadSafeReference(to: value), value.realm?.configuration)
                    }
                    .receive(on: queue.scheduler)
                    .compactMap { reference, configuration in
                        guard let configuration else { return nil }
                        do { return try Realm(configuration: configuration, queue: queue).resolve(reference) } catch {
                            // The publisher can only fail with its upstream's errors, so this error is logged.
                            RealmLogger.shared.log(
                                .error, "A published value was left out, because its realm can't be opened: \(error)")
                            return nil
                        }
                    }
                    .eraseToAnyPublisher()
            }
        }
    }

    extension DispatchQueue {
        #if canImport(Combine)
            fileprivate var scheduler: DispatchQueue { self }
        #else
            fileprivate var scheduler: OCombine { ocombine }
        #endif
    }
#endif
