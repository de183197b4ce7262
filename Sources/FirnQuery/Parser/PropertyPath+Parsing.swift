extension PropertyPath {
    /// Parses `dog.owner.name` or `dogs.@max.age`, the form that sorting and observing use.
    package init(parsing text: String) throws(QueryError) {
        var parser = try PredicateParser(text, [])
        self = try parser.lonePath()
    }
}
