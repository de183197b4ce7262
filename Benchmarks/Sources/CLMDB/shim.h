#ifndef FIRN_BENCH_CLMDB_H
#define FIRN_BENCH_CLMDB_H

#include <lmdb.h>

#endif
