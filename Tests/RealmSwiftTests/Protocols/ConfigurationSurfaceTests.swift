import RealmSwift
import Testing

// RealmSwift's signatures of configurations, errors and policies, as requirements. The compiler checks them.

private protocol ConfigurationSurface: Equatable, Sendable, CustomStringConvertible {
    init(
        fileURL: URL?, inMemoryIdentifier: String?, encryptionKey: Data?, readOnly: Bool, schemaVersion: UInt64,
        migrationBlock: MigrationBlock?, deleteRealmIfMigrationNeeded: Bool,
        shouldCompactOnLaunch: (@Sendable (Int, Int) -> Bool)?, objectTypes: [ObjectBase.Type]?, seedFilePath: URL?)
    static var defaultConfiguration: Realm.Configuration { get set }
    var fileURL: URL? { get set }
    var inMemoryIdentifier: String? { get set }
    var encryptionKey: Data? { get set }
    var readOnly: Bool { get set }
    var schemaVersion: UInt64 { get set }
    var migrationBlock: MigrationBlock? { get set }
    var deleteRealmIfMigrationNeeded: Bool { get set }
    var shouldCompactOnLaunch: (@Sendable (Int, Int) -> Bool)? { get set }
    var objectTypes: [ObjectBase.Type]? { get set }
    var maximumNumberOfActiveVersions: UInt? { get set }
    var seedFilePath: URL? { get set }
    var description: String { get }
    static func == (lhs: Self, rhs: Self) -> Bool
}
extension Realm.Configuration: ConfigurationSurface {}

private protocol ErrorSurface: Swift.Error, CustomNSError {
    var fileURL: URL? { get }
}
extension Realm.Error: ErrorSurface {}

private protocol NotificationSurface: RawRepresentable, Sendable {
    var rawValue: String { get }
    init?(rawValue: String)
    static var didChange: Self { get }
    static var refreshRequired: Self { get }
}
extension Realm.Notification: NotificationSurface {}

private protocol OpenBehaviorSurface: Sendable {
    static var never: Self { get }
    static var once: Self { get }
    static var always: Self { get }
}
extension Realm.OpenBehavior: OpenBehaviorSurface {}

private protocol UpdatePolicySurface: RawRepresentable, Sendable {
    var rawValue: Int { get }
    static var error: Self { get }
    static var modified: Self { get }
    static var all: Self { get }
}
extension Realm.UpdatePolicy: UpdatePolicySurface {}

