import FirnStorage

/// Finds the classes that a realm without `objectTypes` has: every subclass of `Object` and `EmbeddedObject` that the
/// program's images declare, and the registered ones. Generic classes exist only once they are used, so they must be
/// registered.
enum ClassDiscovery {
    private struct Classes {
        var registered: [ObjectIdentifier: ObjectBase.Type] = [:]
        /// The classes of the images that were loaded at the first scan; nil before it.
        var found: [ObjectBase.Type]?
    }
    // Realms are opened on any thread, so a lock guards the value.
    private static var classes: GlobalGuarded<Classes> { GlobalGuarded(.discoveredClasses) { Classes() } }

    /// Registers classes, whether or not a scan would find them.
    static func register(_ types: [ObjectBase.Type]) {
        classes.withLock { classes in for type in types { classes.registered[ObjectIdentifier(type)] = type } }
    }

    /// The classes of the default schema, sorted by name. The images are scanned at the first call only.
    static func defaultTypes() -> [ObjectBase.Type] {
        let declared: [ObjectBase.Type]
        if let known = classes.withLock({ $0.found }) {
            declared = known
        } else {
            declared = scan()
            classes.withLock { $0.found = declared }
        }
        var all = classes.withLock { $0.registered }
        for type in declared { all[ObjectIdentifier(type)] = type }
        return all.values.filter { $0.shouldIncludeInDefaultSchema() }.sorted { $0.className() < $1.className() }
    }

    /// Walks the images' type descriptors. A class's descriptor leads to its metadata, and the superclasses in it
    /// show whether it is a subclass of `Object` or `EmbeddedObject`.
    private static func scan() -> [ObjectBase.Type] {
        let bases = [Object.self, EmbeddedObject.self].map { unsafeBitCast($0 as AnyClass, to: UnsafeRawPointer.self) }
        var types: [ObjectBase.Type] = []
        TypeMetadata.forEachDescriptor { descriptor in
            guard let metadata = ContextDescriptor(address: descriptor).subclassMetadata(of: bases) else { return }
            let found: AnyClass = unsafeBitCast(metadata, to: AnyClass.self)
            if let type = found as? ObjectBase.Type { types.append(type) }
        }
        return types
    }
}

/// A type's context descriptor, as the Swift ABI lays it out: flags at 0, the metadata accessor at 12 and the
/// superclass's name at 20. The latter two are offsets relative to their own address.
private struct ContextDescriptor {
    let address: UnsafeRawPointer

    private static let kindMask: UInt32 = 0x1F
    private static let classKind: UInt32 = 16
    private static let genericFlag: UInt32 = 0x80
    /// The offset of the superclass in a class's metadata.
    private static let superclassOffset = 8

    /// The type's metadata if the type is a class, is not generic, and is a subclass of one of `bases`; otherwise nil.
    func subclassMetadata(of bases: [UnsafeRawPointer]) -> UnsafeRawPointer? {
        let flags = address.load(as: UInt32.self)
        guard flags & Self.kindMask == Self.classKind, flags & Self.genericFlag == 0,
            address.load(fromByteOffset: 20, as: Int32.self) != 0
        else { return nil }
        let field = address + 12
        let accessor = unsafeBitCast(
            field + Int(field.load(as: Int32.self)), to: (@convention(c) (Int) -> UnsafeRawPointer?).self)
        guard let metadata = accessor(0) else { return nil }
        var superclass = metadata.load(fromByteOffset: Self.superclassOffset, as: UnsafeRawPointer?.self)
        while let current = superclass {
            if bases.contains(current) { return metadata }
            superclass = current.load(fromByteOffset: Self.superclassOffset, as: UnsafeRawPointer?.self)
        }
        return nil
    }
}
