/// What a part of a commit contains.
package enum LogPartKind: Sendable, Equatable {
    /// The complete schema, as it is from this commit on.
    case schema
    /// A changeset, or a piece of one.
    case changes

    var frameKind: FrameHeader.Kind { self == .schema ? .schema : .changes }
}
