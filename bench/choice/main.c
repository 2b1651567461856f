/* main.c - scores the choice of a library: products, transforms, linear algebra and contractions.
 *
 *     choice [family ...] [--threads N|all] [--fixed N] [--random N] [--seconds N] [--seed S] [--tuned]
 *
 * All families, one thread, all fixed problems, and 200 random ones of each family (seed 1) by default. --fixed N takes
 * the first N fixed ones of each family; --seconds N ends the random ones of each after that time. Every candidate runs
 * a plan of its own, in interleaved turns on random data. The score of a problem is the time of the chosen candidate
 * divided by the time of the fastest one. The choice by estimates (calibration=off), the choice by measured times and,
 * with
 * --tuned, the choice after tuning are scored by the same times. Problems that one candidate alone accepts are not
 * scored. The line of a problem ends with the time of each candidate in ns, and the expected time in parentheses.
 *
 * The machine is calibrated first. Without BACKPLANE_CACHE_DIR this is done in a temporary folder, in about a minute;
 * with it, only what has no times there is measured, and records of tuned classes are added. BACKPLANE_CALIBRATION=off
 * omits it; both choices are then by estimates.
 */
#include "choice.h"

#include "../timing.h"

#include <dirent.h>
#include <unistd.h>

typedef struct arguments {
    const family *families[4];
    int count;
    int threads; /* 0: all */
    int fixed, random, seed;
    int seconds; /* for the random problems of a family; 0: no limit */
    bool tuned;
} arguments;

static const family *const all_families[] = {&family_products, &family_transforms, &family_linalg,
                                             &family_contractions};
enum { FAMILIES = sizeof all_families / sizeof *all_families };

/* ---- Arguments ---- */

static void usage(const char *what, const char *value) {
    fprintf(stderr,
            "choice: %s '%s'\nusage: choice [products|transforms|linalg|contractions ...] [--threads N|all] "
            "[--fixed N] [--random N] [--seconds N] [--seed S] [--tuned]\n",
            what, value);
    exit(2);
}

/* Reads a number; 0 is allowed. `text` is NULL at the end of the arguments. */
static int number(const char *text) {
    char *end = NULL;
    const bool zero = text && strcmp(text, "0") == 0;
    const int value = text && !zero ? timing_number(text, &end) : 0;
    if (!zero && (value == 0 || *end)) {
        usage("not a number:", text ? text : "");
    }
    return value;
}

static const family *family_named(const char *name) {
    for (int i = 0; i < FAMILIES; i++) {
        if (strcmp(all_families[i]->name, name) == 0) {
            return all_families[i];
        }
    }
    usage("unknown argument", name);
    return NULL;
}

static arguments read_arguments(char **argv) {
    arguments a = {.threads = 1, .fixed = -1, .random = 200, .seed = 1};
    for (char **word = argv + 1; *word; word++) {
        if (strcmp(*word, "--tuned") == 0) {
            a.tuned = true;
        } else if (strcmp(*word, "--threads") == 0) {
            word++;
            a.threads = *word && strcmp(*word, "all") == 0 ? 0 : number(*word);
        } else if (strcmp(*word, "--fixed") == 0) {
            a.fixed = number(*++word);
        } else if (strcmp(*word, "--random") == 0) {
            a.random = number(*++word);
        } else if (strcmp(*word, "--seconds") == 0) {
            a.seconds = number(*++word);
        } else if (strcmp(*word, "--seed") == 0) {
            a.seed = number(*++word);
        } else if (a.count < FAMILIES) {
            a.families[a.count++] = family_named(*word);
        } else {
            usage("one family too many:", *word);
        }
    }
    for (int i = 0; a.count == 0 && i < FAMILIES; i++) {
        a.families[i] = all_families[i];
    }
    a.count = a.count ? a.count : FAMILIES;
    return a;
}

/* ---- The cache directory ---- */

static char temporary[256]; /* "" if the caller named one */

static void remove_temporary(void) {
    DIR *folder = *temporary ? opendir(temporary) : NULL;
    if (!folder) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
    rmdir(temporary);
}

static void make_temporary(void) {
    const char *parent = getenv("TMPDIR");
    if (getenv("BACKPLANE_CACHE_DIR")) {
        return;
    }
    snprintf(temporary, sizeof temporary, "%s/choice-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(temporary) || setenv("BACKPLANE_CACHE_DIR", temporary, 1) != 0) {
        perror("choice: a temporary folder");
        exit(1);
    }
    atexit(remove_temporary);
}

static void calibrate(void) {
    if (strcmp(bp_get_calibration(), "auto") != 0) {
        printf("not calibrated: calibration=%s\n", bp_get_calibration());
        return;
    }
    const int64_t begin = timing_now();
    must(bp_calibrate(0, NULL, NULL), "bp_calibrate");
    printf("calibrated in %.1f s\n", (double)(timing_now() - begin) / 1e9);
    fflush(stdout);
}

/* ---- Families ---- */

static void run_one(problem *p, const family *f, bool tune) {
    static trial t; /* large */
    p->family = f;
    trial_make(&t, p, tune);
    score_trial(&t);
    trial_release(&t);
    problem_release(p);
}

static void run_family(const family *f, const arguments *a, int threads) {
    static problem p;
    uint64_t state = 88172645463325252u + (uint64_t)a->seed * 7919;
    const int fixed = a->fixed >= 0 && a->fixed < f->fixed ? a->fixed : f->fixed;
    for (int i = 0; i < fixed; i++) {
        memset(&p, 0, sizeof p);
        f->make_fixed(&p, i);
        run_one(&p, f, a->tuned);
    }
    score_summary(f, "fixed", threads, a->tuned);
    const int64_t begin = timing_now();
    for (int i = 0; i < a->random && !(a->seconds > 0 && timing_now() - begin > a->seconds * INT64_C(1000000000));
         i++) {
        memset(&p, 0, sizeof p);
        f->make_random(&p, &state);
        run_one(&p, f, a->tuned);
    }
    score_summary(f, "random", threads, a->tuned);
}

static void print_libraries(void) {
    bp_library_info library = {.struct_size = sizeof library};
    const char *between = "";
    for (int i = 0; bp_library_at(i, &library); i++) {
        if (library.state == BP_LIBRARY_OK) {
            printf("%s%s%s%s", between, library.id, *library.version ? " " : "", library.version);
            between = ", ";
        }
    }
    printf("\n");
}

int main(int argc, char **argv) {
    (void)argc;
    arguments a = read_arguments(argv);
    setenv("KMP_BLOCKTIME", "20", 0); /* otherwise MKL's idle threads spin for 200 ms: see timing_rest() */
    make_temporary();
    bp_machine_info machine = {.struct_size = sizeof machine};
    must(bp_machine(&machine), "bp_machine");
    printf("backplane %s, %s, %s kernels, %d cores available\n", bp_version(), machine.cpu_model, bp_cpu_capability(),
           machine.usable_cpus);
    const int threads = a.threads ? a.threads : machine.usable_cpus;
    must(bp_set_num_threads(threads), "num_threads");
    calibrate();
    print_libraries();
    for (int i = 0; i < a.count; i++) {
        const int64_t begin = timing_now();
        run_family(a.families[i], &a, threads);
        printf("%s took %.0f s\n\n", a.families[i]->name, (double)(timing_now() - begin) / 1e9);
    }
    return 0;
}
