/* nvrtc.c - the double of libnvrtc.so.13. */
#include "double.h"

#include "providers/nvrtc/api.h"

#include "backplane/version.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define X(name, symbol, parameters) BP_API nvrtcResult symbol parameters;
BP__NVRTC_FUNCTIONS(X)
#undef X
BP_API nvrtcResult nvrtcVersion(int *major, int *minor);
BP_API extern nvrtc_controls nvrtc_double;
nvrtc_controls nvrtc_double;

enum { COMMAND_MOST = 8192, NAMES_MOST = 128, NAME_BYTES = 64 };
#define KEPT BP_TEST_BUILD_DIR "/test-kernels/nvrtc"

struct _nvrtcProgram {
    char *source, *header, *header_name;
    char *code;
    size_t code_size;
    char log[4096];
};

static void violate(const char *what) {
    if (nvrtc_double.violations++ == 0) {
        snprintf(nvrtc_double.violation, sizeof nvrtc_double.violation, "%s", what);
    }
}

nvrtcResult nvrtcVersion(int *major, int *minor) {
    *major = 13;
    *minor = 0;
    return BP__NVRTC_SUCCESS;
}

/* ---- Programs ---- */

nvrtcResult nvrtcCreateProgram(nvrtcProgram *made, const char *source, const char *name, int header_count,
                               const char *const *headers, const char *const *names) {
    struct _nvrtcProgram *fresh = calloc(1, sizeof *fresh);
    if (!fresh || header_count != 1 || !name) {
        free(fresh);
        return BP__NVRTC_ERROR_INVALID_INPUT;
    }
    fresh->source = strdup(source);
    fresh->header = strdup(headers[0]);
    fresh->header_name = strdup(names[0]);
    nvrtc_double.programs++;
    *made = fresh;
    return BP__NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
    free((*program)->source);
    free((*program)->header);
    free((*program)->header_name);
    free((*program)->code);
    free(*program);
    *program = NULL;
    nvrtc_double.programs--;
    return BP__NVRTC_SUCCESS;
}

static int newest(void) {
    return nvrtc_double.newest ? nvrtc_double.newest : 120;
}

static const int targets[] = {75, 80, 86, 89, 90, 100, 120};

nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
    *count = 0;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        *count += targets[i] <= newest();
    }
    return BP__NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int *list) {
    int count;
    nvrtcGetNumSupportedArchs(&count);
    memcpy(list, targets, (size_t)count * sizeof *list);
    return BP__NVRTC_SUCCESS;
}

/* ---- Compiling ---- */

static bool write_text(const char *folder, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    const bool written = file && fputs(text, file) >= 0;
    return file && fclose(file) == 0 && written;
}

/* Checks the options, and adds the definitions to a command. */
static nvrtcResult take_options(int count, const char *const *options, char *command) {
    bool has_target = false, on_device = false, separate = false;
    for (int i = 0; i < count; i++) {
        const char *each = options[i];
        if (strncmp(each, "--gpu-architecture=", 19) == 0) {
            snprintf(nvrtc_double.target, sizeof nvrtc_double.target, "%s", each + 19);
            has_target = true;
        } else if (strncmp(each, "-D", 2) == 0 && !strpbrk(each, "'\"\\ ;$`")) {
            snprintf(command + strlen(command), COMMAND_MOST - strlen(command), " '%s'", each);
        } else if (strcmp(each, "--device-as-default-execution-space") == 0) {
            on_device = true;
        } else if (strcmp(each, "--fmad=false") == 0) {
            separate = true;
        } else if (strcmp(each, "--std=c++17") != 0 && strcmp(each, "-w") != 0) {
            return BP__NVRTC_ERROR_INVALID_OPTION;
        }
    }
    if (!has_target || !on_device || !separate) {
        violate("an option is missing");
    }
    return BP__NVRTC_SUCCESS;
}

/* Runs a command, and returns what it writes, up to a size. */
static bool run(const char *command, char *output, size_t size) {
    FILE *pipe = popen(command, "r");
    size_t used = 0, got;
    char rest[4096];
    while (pipe && (got = fread(rest, 1, sizeof rest, pipe)) > 0) {
        const size_t kept = used + got < size ? got : size - 1 - used;
        memcpy(output + used, rest, kept);
        used += kept;
    }
    output[used] = '\0';
    return pipe && pclose(pipe) == 0;
}

/* Adds the entries of all kernels to a text: functions behind the mark that __global__ becomes. */
static bool add_entries(const char *preprocessed, char *text, size_t size) {
    static const char mark[] = "shim_global";
    for (const char *at = preprocessed; (at = strstr(at, mark));) {
        char name[NAME_BYTES];
        const char *open = strchr(at, '(');
        at += sizeof mark - 1;
        if (sscanf(at, " void %63[A-Za-z0-9_]", name) != 1 || !open) {
            return false;
        }
        snprintf(text + strlen(text), size - strlen(text), "SHIM_ENTRY(%s)\n", name);
    }
    return true;
}

