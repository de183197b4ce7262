import FirnCore

extension ToolError {
    /// An error that Firn itself threw while the tool read a store through it.
    init(reading error: StoreError) {
        let status: Status =
            switch error.code {
            case .damage: .damage
            case .log(let inner):
                switch inner.code {
                case .damage: .damage
                case .key: .usage
                // The tool has opened the store before, so a file is missing that the store lists.
                case .storage(let inner) where inner.code == .notFound: .damage
                default: .input
                }
            case .versionNotYet, .versionNotRetained: .usage
            default: .input
            }
        self.init(status, "\(error)")
    }

    /// An error that Firn itself threw while a subcommand made the store `new`.
    init(_ error: StoreError, _ new: String) {
        self.init(ToolError(reading: error).status, "\(new) was not made: \(error)")
    }
}
