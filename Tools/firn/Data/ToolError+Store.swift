import FirnCore

extension ToolError {
    /// An error of Firn's own store, which was read.
    init(reading error: StoreError) {
        let status: Status =
            switch error.code {
            case .damage: .damage
            case .log(let inner):
                switch inner.code {
                case .damage: .damage
                // The tool has opened the store before, so a file is missing that the store lists.
                case .storage(let inner) where inner.code == .notFound: .damage
                default: .input
                }
            case .versionNotYet, .versionNotRetained: .usage
            default: .input
            }
        self.init(status, "\(error)")
    }

    /// An error of Firn's own store, which the subcommands that make stores use.
    init(_ error: StoreError, _ new: String) {
        self.init(ToolError(reading: error).status, "\(new) was not made: \(error)")
    }
}
