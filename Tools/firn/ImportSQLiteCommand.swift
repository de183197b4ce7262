#if SQLite
    import ArgumentParser
    import FirnStorage

    /// `firn import-sqlite STORE FILE`: puts the rows of a database of SQLite into a store.
    struct ImportSQLiteCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import-sqlite",
            abstract: "Puts the rows of a database of SQLite into a store, which it makes if there is none.",
            discussion: """
                Each table becomes a class, and each row an object. A foreign key becomes a link if it refers to a \
                primary key of one column. The types are those that fit all values, since SQLite allows any value in \
                any column. A row whose primary key is in the store changes that object. Views and virtual tables are \
                left out. Everything is imported, or nothing unless --batch is given. The article "Moving data in and \
                out" has the rules.

                Example: firn import-sqlite music.firn Chinook.sqlite --table Artist --table Album
                """)

        @OptionGroup var arguments: StoreArguments
        @Argument(help: "The database's file.", completion: .file())
        var file: String
        @Option(help: ArgumentHelp("A table to import. Repeat it for several; without it, all are.", valueName: "name"))
        var table: [String] = []
        @OptionGroup var batches: BatchArguments

        func run() throws {
            Interrupts.postpone()
            try finish(with: arguments.key) { out in
                try Self.run(
                    arguments.store, file: file, tables: table, batch: batches.batch, json: arguments.json,
                    storage: PosixStorage.shared, clock: SystemClock.shared, output: out)
            }
        }

        static func run(
            _ path: String, file: String, tables: [String] = [], batch: Int? = nil, json: Bool = false,
            storage: any Storage, clock: any Clock, output: Output
        ) throws -> ToolError.Status {
            let source = try SQLiteImport(file, tables: tables, output)
            return try ImportRun(source: source, batch: batch)
                .run(into: path, json: json, storage: storage, clock: clock, output)
        }
    }
#endif
