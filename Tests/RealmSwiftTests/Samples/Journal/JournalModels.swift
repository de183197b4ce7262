import Foundation
import RealmSwift

/// A page of a journal, as the current version of the application has it: version 4.
class JournalEntry: Object {
    @Persisted(primaryKey: true) var _id: UUID
    @Persisted var title = ""
    @Persisted(indexed: true) var date: Date
    @Persisted var mood: Int?
    @Persisted var tags: List<String>
    @Persisted var author: JournalAuthor?
    @Persisted var place: JournalPlace?

    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class JournalAuthor: Object {
    @Persisted(primaryKey: true) var fullName: String
    @Persisted(originProperty: "author") var entries: LinkingObjects<JournalEntry>

    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class JournalPlace: EmbeddedObject {
    @Persisted var city = ""
    @Persisted var country = ""

    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// What a list of pages shows of them.
class JournalLine: Projection<JournalEntry> {
    @Projected(\JournalEntry.title) var heading
    @Projected(\JournalEntry.author?.fullName) var author
    @Projected(\JournalEntry.place?.city) var city
    @Projected(\JournalEntry.title.count) var length
    @Projected(\JournalEntry.tags) var tags: List<String>
}

class JournalShelf: Projection<JournalAuthor> {
    @Projected(\JournalAuthor.fullName) var name: String
    @Projected(\JournalAuthor.entries.projectTo.title) var titles: ProjectedCollection<String>
}
