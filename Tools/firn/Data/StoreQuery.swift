import FirnBytes
import FirnCore
import FirnQuery

/// Queries as the user types them.
enum StoreQuery {
    /// What `firn query` and `firn explain` take: `Dog`, `Dog WHERE age > 3 SORT(name ASC) LIMIT(10)`.
    struct Text {
        var type: String
        /// The condition and the stages behind it.
        var rest: String

        /// Throws if the text does not begin with a class's name.
        init(_ text: String) throws(ToolError) {
            let words = text.drop { $0.isWhitespace }
            let name = words.prefix { !$0.isWhitespace }
            guard !name.isEmpty else {
                throw ToolError(.usage, "the query is empty. Write a class's name, as in 'Dog WHERE age > 3'.")
            }
            type = String(name)
            let behind = words[name.endIndex...].drop { $0.isWhitespace }
            if behind.prefix(5).uppercased() == "WHERE", behind.dropFirst(5).first?.isWhitespace ?? false {
                rest = String(behind.dropFirst(6))
            } else if behind.isEmpty {
                rest = "TRUEPREDICATE"
            } else if ["SORT", "DISTINCT", "LIMIT"].contains(where: { behind.uppercased().hasPrefix($0) }) {
                rest = "TRUEPREDICATE " + behind
            } else {
                throw ToolError(
                    .usage,
                    "behind the class \(name), a query goes on with WHERE, SORT, DISTINCT or LIMIT, not with \(DisplayText.line(String(behind.prefix(20))))."
                )
            }
        }
    }

    /// A query of a table. Throws if the text is wrong, and says where.
    static func pipeline(_ text: String, of table: TableID, _ view: StoreView) throws(ToolError) -> QueryPipeline {
        do throws(QueryError) {
            return try QueryPipeline(QueryPipeline.stages(parsing: text), table: table, schema: view.schema)
        } catch {
            let hinted = error.hinting { SchemaResolver(view.schema).reachableNames(from: table, in: view.schema) }
            throw ToolError(.usage, "\(hinted)")
        }
    }
}
