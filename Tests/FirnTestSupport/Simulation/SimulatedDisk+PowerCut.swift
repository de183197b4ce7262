import FirnStorage

extension SimulatedDisk {
    /// Cuts the power: every process stops, and the remaining contents are returned as a new disk. This disk must not
    /// be used any more.
    public func powerOff(_ survival: Survival = .seeded) -> SimulatedDisk {
        let next = guarded.withLock { state in
            for process in state.processes { process.stop() }
            return state.chance.next()
        }
        return afterPowerCut(seed: next, survival)
    }

    /// The disk as it would be if the power failed now. This disk does not change. Different seeds give different
    /// outcomes of the same moment.
    public func afterPowerCut(seed: UInt64, _ survival: Survival = .seeded) -> SimulatedDisk {
        guarded.withLock { state in
            let disk = SimulatedDisk(
                seed: seed, capacity: state.capacity, traits: traits, survival: survival, earlier: stories(state))
            let (data, names) = Self.chances(seed, survival)
            disk.guarded.withLock { new in
                new.volume = state.volume
                new.canDeallocate = state.canDeallocate
                var copier = Copier(data: data, traits: traits)
                for change in state.pendingNames where names.flip() { copier.apply(change) }
                copier.fill(new.tree.root, from: state.tree.root)
                new.used = copier.used
                new.lastIdentity = state.lastIdentity
            }
            return disk
        }
    }

    private static func chances(_ seed: UInt64, _ survival: Survival) -> (data: Chance, names: Chance) {
        let data = Chance(seed: seed)
        let names = Chance(seed: data.next())
        switch survival {
        case .probability(let forData, let forNames):
            data.numerator = Int(forData * 256)
            names.numerator = Int(forNames * 256)
        case .seeded:
            // Most faults show at the extremes, so these are frequent.
            let mixtures = [0, 0, 16, 128, 128, 240, 256, 256]
            data.numerator = mixtures[data.below(mixtures.count)]
            names.numerator = mixtures[names.below(mixtures.count)]
        }
        return (data, names)
    }

    /// Copies what survives on one disk to another.
    private struct Copier {
        let data: Chance
        let traits: DiskTraits
        var used = 0
        /// The names of each folder whose names differ from the durable ones.
        private var changed: [ObjectIdentifier: [String: SimulatedNode]] = [:]
        private var copies: [ObjectIdentifier: SimulatedNode] = [:]

        init(data: Chance, traits: DiskTraits) {
            self.data = data
            self.traits = traits
        }

        mutating func apply(_ change: NameChange) {
            if let (folder, name) = change.clear {
                var names = changed[ObjectIdentifier(folder)] ?? folder.durableChildren
                if names[name] === change.node { names[name] = nil }
                changed[ObjectIdentifier(folder)] = names
            }
            if let (folder, name) = change.set {
                changed[ObjectIdentifier(folder), default: folder.durableChildren][name] = change.node
            }
        }

        mutating func fill(_ copy: SimulatedNode, from folder: SimulatedNode) {
            // Sorted, because the seed's numbers are drawn in this order.
            let names = (changed[ObjectIdentifier(folder)] ?? folder.durableChildren).sorted { $0.key < $1.key }
            for (name, node) in names { copy.children?[name] = self.copy(node) }
            copy.durableChildren = copy.children ?? [:]
        }

        private mutating func copy(_ node: SimulatedNode) -> SimulatedNode {
            if let copy = copies[ObjectIdentifier(node)] { return copy }
            let copy = SimulatedNode(isFolder: node.children != nil, traits, node.identity)
            copies[ObjectIdentifier(node)] = copy
            if node.children != nil {
                fill(copy, from: node)
            } else {
                copy.durable = node.bytesAfterPowerCut(data)
                copy.bytes = copy.durable.copy()
                copy.allocated = copy.bytes.count
                copy.past = node.past
                used += copy.allocated
            }
            return copy
        }
    }
}
