// What Firn uses of the header of this name, which the kit of headers lacks: names, types and values as in Apple's
// open source (libplatform, include/os/os_sync_wait_on_address.h), for `Tools/check apple`.
#ifndef FIRN_STUB_OS_SYNC_WAIT_ON_ADDRESS_H
#define FIRN_STUB_OS_SYNC_WAIT_ON_ADDRESS_H

#include <os/base.h>
#include <os/clock.h>
#include <stddef.h>
#include <stdint.h>

OS_OPTIONS(os_sync_wait_on_address_flags, uint32_t,
    OS_SYNC_WAIT_ON_ADDRESS_NONE = 0x00000000,
    OS_SYNC_WAIT_ON_ADDRESS_SHARED = 0x00000001,
);

OS_OPTIONS(os_sync_wake_by_address_flags, uint32_t,
    OS_SYNC_WAKE_BY_ADDRESS_NONE = 0x00000000,
    OS_SYNC_WAKE_BY_ADDRESS_SHARED = 0x00000001,
);

int os_sync_wait_on_address(void *address, uint64_t value, size_t size, os_sync_wait_on_address_flags_t flags);
int os_sync_wait_on_address_with_timeout(void *address, uint64_t value, size_t size,
                                         os_sync_wait_on_address_flags_t flags, os_clockid_t clockid,
                                         uint64_t timeout_ns);
int os_sync_wake_by_address_any(void *address, size_t size, os_sync_wake_by_address_flags_t flags);
int os_sync_wake_by_address_all(void *address, size_t size, os_sync_wake_by_address_flags_t flags);

#endif
