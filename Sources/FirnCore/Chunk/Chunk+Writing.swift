extension Chunk {
    /// Writes a value of up to `Limits.inlineByteCount` bytes to a row, or a reference if `length` is `Slot.blob` or
    /// `Slot.tree`. If `replacing` is true, an old value that is at least as long is overwritten. Returns false and
    /// changes nothing if the heap has no room.
    func put(_ bytes: UnsafeRawBufferPointer, length: UInt16, _ row: Int, replacing: Bool) -> Bool {
        let old = slot(row)
        if replacing, old.heapLength >= bytes.count, bytes.count > 0 {
            (heap + Int(old.offset)).copyMemory(from: bytes.baseAddress.unsafelyUnwrapped, byteCount: bytes.count)
            setSlot(Slot(offset: old.offset, length: length), row)
            return true
        }
        let used = heapUsed
        guard used + bytes.count <= min(heapCapacity, Int(UInt16.max)) else { return false }
        if let base = bytes.baseAddress { (heap + used).copyMemory(from: base, byteCount: bytes.count) }
        setSlot(Slot(offset: UInt16(truncatingIfNeeded: used), length: length), row)
        heapUsed = used + bytes.count
        return true
    }

    /// Assigns a short value to a cell and marks it. The chunk must be the running transaction's own. Returns false and
    /// changes nothing if the value is long, the cell has a node of its own, or the heap has no room.
    package func assign(_ bytes: UnsafeRawBufferPointer, _ row: Int) -> Bool {
        let length = slot(row).length
        guard bytes.count <= Limits.inlineByteCount, length <= Limits.inlineByteCount || length == Slot.null,
            put(bytes, length: UInt16(truncatingIfNeeded: bytes.count), row, replacing: true)
        else { return false }
        mark(row)
        return true
    }

    /// Writes a short value to a row whose cell is empty or null. Returns false and changes nothing if the value is
    /// long, the cell holds a value, or the heap has no room.
    @inline(__always)
    func putFirst(_ bytes: UnsafeRawBufferPointer, _ row: Int) -> Bool {
        let count = bytes.count
        let used = heapUsed
        let length = slot(row).length
        guard length == 0 || length == Slot.null, count <= Limits.inlineByteCount,
            used &+ count <= min(heapCapacity, Int(UInt16.max))
        else { return false }
        if let base = bytes.baseAddress { (heap + used).copyMemory(from: base, byteCount: count) }
        setSlot(Slot(offset: UInt16(truncatingIfNeeded: used), length: UInt16(truncatingIfNeeded: count)), row)
        heapUsed = used &+ count
        return true
    }

    /// Writes the initial value of a new row's cell.
    @inline(__always)
    func putBlank(_ layout: ChunkLayout, _ row: Int) {
        switch layout.form {
        case .fixed, .nullable:
            if layout.width == 8 {
                data.storeBytes(of: layout.blank == .noLink ? -1 : 0, toByteOffset: row &* layout.width, as: Int64.self)
            } else {
                (data + row &* layout.width).initializeMemory(as: UInt8.self, repeating: 0, count: layout.width)
            }
            if layout.form == .nullable { nullFlags[row] = 1 }
        case .variable: setSlot(Slot(offset: 0, length: layout.blank == .null ? Slot.null : 0), row)
        }
    }

    /// Makes the row null (variable and nullable chunks).
    func putNull(_ row: Int) {
        switch form {
        case .variable: setSlot(Slot(offset: 0, length: Slot.null), row)
        case .nullable:
            nullFlags[row] = 1
            address(row).initializeMemory(as: UInt8.self, repeating: 0, count: node.width)
        case .fixed: preconditionFailure("Firn: a null in a column that is not nullable")
        }
    }

    /// Writes a fixed-width value.
    @inline(__always)
    func putFixed<T: BitwiseCopyable>(_ value: T, _ row: Int) {
        assert(MemoryLayout<T>.size == node.width)
        address(row).storeBytes(of: value, as: T.self)
        if form == .nullable { nullFlags[row] = 0 }
    }

    /// Writes the bytes of a fixed-width value. Their number must be the column's width.
    func putFixed(_ bytes: UnsafeRawBufferPointer, _ row: Int) {
        precondition(bytes.count == node.width, "Firn: a value of another width than its column's")
        address(row).copyMemory(from: bytes.baseAddress!, byteCount: bytes.count)
        if form == .nullable { nullFlags[row] = 0 }
    }
}
