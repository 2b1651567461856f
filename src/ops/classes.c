/* classes.c - makes the table of what calibration measures from the lists of the families: each has one in its
 * classes.h. The build writes the header that includes all of them. */
#include "calibration/classes.h"
#include "ops/class_lists.h"

const bp__class bp__classes[] = {
#define X(unused, family, ...) BP__CLASSES_OF_##family
    BP_FAMILY_MAP(X, )
#undef X
};
_Static_assert(sizeof bp__classes / sizeof *bp__classes == BP__CLASSES,
               "BP__CLASSES of calibration/classes.h is not the number of all rows in src/ops/*/classes.h");
