import FirnStorage
@_spi(Reflection) import Swift

/// The projected properties of a class of projections, with the offsets of their wrappers. It is cached for each class.
///
/// A property's number is its index in `properties`, where the superclass's properties come first. So a property has
/// the same number in a subclass.
final class ProjectionInfo: Sendable {
    /// A projected property.
    struct Property {
        /// The name of the property in Swift.
        let label: String
        fileprivate let offset: Int
        fileprivate let type: any ProjectedWrapper.Type

        /// The property's wrapper in a projection. Each projection has its own, because its initialiser may assign
        /// another key path.
        func wrapper(in projection: AnyObject) -> any ProjectedWrapper {
            let address = UnsafeRawPointer(Unmanaged.passUnretained(projection).toOpaque()) + offset
            return withExtendedLifetime(projection) { type.load(address) }
        }
    }

    /// The properties, by number.
    let properties: [Property]

    private init(_ type: AnyClass) {
        var found: [Property] = []
        _forEachField(of: type, options: _EachFieldOptions(rawValue: 1)) { label, offset, field, _ in
            guard let wrapper = field as? any ProjectedWrapper.Type else { return true }
            // The wrapper of a property `name` is called `_name`.
            found.append(Property(label: String(String(cString: label).dropFirst()), offset: offset, type: wrapper))
            return true
        }
        properties = found
    }

    // Projections are used on any thread, so a lock guards the cache.
    private static var known: GlobalGuarded<[ObjectIdentifier: ProjectionInfo]> {
        GlobalGuarded(.projections) { [:] }
    }

    /// The projected properties of a projection's class.
    static func of(_ projection: AnyObject) -> ProjectionInfo {
        let type: AnyClass = Swift.type(of: projection)
        if let info = known.withLock({ $0[ObjectIdentifier(type)] }) { return info }
        let info = ProjectionInfo(type)
        known.withLock { $0[ObjectIdentifier(type)] = info }
        return info
    }

    /// The number of the property whose wrapper is at an address in a projection; nil if there is none.
    static func number(of wrapper: UnsafeRawPointer, in projection: AnyObject) -> Int? {
        let offset = wrapper - UnsafeRawPointer(Unmanaged.passUnretained(projection).toOpaque())
        return of(projection).properties.firstIndex { $0.offset == offset }
    }
}

extension ProjectedWrapper {
    fileprivate static func load(_ address: UnsafeRawPointer) -> any ProjectedWrapper {
        address.assumingMemoryBound(to: Self.self).pointee
    }
}
