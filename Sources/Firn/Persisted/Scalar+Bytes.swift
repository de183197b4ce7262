public import FirnCore
public import Foundation

extension String: _Scalar, _PrimaryKey, _Indexable {
    public static var _type: ColumnType { .string }
    public static var _inlineStorage: _InlineStorage { .string }
    public static var _optionalInlineStorage: _InlineStorage { .optionalString }
    @inlinable public static var _initial: String { @inline(__always) get { "" } }
    public var _value: Value { .string(self) }
    public init?(_value: Value) {
        guard case .string(let value) = _value else { return nil }
        self = value
    }
    public static func _convert(_ any: Any) -> String? {
        switch any {
        case let text as Substring: String(text)
        case let text as NSString: text as String
        default: nil
        }
    }

    @inlinable @inline(__always)
    public static func _get(_ row: _Row, _ column: Int) -> String { _readString(row.place.cell(column, row.row)) }
    @inlinable @inline(__always)
    public static func _getOptional(_ row: _Row, _ column: Int) -> String? {
        _readOptionalString(row.place.cell(column, row.row))
    }
    @inlinable @inline(__always)
    public static func _set(_ object: ObjectBase, _ column: Int32, _ value: String) {
        _setString(object, column, value)
    }
    @inlinable @inline(__always)
    public static func _setOptional(_ object: ObjectBase, _ column: Int32, _ value: String?) {
        if let value { _setString(object, column, value) } else { _setOptionalSlowly(object, column, String?.none) }
    }
}

extension Data: _Scalar {
    public static var _type: ColumnType { .data }
    public static var _initial: Data { Data() }
    public var _value: Value { .data(Array(self)) }
    public init?(_value: Value) {
        guard case .data(let value) = _value else { return nil }
        self = Data(value)
    }
    public static func _convert(_ any: Any) -> Data? {
        switch any {
        case let bytes as [UInt8]: Data(bytes)
        case let bytes as NSData: bytes as Data
        default: nil
        }
    }

    public static func _get(_ row: _Row, _ column: Int) -> Data { Data(cellBytes(row.place.cell(column, row.row))) }
    public static func _getOptional(_ row: _Row, _ column: Int) -> Data? {
        row.place.cell(column, row.row).bytes.map { Data($0) }
    }
    public static func _set(_ object: ObjectBase, _ column: Int32, _ value: Data) {
        object.set(value, column: _BoundColumn.number(column))
    }
    public static func _setOptional(_ object: ObjectBase, _ column: Int32, _ value: Data?) {
        if let value {
            object.set(value, column: _BoundColumn.number(column))
        } else {
            object.set(.null, column: _BoundColumn.number(column))
        }
    }
}

/// The bytes of a string or data cell that is not null: in the chunk's heap, or a blob of their own.
@inline(__always)
func cellBytes(_ cell: VariableCell) -> UnsafeRawBufferPointer {
    cell.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
}

// One call out of line each: the bytes are decoded where they lie.
@usableFromInline @inline(never)
func _readString(_ cell: VariableCell) -> String { String(decoding: cellBytes(cell), as: UTF8.self) }

@usableFromInline @inline(never)
func _readOptionalString(_ cell: VariableCell) -> String? {
    cell.bytes.map { String(decoding: $0, as: UTF8.self) }
}

@usableFromInline
@_effects(releasenone) @inline(never)
func _setString(_ object: ObjectBase, _ column: Int32, _ value: String) {
    object.set(value, column: _BoundColumn.number(column))
}
