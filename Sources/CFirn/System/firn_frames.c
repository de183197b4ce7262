#include "firn_system.h"

bool firn_has_frame_pointers(int limit) {
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
  pthread_attr_t attributes;
  void *start = NULL;
  size_t byte_count = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
  int error = pthread_attr_getstack(&attributes, &start, &byte_count);
  pthread_attr_destroy(&attributes);
  if (error != 0) return false;
  // A frame begins with the address of its caller's frame, and the return address.
  const uintptr_t frame_byte_count = 2 * sizeof(uintptr_t);
  uintptr_t end = (uintptr_t)start + byte_count - frame_byte_count;
  uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
  for (int count = 0; count < limit; count++) {
    uintptr_t next = *(const uintptr_t *)frame;
    // The frames of asynchronous Swift functions are marked. They lie in memory of their task.
    if (next >> 60 == 1) return true;
    // Stacks grow downwards, so the chain ends here.
    if (next <= frame) return true;
    if (next > end || next % sizeof(uintptr_t) != 0) return false;
    frame = next;
  }
  return true;
#else
  (void)limit;
  return false;
#endif
}
