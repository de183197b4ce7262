import ArgumentParser
import FirnStorage

/// A moment that the user names, such as `2026-11-27T09:30`.
struct Moment: ExpressibleByArgument {
    /// The number of nanoseconds since 1970.
    var nanoseconds: Int64
    /// The last nanosecond of the day, minute, second or fraction that the text ends with.
    let last: Int64

    init?(argument: String) {
        guard let moment = TimeText.nanoseconds(of: argument), let unit = TimeText.instant(of: argument)?.unit else {
            return nil
        }
        nanoseconds = moment
        last = moment.addingReportingOverflow(unit - 1).overflow ? .max : moment + unit - 1
    }

    static let help =
        "as 2026-11-27, 2026-11-27T09:30 or 2026-11-27T09:30:15.250+01:00; in UTC, unless it says otherwise"
}

/// A version that the user names: by its number, or as the newest one at a moment. A moment includes all of its last
/// unit, because `log` shows milliseconds.
enum VersionChoice: ExpressibleByArgument {
    case number(UInt64)
    case moment(Moment)

    init?(argument: String) {
        if let number = UInt64(argument) {
            self = .number(number)
        } else if let moment = Moment(argument: argument) {
            self = .moment(moment)
        } else {
            return nil
        }
    }

    /// The version's number.
    ///
    /// A moment is looked up in the headers of the log's frames, and in the checkpoint if the log begins later. For the
    /// present and every later moment, it is the newest version, even if the clock was ahead at its commit.
    func number(in store: OpenedStore, now: Int64 = SystemClock.shared.now()) throws -> UInt64 {
        let moment: Int64
        switch self {
        case .number(let number): return number
        case .moment(let given): moment = given.last >= now ? .max : given.last
        }
        var found: UInt64?
        var oldest: (version: UInt64, time: Int64)?
        var damage: Finding?
        _ = try LogWalk(store: store).run { event in
            switch event {
            case .commit(let frame, _):
                if oldest == nil { oldest = (frame.version, frame.time) }
                if frame.time <= moment { found = frame.version }
                return frame.time <= moment
            case .finding(let finding): if finding.kind == .damage { damage = finding }
            default: break
            }
            return true
        }
        // Versions behind the damage may also be older than the moment.
        if let damage { throw ToolError(damage) }
        if let found { return found }
        if let checkpoint = try store.openCheckpoint().checkpoint {
            if checkpoint.footer.time <= moment { return checkpoint.footer.version }
            oldest = oldest ?? (checkpoint.footer.version, checkpoint.footer.time)
        }
        let path = store.files.path
        guard let oldest else { throw ToolError(.usage, "\(path) holds no version.") }
        throw ToolError(
            .usage,
            "\(path) holds no version as old as that: the oldest one, \(oldest.version), is of \(TimeText.milliseconds(oldest.time))."
        )
    }
}
