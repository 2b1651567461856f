/* ranks.h - declares what the programs share that a launcher starts on several ranks. */
#ifndef RANKS_H
#define RANKS_H

#include <backplane.h>

#include <stdbool.h>

extern bp_comm *ranks_comm;
extern int ranks_rank, ranks_size;

/* Opens the communicator; ends the program if that fails. */
void ranks_open(void);

/* Checks a condition on this rank. A failure is printed, and the program then ends with 1. */
#define CHECK(condition, ...) ranks_check(condition, __FILE__, __LINE__, __VA_ARGS__)
bool ranks_check(bool condition, const char *file, int line, const char *format, ...) BP_PRINTF(4, 5);

/* Calls `check` with square blocks of three sizes on each grid of all ranks, with several sources. `all`: whether
 * nothing is left out (TESTED_ALL). */
void ranks_each_distribution(void (*check)(const bp_dist *like, bool all));

/* Prints the count of checks of all ranks, closes the communicator, and returns the exit code. */
int ranks_end(void);

/* A distributed matrix with its memory. */
typedef struct ranks_matrix {
    bp_dist dist;
    bp_dist_view view;
    void *memory;
    bp_dtype dtype;
} ranks_matrix;

/* Returns the real (part 0) or imaginary part (1) of element (i, j). */
typedef double (*ranks_value)(int64_t i, int64_t j, int part);

/* Makes a matrix; `like` has the grid, block and source. Values are NULL for undefined contents. */
void ranks_make(ranks_matrix *m, const bp_dist *like, bp_dtype dtype, int64_t rows, int64_t columns, ranks_value value);
void ranks_free(ranks_matrix *m);

/* Copies the matrix to rank 0, where *view has it as a column-major matrix in memory to free; elsewhere NULL. */
void *ranks_gather(const ranks_matrix *m, bp_view *view);

/* Values: without structure; symmetric, or Hermitian, and positive definite after ranks_size_of_matrix on the diagonal.
 */
double ranks_random(int64_t i, int64_t j, int part);
double ranks_random_b(int64_t i, int64_t j, int part);
double ranks_positive(int64_t i, int64_t j, int part);
double ranks_diagonal_heavy(int64_t i, int64_t j, int part);
extern double ranks_shift; /* on the diagonal of ranks_positive */

#endif