@Suite(.timeLimit(.minutes(20))) struct ConfigurationSurfaceTests {
    @Test func aConfigurationIsMadeAndChangedThroughItsRequirements() {
        func made<C: ConfigurationSurface>(_: C.Type) -> C {
            let block: MigrationBlock = { _, _ in }
            return C(
                fileURL: nil, inMemoryIdentifier: "peaks", encryptionKey: Data([1]), readOnly: false, schemaVersion: 3,
                migrationBlock: block, deleteRealmIfMigrationNeeded: true, shouldCompactOnLaunch: { $0 > $1 },
                objectTypes: [Peak.self, Spot.self], seedFilePath: URL(fileURLWithPath: "/tmp/seed.firn"))
        }
        func facts<C: ConfigurationSurface>(_ made: C) -> [String] {
            [
                "\(made.fileURL?.path ?? "none")", made.inMemoryIdentifier ?? "none",
                "\(made.encryptionKey?.count ?? 0)", "\(made.readOnly)", "\(made.schemaVersion)",
                "\(made.migrationBlock != nil)", "\(made.deleteRealmIfMigrationNeeded)",
                "\(made.shouldCompactOnLaunch?(2, 1) ?? false)", "\(made.objectTypes?.count ?? 0)",
                "\(made.maximumNumberOfActiveVersions ?? 0)", made.seedFilePath?.lastPathComponent ?? "none",
                "\(made.description.isEmpty)", "\(made == made)",
            ]
        }
        let first = made(Realm.Configuration.self)
        let start = ["none", "peaks", "1", "false", "3", "true", "true", "true", "2", "0", "seed.firn"]
        #expect(facts(first) == start + ["false", "true"])
        func changed<C: ConfigurationSurface>(_ made: C) -> C {
            var made = made
            made.inMemoryIdentifier = nil
            made.fileURL = URL(fileURLWithPath: "/tmp/peaks.firn")
            made.encryptionKey = nil
            made.deleteRealmIfMigrationNeeded = false
            made.readOnly = true
            made.schemaVersion += 1
            made.migrationBlock = nil
            made.shouldCompactOnLaunch = nil
            made.objectTypes = nil
            made.maximumNumberOfActiveVersions = 8
            made.seedFilePath = nil
            return made
        }
        let end = ["/tmp/peaks.firn", "none", "0", "true", "4", "false", "false", "false", "0", "8", "none"]
        #expect(facts(changed(first)) == end + ["false", "true"] && changed(first) != first)
    }

    @Test func theDefaultConfigurationIsReadThroughItsRequirement() {
        func url<C: ConfigurationSurface>(_: C.Type) -> URL? { C.defaultConfiguration.fileURL }
        #expect(url(Realm.Configuration.self) == Realm.Configuration.defaultConfiguration.fileURL)
    }

    @Test func anErrorIsReadThroughItsRequirementAndCaughtByItsName() throws {
        func url<E: ErrorSurface>(_ error: E) -> URL? { error.fileURL }
        let missing = URL(fileURLWithPath: "/tmp/there-are-no-peaks.firn")
        let configuration = Realm.Configuration(fileURL: missing, readOnly: true, objectTypes: [Peak.self, Spot.self])
        do {
            _ = try Realm(configuration: configuration, queue: nil)
            Issue.record("a realm was opened that does not exist")
        } catch Realm.Error.fileNotFound {
            let error = #expect(throws: Realm.Error.self) { try Realm(configuration: configuration, queue: nil) }
            #expect(error.flatMap(url)?.lastPathComponent == missing.lastPathComponent)
            #expect(error == Realm.Error(.fileNotFound) && error != Realm.Error(.fail))
        }
    }

    @Test func twoErrorsAreEqualIfTheirCasesAre() {
        enum Weather: Error { case storm(Int), snow }
        let errors: [any Error] = [
            Weather.storm(1), Weather.snow, Realm.Error(.fail), CocoaError(.fileNoSuchFile), CancellationError(),
        ]
        for (index, error) in errors.enumerated() {
            #expect(errors.map { $0 == error } == errors.indices.map { $0 == index })
        }
        #expect(Weather.storm(1) as any Error == Weather.storm(2) as any Error)
    }

    @Test func policiesAndNotificationsHaveRealmSwiftsCases() {
        func names<N: NotificationSurface>(_: N.Type) -> [String] {
            [N.didChange.rawValue, N.refreshRequired.rawValue, N(rawValue: "RLMRealmDidChangeNotification")!.rawValue]
        }
        let did = "RLMRealmDidChangeNotification"
        #expect(names(Realm.Notification.self) == [did, "RLMRealmRefreshRequiredNotification", did])
        func numbers<P: UpdatePolicySurface>(_: P.Type) -> [Int] { [P.error, P.modified, P.all].map(\.rawValue) }
        #expect(numbers(Realm.UpdatePolicy.self) == [1, 3, 2])
        func behaviours<B: OpenBehaviorSurface>(_: B.Type) -> [B] { [.never, .once, .always] }
        #expect(behaviours(Realm.OpenBehavior.self) == [.never, .once, .always])
    }

    @MainActor @Test func aRealmIsObservedByABlockOfRealmSwiftsType() throws {
        let realm = try peaks()
        var seen: [Realm.Notification] = []
        let block: NotificationBlock = { notification, _ in seen.append(notification) }
        let token = realm.observe(block)
        try realm.write { realm.deleteAll() }
        token.invalidate()
        #expect(seen == [.didChange])
    }
}
