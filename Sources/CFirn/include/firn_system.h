#ifndef FIRN_SYSTEM_H
#define FIRN_SYSTEM_H
#endif
