#if Combine
    #if canImport(Combine)
        public import Combine
    #else
        public import OpenCombine
    #endif
    public import Dispatch
    public import Firn
    import FirnStorage

    /// The publishers of objects, collections, maps, sections, projections and realms.
    ///
    /// The module contains them if the package's trait `Combine` is on. They are Combine's on Apple's platforms, and
    /// OpenCombine's on others:
    ///
    /// ```swift
    /// .package(url: "…/firn", from: "1.0.0", traits: ["Combine"])
    /// ```
    public enum RealmPublishers {
        /// Publishes the calls of an observer. A subscription is an observer: it has the same cost, and is called at
        /// the same time on the same thread. It stops the program for the same reasons as `observe`.
        ///
        /// ```swift
        /// realm.objects(Dog.self).changesetPublisher
        ///     .sink { change in … }
        ///     .store(in: &subscriptions)
        /// ```
        ///
        /// Values are kept until the subscriber demands them, so a subscriber with a limited demand receives every
        /// change. A live value that is delivered late shows the present data. To hand changes over to another thread,
        /// freeze them first (`freeze()`), or hand over references (`threadSafeReference()`). Or observe on the other
        /// queue from the start (`subscribe(on:)`).
        public struct Observation<Output, Failure: Error>: Publisher {
            private let observe: (DispatchQueue?, @escaping (Output?) -> Void) -> NotificationToken?
            private var queue: DispatchQueue?
            private var save: (NotificationToken) -> Void = { _ in }

            /// - Parameter observe: begins to observe on a queue; nil means the realm's own thread, queue or actor. It
            ///   calls the block with each value to be published, and with nil at the end. It returns nil if there is
            ///   nothing to observe.
            init(
                _ observe: @escaping (DispatchQueue?, @escaping (Output?) -> Void) -> NotificationToken?
            ) { self.observe = observe }

            /// Observes on a serial queue, to which the published values then belong.
            public func subscribe(on queue: DispatchQueue) -> Self {
                var copy = self
                copy.queue = queue
                return copy
            }

            /// Stores the observer's token in a property when a subscription begins, for
            /// `Realm.write(withoutNotifying:)`. Ending the token ends the subscription.
            public func saveToken<Owner: AnyObject>(
                on owner: Owner, at keyPath: ReferenceWritableKeyPath<Owner, NotificationToken?>
            ) -> Self {
                var copy = self
                copy.save = { [weak owner] token in owner?[keyPath: keyPath] = token }
                return copy
            }

            /// Begins to observe, for one subscriber.
            public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
                let subscription = ObserverSubscription(subscriber)
                subscriber.receive(subscription: subscription)
                subscription.start { receive in
                    let token = observe(queue, receive)
                    if let token { save(token) }
                    return token
                }
            }
        }

        /// Opens a realm without blocking the caller: `Realm.asyncOpen(configuration:callbackQueue:callback:)` as a
        /// publisher. It publishes the realm, or fails with the error.
        public struct AsyncOpen: Publisher {
            /// A realm of the queue.
            public typealias Output = Realm
            /// The error that opening throws.
            public typealias Failure = any Error

            let configuration: Realm.Configuration
            var queue = DispatchQueue.main

            /// Opens the realm for a serial queue, instead of the main one, and publishes it there.
            public func receive(on queue: DispatchQueue) -> Self {
                var copy = self
                copy.queue = queue
                return copy
            }

            /// Begins to open, for one subscriber.
            public func receive<S: Subscriber>(subscriber: S) where S.Input == Realm, S.Failure == any Error {
                let subscription = ObserverSubscription(subscriber)
                subscriber.receive(subscription: subscription)
                let task = Realm.asyncOpen(configuration: configuration, callbackQueue: queue) { result in
                    switch result {
                    case .success(let realm):
                        subscription.send(realm)
                        subscription.finish(.finished)
                    case .failure(let error): subscription.finish(.failure(error))
                    }
                }
                subscription.whenCancelled { task.cancel() }
            }
        }
    }

    extension Realm {
        /// Opens a realm without blocking the caller. Publishes the realm on the main queue, or on another queue
        /// (`receive(on:)`).
        public static func asyncOpen(
            configuration: Configuration = .defaultConfiguration
        ) -> RealmPublishers.AsyncOpen { RealmPublishers.AsyncOpen(configuration: configuration) }
    }

    /// A subscriber, its demand, and the values that wait for more demand.
    ///
    /// No lock is held while the subscriber is called. It is called by the observer's thread and by threads that add
    /// demand, by one at a time.
    final class ObserverSubscription<S: Subscriber>: Subscription {
        private struct State {
            /// Nil after the end.
            var subscriber: S?
            var demand = Subscribers.Demand.none
            var waiting: [S.Input] = []
            var completion: Subscribers.Completion<S.Failure>?
            /// Whether a thread is calling the subscriber; that thread also delivers the values that arrive meanwhile.
            var isDelivering = false
            var cancel: [() -> Void] = []
        }
        // The lock is held only for a few instructions.
        private let state: Guarded<State>

        init(_ subscriber: S) { state = Guarded(.innermost, State(subscriber: subscriber)) }

        /// Begins to observe, unless the subscriber has cancelled already.
        func start(_ observe: (@escaping (S.Input?) -> Void) -> NotificationToken?) {
            guard state.withLock({ $0.subscriber != nil }) else { return }
            // The observer retains the subscription, and the subscription retains the token. Cancelling breaks the
            // cycle.
            let token = observe { value in
                if let value { self.send(value) } else { self.finish(.finished) }
            }
            whenCancelled { token?.invalidate() }
        }

        /// Runs a block when the subscription ends, or now if it has ended.
        func whenCancelled(_ body: @escaping () -> Void) {
            let hasEnded = state.withLock { state in
                guard state.subscriber != nil else { return true }
                state.cancel.append(body)
                return false
            }
            if hasEnded { body() }
        }

        func send(_ value: S.Input) {
            state.withLock { if $0.subscriber != nil { $0.waiting.append(value) } }
            deliver()
        }

        func finish(_ completion: Subscribers.Completion<S.Failure>) {
            state.withLock { $0.completion = $0.completion ?? completion }
            deliver()
        }

        func request(_ demand: Subscribers.Demand) {
            state.withLock { $0.demand += demand }
            deliver()
        }

        func cancel() { end() }

        private func end() {
            // The content of the old state is released without the lock.
            let old = state.exchange(State())
            for cancel in old.cancel { cancel() }
        }

        private enum Step {
            case value(S, S.Input)
            case end(S, Subscribers.Completion<S.Failure>)
        }

        private func deliver() {
            let isFree = state.withLock { state in
                defer { state.isDelivering = true }
                return !state.isDelivering
            }
            guard isFree else { return }
            while let step = next() {
                switch step {
                case .value(let subscriber, let value):
                    let more = subscriber.receive(value)
                    state.withLock { $0.demand += more }
                case .end(let subscriber, let completion):
                    end()
                    subscriber.receive(completion: completion)
                }
            }
        }

        private func next() -> Step? {
            state.withLock { state in
                if let subscriber = state.subscriber {
                    if !state.waiting.isEmpty, state.demand > 0 {
                        state.demand -= 1
                        return .value(subscriber, state.waiting.removeFirst())
                    }
                    if state.waiting.isEmpty, let completion = state.completion { return .end(subscriber, completion) }
                }
                state.isDelivering = false
                return nil
            }
        }
    }
#endif
