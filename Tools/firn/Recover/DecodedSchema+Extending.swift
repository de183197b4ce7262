extension DecodedSchema {
    /// How many tables and columns it has.
    var size: Int { tables.reduce(tables.count) { $0 + $1.columns.count } }

    /// Whether it may be a later schema of the same store: it has all tables and columns of the older one. Names don't
    /// count, as they may change.
    func extends(_ older: DecodedSchema) -> Bool {
        older.tables.count <= tables.count
            && zip(older.tables, tables).allSatisfy { old, new in
                old.columns.count <= new.columns.count
                    && zip(old.columns, new.columns).allSatisfy { old, new in
                        new.isRemoved
                            || old.type == new.type && old.collection == new.collection
                                && old.target == new.target
                    }
            }
    }
}
