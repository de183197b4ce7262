import Firn
import FirnTestSupport
import Foundation
import Testing

/// A copy of an observed collection, to which each frame is applied.
///
/// Its elements are texts with all that counts as a modification, so a frame that leaves out an element shows.
@MainActor
final class FollowedCollection<C> {
    private let what: String
    /// The texts of the elements; none if the collection is gone.
    private let read: (C) -> [String]
    private let collection: C
    private var copy: [String]?
    private var faults: [String] = []
    private var token: NotificationToken?
    private(set) var frames = 0

    init(
        _ what: String, _ collection: C, read: @escaping (C) -> [String],
        observe: (C, @escaping (RealmCollectionChange<C>) -> Void) -> NotificationToken
    ) {
        self.what = what
        self.read = read
        self.collection = collection
        token = observe(collection) { [weak self] in self?.apply($0) }
    }

    /// - Parameter keyPaths: what makes an element modified; nil for everything.
    convenience init(
        what: String, collection: C, keyPaths: [String]? = nil, _ text: @escaping (C.Element) -> String
    ) where C: RealmCollection {
        self.init(what, collection, read: { $0.isInvalidated ? [] : $0.map(text) }) {
            $0.observe(keyPaths: keyPaths, on: nil, $1)
        }
    }

    private func apply(_ change: RealmCollectionChange<C>) {
        switch change {
        case .initial(let collection): copy = read(collection)
        case .update(let collection, let deletions, let insertions, let modifications):
            frames += 1
            guard let old = copy else { return faults.append("an update came first") }
            let shown = read(collection)
            let frame = "-\(deletions) +\(insertions) ~\(modifications) of \(old)"
            guard deletions == deletions.sorted(), insertions == insertions.sorted(),
                modifications == modifications.sorted(), Set(deletions).isDisjoint(with: modifications),
                (deletions + modifications).allSatisfy(old.indices.contains)
            else { return faults.append("\(frame) is no frame") }
            // nil stands for a modified element, which gets its new text at the end.
            var slots: [String?] = old
            for index in modifications { slots[index] = nil }
            for index in deletions.reversed() { slots.remove(at: index) }
            for index in insertions {
                guard index <= slots.count, index < shown.count else { return faults.append("\(frame) is no frame") }
                slots.insert(shown[index], at: index)
            }
            let new = slots.enumerated().map { $1 ?? ($0 < shown.count ? shown[$0] : "too many") }
            copy = new
            if new != shown { faults.append("\(frame) gives \(new), not \(shown)") }
        case .error(let error): faults.append("\(error)")
        }
    }

    /// Compares the copy with what there is, after everything was delivered.
    func check(_ context: @autoclosure () -> String) {
        let now = read(collection)
        if let copy, copy != now { faults.append("the copy is \(copy), not \(now)") }
        #expect(faults.isEmpty, "\(context()), \(what): \(faults.prefix(2))")
        faults = []
    }

    func end() { token?.invalidate() }
}

/// Delivers what is due to the observers of a realm of the main actor: what others have written, and then what the
/// realm itself has.
@MainActor
func deliverEverything(of realm: Realm) async {
    realm.refresh()
    await mainQueueIsThrough()
    await mainQueueIsThrough()
}
