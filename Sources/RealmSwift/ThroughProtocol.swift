import Firn

// Firn's functions have default arguments for the file and line of the call. A function with default arguments can't
// satisfy a requirement without these parameters. So a protocol that a program writes for RealmSwift's types, such as
// one for a mock of `Realm`, finds no witnesses in Firn. The functions in the files named `…+Requirements` are the
// witnesses: they have RealmSwift's own signatures. A call that does not go through a protocol never uses them, because
// they are disfavoured.

/// The file that messages and `Realm.activeVersions` name for a call that went through a protocol.
let throughProtocol: StaticString = "a call through a protocol"
