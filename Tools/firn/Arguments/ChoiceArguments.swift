import ArgumentParser

/// The options that choose objects: all, those of one class, or one object.
struct ChoiceArguments: ParsableArguments {
    @Option(name: .customLong("type"), help: ArgumentHelp("Only objects of this class.", valueName: "class"))
    var type: String?
    @Option(help: ArgumentHelp("Only the object with this primary key. Needs --type.", valueName: "primary key"))
    var key: String?
    @Option(help: ArgumentHelp("Only the object that firn shows as #number. Needs --type.", valueName: "number"))
    var object: Int64?

    func validate() throws {
        if key != nil, object != nil { throw ValidationError("Give --key or --object, not both.") }
        if type == nil, key != nil || object != nil {
            throw ValidationError("--\(key != nil ? "key" : "object") needs --type CLASS.")
        }
    }

    var choice: ObjectChoice {
        guard let type else { return .all }
        if let key { return .object(type: type, .primaryKey(key)) }
        if let object { return .object(type: type, .number(object)) }
        return .type(type)
    }
}

/// Which objects a subcommand is about, as the user names them.
enum ObjectChoice {
    case all
    case type(String)
    case object(type: String, Name)

    enum Name {
        /// The primary key's text: a string, a number, a UUID or an object id. `nil` also stands for a key that is nil.
        case primaryKey(String)
        /// The object's number in its table.
        case number(Int64)
    }
}
