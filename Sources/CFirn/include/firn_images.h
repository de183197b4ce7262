#ifndef FIRN_IMAGES_H
#define FIRN_IMAGES_H

// Finds the list of Swift type descriptors in each loaded image. The Swift runtime does not expose these lists, so the
// sections that the linker wrote are read: by the section headers of the image's file on ELF, by name on Mach-O.

#include <stddef.h>

// Called with the start and length of one section: 32-bit offsets, each relative to its own address.
typedef void (*firn_section_visitor)(const void *_Nonnull start, size_t length, void *_Nullable context);

// Visits the type sections of all loaded images except Swift's own, and returns how many images could not be read.
int firn_each_type_section(firn_section_visitor _Nonnull visitor, void *_Nullable context);

#endif
