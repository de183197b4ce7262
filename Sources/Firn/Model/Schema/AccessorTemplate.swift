import CFirn

/// The bytes of an accessor of a class before it has a row. Copying them makes an accessor at a fraction of the cost of
/// the class's initialiser, which sets one property after the other.
///
/// A class has a template if all of its stored properties are `@Persisted`, and none of them is ignored. Nor may its
/// initialiser make other objects before it calls `super.init()`. The template is made from an instance, whose wrappers
/// are overwritten with what an accessor's wrapper holds (`_Persistable._blank`). So whatever the class's initialiser
/// has assigned, the bytes own nothing, and a copy of them is an instance.
///
/// The class's initialiser does not run for such an accessor; its deinitialiser does.
struct AccessorTemplate: @unchecked Sendable {
    // Unchecked because of the pointers. Nothing changes the bytes once they are there. The owner frees them.
    private let bytes: UnsafeRawPointer
    private let byteCount: Int
    private let metadata: UnsafeRawPointer
    /// The reference counts of an instance to which there is one reference, and of one to which there are two.
    private let countsOfOne: UInt64
    private let countsOfTwo: UInt64
    /// The offsets at which the wrappers of collections keep a collection once it was read; the word there is 0 until
    /// then. The memory is plain, so that nothing is retained while the offsets are read. All templates of a class
    /// share it, and nobody frees it.
    private let keptLists: UnsafeBufferPointer<Int>

    /// The template of a class, made from an instance of it, `blank`, and all of its stored properties. Nil if an
    /// accessor's wrapper owns something or needs more alignment than an instance has, or if instances hold more than
    /// the wrappers.
    init?(_ blank: ObjectBase, _ properties: [PropertyInfo]) {
        let type = type(of: blank)
        metadata = unsafeBitCast(type, to: UnsafeRawPointer.self)
        let count = firn_instance_byte_count(metadata)
        byteCount = count
        let end = properties.map { $0.offset + $0.wrapper.byteCount }.max() ?? 0
        // An instance's size may be rounded up to its alignment.
        guard count >= end, count < end + Self.alignment else { return nil }
        for property in properties {
            guard property.wrapper.blankOwnsNothing, property.wrapper.alignment <= Self.alignment else { return nil }
        }
        let copy = withExtendedLifetime(blank) { () -> UnsafeMutableRawPointer? in
            // This verifies that `_row` is the first property of the base class.
            let key = blank._row.key
            blank._row.key = .max
            defer { blank._row.key = key }
            let row = blank.address.load(fromByteOffset: Int(FIRN_INSTANCE_HEADER), as: _Row.self)
            return row.key == .max ? Self.copy(UnsafeRawPointer(blank.address), count) : nil
        }
        guard let copy else { return nil }
        for property in properties { property.wrapper.writeBlank(copy + property.offset) }
        bytes = UnsafeRawPointer(copy)
        let lists = properties.filter { $0.isCollection && !$0.isLinkingObjects }.map(\.valueOffset)
        let listOffsets = UnsafeMutableBufferPointer<Int>.allocate(capacity: lists.count)
        _ = listOffsets.initialize(fromContentsOf: lists)
        keptLists = UnsafeBufferPointer(listOffsets)
        (countsOfOne, countsOfTwo) = Self.referenceCounts()
    }

    /// The alignment of memory that `malloc` returns, and so of an instance.
    private static var alignment: Int { 16 }

    private final class Plain {}

    /// The reference counts of a new instance of any class, and of an instance that was retained once more.
    ///
    /// The retain is made in C, because the compiler would remove it as needless.
    private static func referenceCounts() -> (one: UInt64, two: UInt64) {
        let metadata = unsafeBitCast(Plain.self, to: UnsafeRawPointer.self)
        let instance = firn_copy_instance(metadata, firn_instance_byte_count(metadata), metadata)
        let one = firn_reference_counts(instance)
        let isRetained = firn_try_retain(instance)
        let two = firn_reference_counts(instance)
        precondition(isRetained && one != two, "Firn: this Swift counts references in a way that is not known.")
        for _ in 0..<2 { Unmanaged<Plain>.fromOpaque(instance).release() }
        return (one, two)
    }

    /// The template of a class's accessors in one table, whose wrappers know their columns.
    init(_ other: AccessorTemplate, _ binds: TableBinding.Binds) {
        metadata = other.metadata
        byteCount = other.byteCount
        countsOfOne = other.countsOfOne
        countsOfTwo = other.countsOfTwo
        keptLists = other.keptLists
        let copy = Self.copy(other.bytes, byteCount)
        binds.write(to: copy)
        bytes = UnsafeRawPointer(copy)
    }

    func deallocate() { bytes.deallocate() }

    private static func copy(_ bytes: UnsafeRawPointer, _ count: Int) -> UnsafeMutableRawPointer {
        let copy = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: alignment)
        copy.copyMemory(from: bytes, byteCount: count)
        return copy
    }

    /// A new instance.
    @inline(__always)
    func instance() -> ObjectBase {
        let instance = firn_copy_instance(metadata, byteCount, bytes)
        return Unmanaged<ObjectBase>.fromOpaque(instance).takeRetainedValue()
    }

    /// A second reference to an instance. Nil if the caller's reference is not the only one, of whatever kind, or if
    /// the instance has changed since it was made. Uses no atomic operation.
    @inline(__always)
    func lend(_ instance: UnsafeMutableRawPointer) -> ObjectBase? {
        guard isUnused(instance) else { return nil }
        firn_set_reference_counts(instance, countsOfTwo)
        return Unmanaged<ObjectBase>.fromOpaque(instance).takeRetainedValue()
    }

    /// Whether the caller has the only reference to an instance, of whatever kind, and the instance has not changed
    /// since it was made.
    @inline(__always)
    private func isUnused(_ instance: UnsafeMutableRawPointer) -> Bool {
        guard firn_reference_counts(instance) == countsOfOne else { return false }
        for offset in keptLists where instance.load(fromByteOffset: offset, as: UInt.self) != 0 { return false }
        return true
    }
}