/* Compiles the program in a folder, into the file `object`. */
static bool compile_in(const char *folder, struct _nvrtcProgram *program, const char *definitions, const char *object) {
    enum { PREPROCESSED_MOST = 4 << 20, ENTRIES_MOST = 1 << 14 };
    static const char unit[] = "#include NVRTC_SHIM\n#include \"main.cu\"\n";
    char command[COMMAND_MOST], *preprocessed = malloc(PREPROCESSED_MOST), *text = calloc(1, ENTRIES_MOST);
    bool done = preprocessed && text && write_text(folder, "main.cu", program->source) &&
                write_text(folder, program->header_name, program->header) && write_text(folder, "unit.cpp", unit);
    snprintf(command, sizeof command,
             "cd %s && " NVRTC_COMPILER " -E -P -std=c++17 -w '-DNVRTC_SHIM=\"" NVRTC_SHIM
             "\"' -D__global__=shim_global %s unit.cpp 2>errors",
             folder, definitions);
    if (done && run(command, preprocessed, PREPROCESSED_MOST)) {
        strcpy(text, unit);
        done = add_entries(preprocessed, text, ENTRIES_MOST) && write_text(folder, "unit.cpp", text);
        snprintf(command, sizeof command,
                 "cd %s && " NVRTC_COMPILER " -O1 -std=c++17 -w -shared -fPIC -ffp-contract=off -fno-strict-aliasing "
                 "'-DNVRTC_SHIM=\"" NVRTC_SHIM "\"' -D__global__= %s unit.cpp -o object 2>errors && mv object %s",
                 folder, definitions, object);
        done = done && run(command, preprocessed, PREPROCESSED_MOST);
    } else {
        done = false;
    }
    free(preprocessed);
    free(text);
    return done;
}

static bool read_file(const char *path, char **bytes, size_t *size) {
    struct stat facts;
    FILE *file = fopen(path, "r");
    if (!file || fstat(fileno(file), &facts) != 0) {
        return false;
    }
    nvrtc_code *code = calloc(1, sizeof *code + (size_t)facts.st_size);
    const bool read = code && fread(code->object, 1, (size_t)facts.st_size, file) == (size_t)facts.st_size;
    fclose(file);
    if (read) {
        code->magic = NVRTC_CODE_MAGIC;
        code->size = (uint64_t)facts.st_size;
        *bytes = (char *)code;
        *size = sizeof *code + (size_t)facts.st_size;
    }
    return read;
}

static uint64_t hash(uint64_t sum, const char *text) {
    for (; *text; text++) {
        sum = (sum ^ (uint8_t)*text) * 0x100000001b3u;
    }
    return sum;
}

/* Takes a kept object, or compiles one. */
static bool compile(struct _nvrtcProgram *program, const char *definitions) {
    char path[512], folder[] = KEPT "/XXXXXX", command[600];
    const uint64_t key =
        hash(hash(hash(0xcbf29ce484222325u ^ NVRTC_SHIM_HASH, program->source), program->header), definitions);
    snprintf(path, sizeof path, KEPT "/%016llx.so", (unsigned long long)key);
    if (read_file(path, &program->code, &program->code_size)) {
        return true;
    }
    mkdir(BP_TEST_BUILD_DIR "/test-kernels", 0700);
    mkdir(KEPT, 0700);
    if (!mkdtemp(folder)) {
        return false;
    }
    const bool done =
        compile_in(folder, program, definitions, path) && read_file(path, &program->code, &program->code_size);
    snprintf(command, sizeof command, "head -c 4000 %s/errors; rm -rf %s", folder, folder);
    run(command, program->log, sizeof program->log);
    return done;
}

/* Keeps a program for nvrtc_compile_all in the folder that the variable NVRTC_KEEP names. */
static void keep_program(const struct _nvrtcProgram *program, int count, const char *const *options) {
    const char *folder = getenv("NVRTC_KEEP");
    char name[64], list[COMMAND_MOST] = "";
    uint64_t key = hash(0xcbf29ce484222325u, program->header);
    for (int i = 0; i < count; i++) {
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s\n", options[i]);
        key = hash(key, options[i]);
    }
    if (folder) {
        snprintf(name, sizeof name, "%016llx.source", (unsigned long long)key);
        write_text(folder, name, program->header);
        snprintf(name, sizeof name, "%016llx.options", (unsigned long long)key);
        write_text(folder, name, list);
        write_text(folder, "main.cu", program->source);
    }
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options) {
    char definitions[COMMAND_MOST] = "";
    const nvrtcResult status = take_options(count, options, definitions);
    const int refused = atomic_exchange(&nvrtc_double.fail_with, 0);
    nvrtc_double.compilations++;
    if (status != BP__NVRTC_SUCCESS || refused) {
        snprintf(program->log, sizeof program->log, "the double\nrefuses the program");
        return status ? status : (nvrtcResult)refused;
    }
    keep_program(program, count, options);
    return compile(program, definitions) ? BP__NVRTC_SUCCESS : BP__NVRTC_ERROR_COMPILATION;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size) {
    *size = strlen(program->log) + 1;
    return BP__NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) {
    strcpy(log, program->log);
    return BP__NVRTC_SUCCESS;
}

/* There is machine code for a real target, "sm_90", and PTX for a virtual one. */
static nvrtcResult size_of_code(nvrtcProgram program, bool machine_code, size_t *size) {
    const bool real = strncmp(nvrtc_double.target, "sm_", 3) == 0;
    *size = machine_code == real ? program->code_size : 0;
    return program->code ? BP__NVRTC_SUCCESS : BP__NVRTC_ERROR_INVALID_PROGRAM;
}

static nvrtcResult get_code(nvrtcProgram program, char *code) {
    memcpy(code, program->code, program->code_size);
    return BP__NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size) {
    return size_of_code(program, true, size);
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *code) {
    return get_code(program, code);
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size) {
    return size_of_code(program, false, size);
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *code) {
    return get_code(program, code);
}
