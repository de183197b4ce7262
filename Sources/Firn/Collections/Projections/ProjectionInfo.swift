import FirnStorage
@_spi(Reflection) import Swift

/// What is known about a class of projections: where its projected properties lie. It is found once for each class.
///
/// A property's number is its position in the class, in which those of the superclass come first. So a property has
/// the same number in a subclass.
final class ProjectionInfo: Sendable {
    /// A projected property.
    struct Property {
        /// The name in Swift.
        let label: String
        fileprivate let offset: Int
        fileprivate let type: any ProjectedWrapper.Type

        /// The wrapper of a projection. Each has its own, as its initialiser may give it another key path.
        func wrapper(in projection: AnyObject) -> any ProjectedWrapper {
            let address = UnsafeRawPointer(Unmanaged.passUnretained(projection).toOpaque()) + offset
            return withExtendedLifetime(projection) { type.load(address) }
        }
    }

    /// By number.
    let properties: [Property]

    private init(_ type: AnyClass) {
        var found: [Property] = []
        _forEachField(of: type, options: _EachFieldOptions(rawValue: 1)) { label, offset, field, _ in
            guard let wrapper = field as? any ProjectedWrapper.Type else { return true }
            // The wrapper of `name` is called `_name`.
            found.append(Property(label: String(String(cString: label).dropFirst()), offset: offset, type: wrapper))
            return true
        }
        properties = found
    }

    // Projections are used on any thread; the class guards the value.
    private static var known: GlobalGuarded<[ObjectIdentifier: ProjectionInfo]> {
        GlobalGuarded(.projections) { [:] }
    }

    /// What is known about a projection's class.
    static func of(_ projection: AnyObject) -> ProjectionInfo {
        let type: AnyClass = Swift.type(of: projection)
        if let info = known.withLock({ $0[ObjectIdentifier(type)] }) { return info }
        let info = ProjectionInfo(type)
        known.withLock { $0[ObjectIdentifier(type)] = info }
        return info
    }

    /// The number of the property whose wrapper lies at an address in a projection.
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
