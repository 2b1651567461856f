/* fuzz_config.c - reads any bytes as the user file: reading never fails, and a value saved to it is read back. */
#include "settings/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64];
static char path[128];

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void tidy(void) {
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    rmdir(folder);
}

static void start_over(void) {
    bp__settings_reset();
    bp__intern_reset();
    bp__error_reset();
}

/* Makes a separate home, so that no file of the user is touched. */
static void make_home(void) {
    strcpy(folder,
           "/dev/shm/backplane-fuzz-XXXXXX"); /* saving waits for the disk, so a file system in memory is faster */
    if (!mkdtemp(folder)) {
        strcpy(folder, "/tmp/backplane-fuzz-XXXXXX");
        require(mkdtemp(folder) != NULL);
    }
    snprintf(path, sizeof path, "%s/backplane/backplane.conf", folder);
    setenv("XDG_CONFIG_HOME", folder, 1);
    bp__system_file = "/proc/none";
    atexit(tidy);
}

static void write_plainly(const uint8_t *data, size_t size) {
    FILE *file = fopen(path, "wb");
    require(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static void read_all_values(void) {
    for (int i = 0; i < BP_SETTING_COUNT; i++) {
        const char *value, *where;
        bp_layer layer;
        require(bp_get(bp_setting_at(i)->name, &value, &layer, &where) == BP_OK);
    }
    for (int i = 0; bp_config_error_at(i); i++) {
        require(*bp_config_error_at(i));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const values[] = {"plain", "a#b, \"c\\", ""};
    const char *value = values[size % 3];
    if (!*path) {
        make_home();
        require(bp_save_setting("verbose", "0") == BP_OK); /* makes the folder */
    }
    write_plainly(data, size);
    start_over();
    read_all_values();
    require(bp_save_setting("blas.preferred", value) == BP_OK || bp_last_status() == BP_E_OVERFLOW);
    start_over();
    require(size >= BP__LARGEST_FILE - 64 || strcmp(bp_get_blas_preferred(), value) == 0);
    require(bp_save_setting("blas.preferred", NULL) == BP_OK || bp_last_status() == BP_E_OVERFLOW);
    start_over();
    require(*bp_get_blas_preferred() == '\0');
    start_over();
    return 0;
}
