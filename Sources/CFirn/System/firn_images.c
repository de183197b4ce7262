#include "firn_images.h"

#include <string.h>

// Images of the toolchain have many types, but none of the application's classes, so they are skipped.
static int is_toolchain(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return !strncmp(name, "libswift", 8) || !strncmp(name, "libFoundation", 13) || !strncmp(name, "lib_Foundation", 14) ||
           !strncmp(name, "ld-", 3) || !strncmp(name, "libc.", 5);
}

#if defined(__APPLE__)

#include <mach-o/dyld.h>
#include <mach-o/getsect.h>

int firn_each_type_section(firn_section_visitor visitor, void *context) {
    uint32_t count = _dyld_image_count();
    for (uint32_t i = 0; i < count; i++) {
        const char *name = _dyld_get_image_name(i);
        if (!name || is_toolchain(name) || !strncmp(name, "/usr/lib/", 9) || !strncmp(name, "/System/", 8)) continue;
        unsigned long length = 0;
        const uint8_t *start =
            getsectiondata((const struct mach_header_64 *)_dyld_get_image_header(i), "__TEXT", "__swift5_types", &length);
        if (start && length) visitor(start, length, context);
    }
    return 0;
}

#elif defined(__linux__)

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct walk {
    firn_section_visitor visitor;
    void *context;
    int unreadable;
};

// The section headers are not loaded into memory, only the sections' bytes are. So the addresses of the sections are
// read from the file.
static int read_image(const ElfW(Ehdr) * header, size_t length, uintptr_t base, struct walk *walk) {
    if (length < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG)) return 0;
    if (header->e_shentsize != sizeof(ElfW(Shdr)) || header->e_shoff % sizeof(uint64_t)) return 0;
    size_t count = header->e_shnum, names = header->e_shstrndx;
    if (!count || names >= count || header->e_shoff > length) return 0;
    if (count > (length - header->e_shoff) / sizeof(ElfW(Shdr))) return 0;
    const ElfW(Shdr) *sections = (const ElfW(Shdr) *)((const char *)header + header->e_shoff);
    const ElfW(Shdr) *table = &sections[names];
    if (table->sh_offset > length || table->sh_size > length - table->sh_offset || !table->sh_size) return 0;
    const char *text = (const char *)header + table->sh_offset;
    if (text[table->sh_size - 1]) return 0;
    for (size_t i = 0; i < count; i++) {
        if (sections[i].sh_name >= table->sh_size || !(sections[i].sh_flags & SHF_ALLOC)) continue;
        if (strcmp(text + sections[i].sh_name, "swift5_type_metadata")) continue;
        if (sections[i].sh_size) walk->visitor((const void *)(base + sections[i].sh_addr), sections[i].sh_size, walk->context);
    }
    return 1;
}

static int visit(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    struct walk *walk = context;
    const char *path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    if (is_toolchain(path) || strstr(path, "linux-vdso")) return 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        walk->unreadable++;
        return 0;
    }
    struct stat status;
    int good = 0;
    if (!fstat(file, &status) && status.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) {
            good = read_image(bytes, (size_t)status.st_size, info->dlpi_addr, walk);
            munmap(bytes, (size_t)status.st_size);
        }
    }
    close(file);
    if (!good) walk->unreadable++;
    return 0;
}

int firn_each_type_section(firn_section_visitor visitor, void *context) {
    struct walk walk = {visitor, context, 0};
    dl_iterate_phdr(visit, &walk);
    return walk.unreadable;
}

#else

int firn_each_type_section(firn_section_visitor visitor, void *context) {
    (void)visitor;
    (void)context;
    return 1;
}

#endif
