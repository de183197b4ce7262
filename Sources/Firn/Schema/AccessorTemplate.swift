import CFirn

/// The bytes of an accessor of a class before it has a row. An accessor is made by copying them, which costs a fraction
/// of what the class's initialiser does: that sets one property after the other.
///
/// A class has a template if a copy of its bytes is a copy of the instance:
///
/// - All of its stored properties are `@Persisted`, and none of them is ignored. Others may hold anything.
/// - What each wrapper holds at first owns nothing (`_Persistable._initialOwnsNothing`).
/// - Its initialiser makes no other objects.
///
/// The class's initialiser does not run for such an accessor; its deinitialiser does.
struct AccessorTemplate: @unchecked Sendable {
    // Unchecked because of the pointers. Nothing changes the bytes once they are there. The owner frees them.
    private let bytes: UnsafeRawPointer
    private let byteCount: Int
    private let metadata: UnsafeRawPointer
    /// The reference counts of an instance to which there is one reference.
    private let countsOfOne: UInt64
    /// Where the wrappers of lists keep the list once it was asked for; 0 if it was not.
    private let keptLists: [Int]

    /// The template of a class of which `blank` is an instance, made as an accessor is. `end` is where its last
    /// wrapper ends. Nil if its instances do not end there, so that they hold something else.
    init?(_ blank: ObjectBase, end: Int, keptLists: [Int]) {
        let type = type(of: blank)
        metadata = unsafeBitCast(type, to: UnsafeRawPointer.self)
        byteCount = firn_instance_byte_count(metadata)
        // An instance may be rounded up to its alignment.
        guard byteCount >= end, byteCount < end + 16 else { return nil }
        // `_row` is the first property of the base class.
        blank._row.key = .max
        guard blank.address.load(fromByteOffset: Int(FIRN_INSTANCE_HEADER), as: _Row.self).key == .max else {
            return nil
        }
        bytes = UnsafeRawPointer(Self.copy(UnsafeRawPointer(blank.address), byteCount))
        self.keptLists = keptLists
        let instance = firn_copy_instance(metadata, byteCount, bytes)
        countsOfOne = firn_reference_counts(instance)
        Unmanaged<ObjectBase>.fromOpaque(instance).release()
    }

    /// The template of a class's accessors in one table, whose wrappers know their columns.
    init(_ other: AccessorTemplate, _ binds: TableBinding.Binds) {
        metadata = other.metadata
        byteCount = other.byteCount
        countsOfOne = other.countsOfOne
        keptLists = other.keptLists
        let copy = Self.copy(other.bytes, byteCount)
        binds.write(to: copy)
        bytes = UnsafeRawPointer(copy)
    }

    func deallocate() { bytes.deallocate() }

    private static func copy(_ bytes: UnsafeRawPointer, _ count: Int) -> UnsafeMutableRawPointer {
        let copy = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 16)
        copy.copyMemory(from: bytes, byteCount: count)
        return copy
    }

    /// A new instance.
    @inline(__always)
    func instance() -> ObjectBase {
        let instance = firn_copy_instance(metadata, byteCount, bytes)
        return Unmanaged<ObjectBase>.fromOpaque(instance).takeRetainedValue()
    }

    /// Whether the caller has the only reference to an instance, of whatever kind, and the instance is as it was made.
    @inline(__always)
    func isUnused(_ instance: UnsafeMutableRawPointer) -> Bool {
        guard firn_reference_counts(instance) == countsOfOne else { return false }
        for offset in keptLists where instance.load(fromByteOffset: offset, as: UInt.self) != 0 { return false }
        return true
    }
}
