#ifndef FIRN_CRC32C_H
#define FIRN_CRC32C_H
#endif
