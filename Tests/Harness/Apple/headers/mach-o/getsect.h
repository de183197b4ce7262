// What Firn uses of the header of this name, which the kit of headers lacks: as in Apple's open source (cctools), for
// `Tools/check apple`.
#ifndef FIRN_STUB_GETSECT_H
#define FIRN_STUB_GETSECT_H

#include <mach-o/loader.h>
#include <stdint.h>

extern uint8_t *getsectiondata(const struct mach_header_64 *mhp, const char *segname, const char *sectname,
                               unsigned long *size);

#endif
