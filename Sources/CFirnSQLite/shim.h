#include <sqlite3.h>

// Makes a connection read files that others may have forged: no functions of the file's own schema, no writes to shadow
// tables, and no text that is taken for a column's name, or the other way round. Swift can't call functions with a
// variable number of arguments.
static inline void firn_sqlite_harden(sqlite3 *database) {
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
}
