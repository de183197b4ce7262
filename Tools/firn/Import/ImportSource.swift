import FirnCore

/// Where the objects of an import come from: a text, or another database.
protocol ImportSource: AnyObject {
    /// Takes an object that was read.
    ///
    /// - Parameters:
    ///   - number: the object's number in the source, if the source numbers the objects of its class.
    ///   - values: by the column's number; nil for a property that is not given.
    ///   - line: the object's position in the source, such as its line.
    typealias Body = (
        _ table: TableID, _ number: Int64?, _ values: inout [ImportValues.Parsed?], _ line: Int
    ) throws -> Void

    /// The source's name for messages.
    var name: String { get }

    /// The classes that the objects need, and the schema's version if the source says one.
    func classes(_ stored: StoreSchema) throws -> (classes: [ImportSchema.Class], version: UInt64)

    /// Calls `body` with each object. An object that is refused is thrown as an `ObjectFault`, also if `body` refuses
    /// it by an `InputFault`.
    ///
    /// - Parameter schema: has the classes that the source asked for.
    func forEachObject(_ schema: StoreSchema, _ body: Body) throws

    /// The location, for messages, of an object that was read before.
    func place(_ line: Int, _ table: TableID) -> String
}

/// An object of the source that can't be imported, and its location there.
struct ObjectFault: Error {
    var place: String
    var text: String
}
