import Dispatch
import FirnTestSupport
import Foundation
import Testing

@testable import Firn

@Suite(.timeLimit(.minutes(20))) struct SchedulerTests {
    /// A queue is given its mark once. Giving it again would free what the queue reads at that moment to find out
    /// whether a realm belongs to it.
    @Test func aQueueMayBeGivenAgainWhileItIsUsed() {
        let queue = DispatchQueue(label: "marked")
        let scheduler = Scheduler.queue(queue)
        let isReading = DispatchSemaphore(value: 0)
        let done = DispatchGroup()
        queue.async(group: done) {
            isReading.signal()
            for _ in 0..<200_000 where !scheduler.isCurrent { Issue.record("the queue is not known any more") }
        }
        isReading.wait()
        for _ in 0..<20_000 { #expect(Scheduler.queue(queue).key == scheduler.key) }
        done.wait()
    }

    /// Whoever chooses a label does not become the main queue.
    @Test func aQueueWithTheLabelOfTheMainQueueIsAQueueOfItsOwn() throws {
        let queue = DispatchQueue(label: DispatchQueue.main.label)
        #expect(Scheduler.queue(queue).isQueue && Scheduler.queue(queue).key != Scheduler.queue(.main).key)
        #expect(Scheduler.queue(.main).key == .main && !Scheduler.queue(.main).isQueue)
        let name = UUID().uuidString
        let configuration = Realm.Configuration(inMemoryIdentifier: name, objectTypes: [Dog.self, Person.self])
        try queue.sync {
            let realm = try Realm(configuration: configuration, queue: queue)
            try realm.write { realm.add(Dog(1, "Rex")) }
            #expect(realm.instance.scheduler?.isQueue == true)
        }
    }
}
