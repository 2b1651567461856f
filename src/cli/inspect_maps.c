/* inspect_maps.c - lists the files that a process has mapped as code or data, and opens them. */
#include "inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char deleted_mark[] = " (deleted)";

static bool has_file(const inspect_process *p, uint64_t device, uint64_t inode) {
    for (int i = 0; i < p->file_count; i++) {
        if (p->files[i].device == device && p->files[i].inode == inode) {
            return true;
        }
    }
    return false;
}

/* Takes a line of /proc/PID/maps if it is the first one of a file's beginning. */
static void add_line(inspect_process *p, char *line) {
    uint64_t start, end, offset, inode;
    unsigned major, minor;
    char rights[8];
    int used = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &start, &end, rights, &offset,
               &major, &minor, &inode, &used) != 7 ||
        used == 0 || inode == 0 || offset != 0 || line[used] != '/') {
        return;
    }
    const uint64_t device = (uint64_t)major << 32 | minor;
    char *path = line + used;
    const size_t length = strlen(path), mark = sizeof deleted_mark - 1;
    const bool deleted = length > mark && strcmp(path + length - mark, deleted_mark) == 0;
    if (strncmp(path, "/dev/", 5) == 0 || has_file(p, device, inode)) {
        return;
    }
    p->files = cli_grow(p->files, (size_t)(p->file_count + 1) * sizeof *p->files);
    p->files[p->file_count++] =
        (inspect_file){.path = cli_format("%.*s", (int)(deleted ? length - mark : length), path),
                       .deleted = deleted,
                       .start = start,
                       .device = device,
                       .inode = inode};
}

int inspect_maps(inspect_process *p) {
    char *path = cli_format("/proc/%d/maps", (int)p->pid), *line = NULL;
    FILE *file = fopen(path, "re");
    size_t size = 0;
    free(path);
    if (!file) {
        return errno;
    }
    errno = 0;
    while (getline(&line, &size, file) >= 0) {
        add_line(p, line);
    }
    const int error = ferror(file) ? (errno ? errno : EIO) : 0;
    free(line);
    fclose(file);
    return error;
}

/* Opens the link of the mapping, which works for deleted files too but may need rights; else the name as the process
 * sees it. */
int inspect_open(const inspect_process *p, const inspect_file *f) {
    char *links = cli_format("/proc/%d/map_files", (int)p->pid);
    char *name = cli_format("/proc/%d/root%s", (int)p->pid, f->path);
    int file = f->deleted ? -1 : open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        char *maps = cli_format("/proc/%d/maps", (int)p->pid), *line = NULL;
        FILE *list = fopen(maps, "re");
        size_t size = 0;
        while (list && file < 0 && getline(&line, &size, list) >= 0) {
            uint64_t start, end;
            if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && start == f->start) {
                char *link = cli_format("%s/%" PRIx64 "-%" PRIx64, links, start, end);
                file = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
                free(link);
            }
        }
        if (list) {
            fclose(list);
        }
        free(line);
        free(maps);
    }
    if (file < 0 && !f->deleted) {
        file = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    free(name);
    free(links);
    return file;
}
