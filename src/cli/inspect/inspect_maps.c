/* inspect_maps.c - lists the files that a process has mapped as code or data, and opens them. */
#include "inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Facts of a path as the process sees it. */
static bool stat_inside(const inspect_process *p, const char *path, struct stat *facts) {
    char *name = cli_format("/proc/%d/root%s", (int)p->pid, path);
    const bool found = stat(name, facts) == 0;
    free(name);
    return found;
}

bool inspect_same_file(const inspect_process *p, const char *path) {
    struct stat here, there;
    return stat(path, &here) == 0 && stat_inside(p, path, &there) && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

/* Returns whether a path has the kernel's mark of files without a name, and not a name that ends so. */
static bool is_deleted(const inspect_process *p, const char *path, uint64_t inode) {
    const size_t length = strlen(path), mark = sizeof deleted_mark - 1;
    struct stat facts;
    return length > mark && strcmp(path + length - mark, deleted_mark) == 0 &&
           !(stat_inside(p, path, &facts) && facts.st_ino == inode);
}

/* Takes the first line of a file's beginning. */
void inspect_maps_line(inspect_process *p, char *line) {
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
    if (strncmp(path, "/dev/", 5) == 0 || has_file(p, device, inode)) {
        return;
    }
    const bool deleted = is_deleted(p, path, inode);
    const size_t length = strlen(path) - (deleted ? sizeof deleted_mark - 1 : 0);
    p->files = cli_grow(p->files, (size_t)(p->file_count + 1) * sizeof *p->files);
    p->files[p->file_count++] = (inspect_file){.path = cli_format("%.*s", (int)length, path),
                                               .deleted = deleted,
                                               .start = start,
                                               .end = end,
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
        inspect_maps_line(p, line);
    }
    const int error = ferror(file) ? (errno ? errno : EIO) : 0;
    free(line);
    fclose(file);
    return error;
}

/* Opens the name as the process sees it; else the link of the mapping, which works for deleted files too but may need
 * rights; else the name as this process sees it, because a process may get another root after it has mapped the file.
 */
int inspect_open(const inspect_process *p, const inspect_file *f) {
    enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK };
    char *name = cli_format("/proc/%d/root%s", (int)p->pid, f->path);
    char *link = cli_format("/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)p->pid, f->start, f->end);
    int file = f->deleted ? -1 : open(name, FLAGS);
    file = file < 0 ? open(link, FLAGS) : file;
    file = file < 0 && !f->deleted ? open(f->path, FLAGS) : file;
    free(name);
    free(link);
    return file;
}
