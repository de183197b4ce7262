import Firn
import FirnTestSupport
import Foundation
import Testing

/// An observer of one projection: it keeps what was shown, and compares what it is called with.
@MainActor
final class ProjectionFollower {
    private let id: Int
    private var token: NotificationToken?
    /// The properties that are observed.
    private let names: Set<String>
    private var seen: [String: String]
    private var faults: [String] = []
    private var frames = 0
    private var isDeleted = false
    /// Whether the realm itself makes the next changes, so that there are no old values.
    var isOwn = false

    /// - Parameter chosen: the properties to be observed; none for all.
    init(_ card: LinkedCard, chosen: [(name: String, path: PartialKeyPath<LinkedCard>)]) {
        id = card.id
        seen = card.texts
        names = Set(chosen.isEmpty ? LinkedCard.keyPaths.map(\.name) : chosen.map(\.name))
        token = card.observe(keyPaths: chosen.map(\.path)) { [weak self] in self?.apply($0) }
    }

    private func apply(_ change: ObjectChange<LinkedCard>) {
        frames += 1
        if isDeleted { faults.append("is called after the deletion") }
        switch change {
        case .change(let card, let properties):
            let now = card.texts
            let order = LinkedCard.keyPaths.map(\.name).filter { name in properties.contains { $0.name == name } }
            if properties.map(\.name) != order { faults.append("names \(properties.map(\.name))") }
            for property in properties {
                let name = property.name
                guard names.contains(name) else {
                    faults.append("\(name) is not observed")
                    continue
                }
                guard LinkedCard.own.contains(name) else {
                    if property.oldValue != nil { faults.append("\(name) has an old value") }
                    // A collection is live, and none of the values.
                    if LinkedCard.linked.contains(name) || property.newValue != nil {
                        let new = CardText.of(property.newValue)
                        if new != now[name] { faults.append("\(name) became \(new), not \(now[name]!)") }
                    }
                    seen[name] = now[name]
                    continue
                }
                let (old, new) = (CardText.of(property.oldValue), CardText.of(property.newValue))
                if new != now[name] { faults.append("\(name) became \(new), not \(now[name]!)") }
                if old != (isOwn ? "nil" : seen[name] ?? ""), !old.contains(CardText.gone) {
                    faults.append("\(name) was \(isOwn ? "own" : seen[name] ?? ""), not \(old)")
                }
                for value in [property.oldValue, property.newValue] where !isLive(value) {
                    faults.append("\(name) has a value of another version")
                }
                seen[name] = now[name]
            }
        case .deleted: isDeleted = true
        case .error(let error): faults.append("\(error)")
        }
    }

    /// Whether the objects in a value are those of the observer's realm.
    private func isLive(_ value: Any?) -> Bool {
        switch value {
        case let object as CardBase: !object.isFrozen
        case let value as AnyRealmValue:
            switch value {
            case .object(let object): !object.isFrozen
            case .list(let list): list.allSatisfy { isLive($0) }
            case .dictionary(let map): map.allSatisfy { isLive($0.value) }
            default: true
            }
        default: true
        }
    }

    /// Compares what was shown with what there is, after everything was delivered.
    func check(_ what: String, cards: [Int: PlainCard], log: [String]) {
        if let now = PlainCard.texts(id, cards), !isDeleted {
            for name in names where seen[name] != now[name] {
                faults.append("\(name) became \(now[name]!) unseen, from \(seen[name]!)")
            }
        } else if !isDeleted {
            faults.append("its deletion was not seen")
        }
        #expect(faults.isEmpty, "\(what), \(id): \(faults.prefix(3)) \(log)")
        faults = []
    }

    /// Ends the observer, and returns how often it was called.
    func end() -> Int {
        token?.invalidate()
        return frames
    }
}
