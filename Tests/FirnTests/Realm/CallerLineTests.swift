import Firn
import FirnStorage
import FirnTestSupport
import Foundation
import Testing

/// The message of a stop begins with the line of the program that made the mistake, also where the function has no
/// parameter for it.
struct CallerLineTests {
    private enum Mistake: String, CaseIterable, Codable {
        case setting, adding, extended, incremented, incrementedFirst, looped, keyPath, thread, actor, mainActor, called
    }

    @Test(arguments: Mistake.allCases) private func aStopNamesTheCallersLine(_ mistake: Mistake) async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [mistake] in
            // Tests turn it off, because most have no use for the line.
            unsetenv("SWIFT_BACKTRACE")
            try await Self.make(mistake)
        }
        #if os(Linux)
            let error = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            let stop = try #require(error.split(separator: "\n").first { $0.contains("Fatal error: Firn: ") })
            // The message comes first without the line, in case the search does not end.
            let message = error.split(separator: "\n").first { $0.hasPrefix("Firn: ") }
            #expect(message.map { stop.contains($0) } ?? (mistake == .called))
            // The compiler gives the head of a loop no line, and the end of an access neither a line nor a file.
            let line = Self.lines[mistake]
            #expect((line == nil) == (mistake == .looped || mistake == .incrementedFirst))
            let nowhere = mistake == .looped ? "CallerLineTests.swift" : "incrementedFirst(_:)"
            let place = line.map { "CallerLineTests.swift:\($0)" } ?? "\(nowhere), where the code has no line."
            #expect(stop.contains(place), "\(stop)")
            if mistake == .thread {
                expectMessage(result, "opened on the main thread and used on thread")
            }
            if mistake == .actor || mistake == .mainActor {
                expectMessage(result, "a realm of the actor ", "outside of the actor")
            }
        #endif
    }

    private static let lines: [Mistake: Int] = {
        var lines: [Mistake: Int] = [:]
        let text = (try? String(contentsOfFile: #filePath, encoding: .utf8)) ?? ""
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            for mistake in Mistake.allCases where line.hasSuffix("// stops: \(mistake.rawValue)") {
                lines[mistake] = number + 1
            }
        }
        return lines
    }()

    private actor Keeper {
        nonisolated(unsafe) var realm: Realm?
        func open(_ configuration: Realm.Configuration) async throws {
            realm = try await Realm(configuration: configuration, actor: self)
            _ = realm?.objects(Dog.self).count
        }
    }

    /// An actor that runs on the main actor's executor.
    private actor MainKeeper {
        nonisolated(unsafe) var realm: Realm?
        nonisolated var unownedExecutor: UnownedSerialExecutor { MainActor.sharedUnownedExecutor }
        func open(_ configuration: Realm.Configuration) async throws {
            realm = try await Realm(configuration: configuration, actor: self)
            _ = realm?.objects(Dog.self).count
        }
    }

    private static func make(_ mistake: Mistake) async throws {
        let configuration = Realm.Configuration(inMemoryIdentifier: "line", objectTypes: [Dog.self, Person.self])
        if mistake == .actor {
            let keeper = Keeper()
            try await keeper.open(configuration)
            _ = keeper.realm?.objects(Dog.self).count  // stops: actor
        }
        if mistake == .mainActor {
            let keeper = MainKeeper()
            try await keeper.open(configuration)
            await Task.detached {
                _ = keeper.realm?.objects(Dog.self).count  // stops: mainActor
            }.value
        }
        try await MainActor.run { try makeOnMain(mistake, configuration) }
    }

    @MainActor private static func makeOnMain(_ mistake: Mistake, _ configuration: Realm.Configuration) throws {
        nonisolated(unsafe) let realm = try Realm(configuration: configuration)
        nonisolated(unsafe) let dog = try realm.write { realm.create(Dog.self, value: ["id": 1]) }
        switch mistake {
        case .setting:
            dog.name = "Rex"  // stops: setting
        case .adding:
            realm.add(Dog())  // stops: adding
        case .looped:
            nonisolated(unsafe) let dogs = realm.objects(Dog.self)
            let thread = Thread {
                for dog in dogs { print(dog) }
            }
            thread.start()
            while !thread.isFinished { usleep(1000) }
        case .keyPath:
            dog[keyPath: \.name] = "Rex"  // stops: keyPath
        case .extended: realm.addDog()
        case .incremented: incremented(dog)
        case .incrementedFirst: incrementedFirst(dog)
        case .called:
            realm.beginWrite()
            _ = dog.freeze()  // stops: called
        case .thread:
            let thread = Thread {
                let name = dog.name  // stops: thread
                print(name)
            }
            thread.start()
            while !thread.isFinished { usleep(1000) }
        case .actor, .mainActor: break
        }
        withExtendedLifetime(dog) {}
    }
}

extension Realm {
    fileprivate func addDog() {
        add(Dog())  // stops: extended
    }
}

private func incremented(_ dog: Dog) {
    // If nothing follows the access, the compiler counts its end to the end of the function.
    dog.age += 1
}  // stops: incremented

private func incrementedFirst(_ dog: Dog) {
    dog.age += 1
    print(dog)
}
