import Firn

// Firn's functions take the line of the call, by default arguments, which a requirement of a protocol can't have. So a
// protocol that a program writes for RealmSwift's types, such as one for a mock of `Realm`, finds no witness in them.
// The functions in the files named `…+Requirements` have RealmSwift's own signatures, and are such witnesses. A call
// that does not go through a protocol never takes them, because they are disfavoured.

/// What stands for the line of a call that went through a protocol, in messages and in `Realm.activeVersions`.
let throughProtocol: StaticString = "a call through a protocol"
