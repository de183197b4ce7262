#ifndef FIRN_BENCH_CSQLITE_H
#define FIRN_BENCH_CSQLITE_H

#include <sqlite3.h>

// sqlite3_config is variadic, so Swift can't call it. SQLite's memory statistics cost a global mutex at each
// allocation, so a tuned SQLite turns them off. Must be called before the first connection.
static inline int firn_bench_sqlite_without_statistics(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

#endif
