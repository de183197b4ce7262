public import FirnCore
public import Foundation

extension String: _Scalar, _PrimaryKey, _Indexable {
    /// The type of the column.
    public static var _type: ColumnType { .string }
    /// A string can be read from an unmanaged object's memory.
    public static var _inlineStorage: _InlineStorage { .string }
    /// An optional string can be read from an unmanaged object's memory.
    public static var _optionalInlineStorage: _InlineStorage { .optionalString }
    /// A property without an initial value starts with the empty string.
    @inlinable public static var _initial: String { @inline(__always) get { "" } }
    /// True: an empty string owns nothing.
    public static var _blankOwnsNothing: Bool { true }
    /// The string as a value of the store.
    public var _value: Value { .string(self) }
    /// The string of a value of the store; nil if the value is of another type.
    public init?(_value: Value) {
        guard case .string(let value) = _value else { return nil }
        self = value
    }
    /// The string of a `Substring` or `NSString`; nil for anything else.
    public static func _convert(_ any: Any) -> String? {
        if let text = any as? Substring { return String(text) }
        return instance(any, of: NSString.self).map { $0 as String }
    }

    /// The string in a column of a current row. O(length).
    @inlinable @inline(__always)
    public static func _get(_ row: _Row, _ column: Int) -> String {
        _readString(row.leaf.unsafelyUnwrapped, row: row.row, column: column)
    }
    /// The string in a nullable column of a current row. O(length).
    @inlinable @inline(__always)
    public static func _getOptional(_ row: _Row, _ column: Int) -> String? {
        _readOptionalString(row.leaf.unsafelyUnwrapped, row: row.row, column: column)
    }
    /// Sets the string through the transaction.
    @inlinable @inline(__always)
    public static func _set(_ object: ObjectBase, column: Int32, value: String) {
        _setString(object, column: column, value: value)
    }
    /// Sets the string, or null, through the transaction.
    @inlinable @inline(__always)
    public static func _setOptional(_ object: ObjectBase, column: Int32, value: String?) {
        if let value { _setString(object, column: column, value: value) } else { _setNull(object, column) }
    }
}

extension Data: _Scalar {
    /// The type of the column.
    public static var _type: ColumnType { .data }
    /// A property without an initial value starts with no bytes.
    public static var _initial: Data { Data() }
    /// True: empty data owns nothing.
    public static var _blankOwnsNothing: Bool { true }
    /// The bytes as a value of the store.
    public var _value: Value { .data(Array(self)) }
    /// The data of a value of the store; nil if the value is of another type.
    public init?(_value: Value) {
        guard case .data(let value) = _value else { return nil }
        self = Data(value)
    }
    /// The data of a byte array or `NSData`; nil for anything else.
    public static func _convert(_ any: Any) -> Data? {
        if let bytes = any as? [UInt8] { return Data(bytes) }
        return instance(any, of: NSData.self).map { $0 as Data }
    }

    /// The data in a column of a current row, copied. O(length).
    public static func _get(_ row: _Row, _ column: Int) -> Data { Data(cellBytes(row.leafView.cell(column, row.row))) }
    /// The data in a nullable column of a current row, copied. O(length).
    public static func _getOptional(_ row: _Row, _ column: Int) -> Data? {
        row.leafView.cell(column, row.row).bytes.map { Data($0) }
    }
    /// Sets the data through the transaction.
    public static func _set(_ object: ObjectBase, column: Int32, value: Data) {
        if let chunk = object._row.writableChunk(column),
            value.withUnsafeBytes({ chunk.assign($0, object._row.row) })
        {
            return
        }
        object.set(value, column: _BoundColumn.number(column))
    }
    /// Sets the data, or null, through the transaction.
    public static func _setOptional(_ object: ObjectBase, column: Int32, value: Data?) {
        if let value { _set(object, column: column, value: value) } else { _setNull(object, column) }
    }
}

/// The bytes of a string or data cell that is not null: they lie in the chunk's heap, or in a blob.
@inline(__always)
func cellBytes(_ cell: VariableCell) -> UnsafeRawBufferPointer {
    cell.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
}

// Each of these is a call that is not inlined, so that the getter around it is small enough to be inlined. The bytes
// are decoded in place.
@usableFromInline
@_effects(releasenone) @inline(never)
func _readString(_ leaf: UnsafeMutableRawPointer, row: Int, column: Int) -> String {
    String(decoding: cellBytes(Leaf(Node(leaf)).cell(column, row)), as: UTF8.self)
}

@usableFromInline
@_effects(releasenone) @inline(never)
func _readOptionalString(_ leaf: UnsafeMutableRawPointer, row: Int, column: Int) -> String? {
    Leaf(Node(leaf)).cell(column, row).bytes.map { String(decoding: $0, as: UTF8.self) }
}

@usableFromInline
@_effects(releasenone) @inline(never)
func _setString(_ object: ObjectBase, column: Int32, value: String) {
    if let chunk = object._row.writableChunk(column) {
        let isWritten = value.utf8.withContiguousStorageIfAvailable {
            chunk.assign(UnsafeRawBufferPointer($0), object._row.row)
        }
        if isWritten == true { return }
    }
    object.set(value, column: _BoundColumn.number(column))
}
