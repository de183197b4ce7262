#if Metrics
    import Firn
    import FirnCore
    public import Metrics

    /// Passes measurements of stores to swift-metrics. The module contains this type if the package's trait `Metrics`
    /// is on:
    ///
    /// ```swift
    /// .package(url: "…/firn", from: "1.0.0", traits: ["Metrics"])
    /// ```
    ///
    /// Each metric has the dimension `store`, the path of the store:
    ///
    /// | name | kind | meaning |
    /// | --- | --- | --- |
    /// | `firn.commit` | timer | from the beginning of a commit until it is durable and published |
    /// | `firn.compaction` | timer | how long writing a checkpoint took; its count is the number of compactions |
    /// | `firn.compaction.bytes` | counter | bytes that checkpoints wrote |
    /// | `firn.versions.active` | gauge | the versions that are held, and the newest one |
    /// | `firn.versions.retained_bytes` | gauge | memory that held versions retain beyond what the newest one needs |
    /// | `firn.stored_bytes` | gauge | the bytes of the log and of the checkpoint |
    ///
    /// The gauges are set after a commit, at most once in ten seconds. The metrics cost each commit one more read of
    /// the clock, and the work of the metrics system.
    public enum StoreMetrics {
        /// Measures all stores that this process opens from now on. Call it once, after `MetricsSystem.bootstrap`.
        ///
        /// - Parameters:
        ///   - prefix: the beginning of the metrics' names.
        ///   - factory: makes the metrics; by default the factory that was given to `MetricsSystem.bootstrap`.
        public static func start(prefix: String = "firn", factory: any MetricsFactory = MetricsSystem.factory) {
            StoreMonitor.makeMeter.withLock { $0 = { Meter(prefix: prefix, store: $0, factory: factory) } }
        }
    }

    /// The metrics of one store. They are made once, because a metrics system may look up each metric by its name.
    private struct Meter: StoreMeter {
        private let commit, compaction: Timer
        private let compactionBytes: Counter
        private let activeVersions, retainedBytes, storedBytes: Gauge

        init(prefix: String, store: String, factory: any MetricsFactory) {
            let dimensions = [("store", store)]
            commit = Timer(label: prefix + ".commit", dimensions: dimensions, factory: factory)
            compaction = Timer(label: prefix + ".compaction", dimensions: dimensions, factory: factory)
            compactionBytes = Counter(label: prefix + ".compaction.bytes", dimensions: dimensions, factory: factory)
            func gauge(_ name: String) -> Gauge {
                Gauge(label: "\(prefix).\(name)", dimensions: dimensions, factory: factory)
            }
            activeVersions = gauge("versions.active")
            retainedBytes = gauge("versions.retained_bytes")
            storedBytes = gauge("stored_bytes")
        }

        func committed(nanoseconds: Int64) { commit.recordNanoseconds(nanoseconds) }

        func measured(activeVersions: Int, retainedByteCount: Int, storedByteCount: Int) {
            self.activeVersions.record(activeVersions)
            retainedBytes.record(retainedByteCount)
            storedBytes.record(storedByteCount)
        }

        func compacted(_ report: CompactionReport, nanoseconds: Int64) {
            compaction.recordNanoseconds(nanoseconds)
            compactionBytes.increment(by: report.byteCount)
        }
    }
#endif
