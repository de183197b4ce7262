// Twelve small programs as people write them for RealmSwift: models of 2016, of 2020 and of today, repositories,
// reactive wrappers, predicates, actors, migrations, suites of tests. Each says that it has passed, or which lines have
// failed. `RealmProgramTests` runs them; they are a process of their own because they change the default configuration.
try run01()
try run02()
try run03()
try run04()
try run05()
try run06()
try run07()
try run09()
try run10()
try run11()
try run12()
// The last one, because from its first suspension on the main queue's blocks run the program, and so no run loop does.
try await run08()
