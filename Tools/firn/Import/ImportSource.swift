import FirnCore

/// Where the objects of an import come from: a text, or another database.
protocol ImportSource: AnyObject {
    /// An object that was read.
    ///
    /// - Parameters:
    ///   - number: its number in the source, if that numbers the objects of a class.
    ///   - values: by the column's number; nil for a property that is not given.
    ///   - line: which one it is in the source.
    typealias Body = (
        _ table: TableID, _ number: Int64?, _ values: inout [ImportValues.Parsed?], _ line: Int
    ) throws -> Void

    /// The source's name for messages.
    var name: String { get }

    /// The classes that the objects need, and the schema's version if the source says one.
    func classes(_ stored: StoreSchema) throws -> (classes: [ImportSchema.Class], version: UInt64)

    /// Calls `body` with each object. What is refused is thrown as an `ObjectFault`, also what `body` refuses by an
    /// `InputFault`.
    ///
    /// - Parameter schema: has the classes that the source asked for.
    func forEachObject(_ schema: StoreSchema, _ body: Body) throws

    /// Where an object stands that was read before, for messages.
    func place(_ line: Int, _ table: TableID) -> String
}

/// An object of the source that is not imported, and where it stands there.
struct ObjectFault: Error {
    var place: String
    var text: String
}
