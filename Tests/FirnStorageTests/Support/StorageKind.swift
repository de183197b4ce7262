import FirnStorage
import FirnTestSupport
import Testing

/// The three implementations of `Storage`, which must behave alike.
enum StorageKind: String, CaseIterable, CustomTestStringConvertible {
    case posix, memory, simulated

    var testDescription: String { rawValue }

    func make() -> StorageFixture {
        switch self {
        case .posix:
            let folder = TemporaryFolder()
            return StorageFixture(storage: PosixStorage.shared, root: folder.path, folder: folder)
        case .memory: return StorageFixture(storage: MemoryStorage(), root: "", folder: nil)
        case .simulated: return StorageFixture(storage: SimulatedStorage(seed: 1), root: "", folder: nil)
        }
    }
}

/// A storage and an empty folder in it.
struct StorageFixture {
    let storage: any Storage
    let root: String
    let folder: TemporaryFolder?

    func path(_ name: String) -> String { root + "/" + name }

    func open(_ name: String, _ mode: OpenMode) throws -> any StorageFile { try storage.open(path(name), mode) }
}

/// Expects `body` to throw a `StorageError` with `code`.
func expect(
    _ code: StorageError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) {
    expectError(sourceLocation: sourceLocation, body) { $0 == code }
}

/// Expects `body` to throw an `.input` error, whatever its text.
func expectInputError(sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void) {
    expectError(sourceLocation: sourceLocation, body) {
        if case .input = $0 { true } else { false }
    }
}

private func expectError(
    sourceLocation: SourceLocation, _ body: () throws -> Void, _ isExpected: (StorageError.Code) -> Bool
) {
    do {
        try body()
        Issue.record("no error", sourceLocation: sourceLocation)
    } catch let error as StorageError {
        #expect(isExpected(error.code), "\(error)", sourceLocation: sourceLocation)
        #expect(!error.operation.isEmpty && !error.description.isEmpty, sourceLocation: sourceLocation)
    } catch {
        Issue.record(error, sourceLocation: sourceLocation)
    }
}
