#include "firn_system.h"

// The stack may have frames of code without frame pointers, whose words mean nothing to a sanitizer either.
__attribute__((no_sanitize("address"))) int firn_frames_between(const void *frame, const void *start, const void *end,
                                                                int limit) {
  // A frame begins with the address of its caller's frame, and the return address.
  uintptr_t next = (uintptr_t)frame;
  uintptr_t last = (uintptr_t)end - 2 * sizeof(uintptr_t);
  int count = 0;
  while (count < limit && next >= (uintptr_t)start && next <= last && next % sizeof(uintptr_t) == 0) {
    count++;
    uintptr_t caller = *(const uintptr_t *)next;
    // Stacks grow downwards, so the chain ends here.
    if (caller <= next) break;
    next = caller;
  }
  return count;
}

int firn_frame_count(int limit) {
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
  pthread_attr_t attributes;
  void *start = NULL;
  size_t byte_count = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  int error = pthread_attr_getstack(&attributes, &start, &byte_count);
  pthread_attr_destroy(&attributes);
  if (error != 0) return 0;
  return firn_frames_between(__builtin_frame_address(0), start, (const char *)start + byte_count, limit);
#else
  (void)limit;
  return 0;
#endif
}
