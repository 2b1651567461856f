/* classes.c - searches the table of what is measured. */
#include "calibration/classes.h"

#include <string.h>

const int64_t bp__first_sizes[BP__FIRST_POINTS][BP__LATTICE_DIMENSIONS] = {
    {1, 1, 1},     {4, 4, 4},     {16, 16, 16},  {64, 64, 64},   {64, 256, 64},
    {1, 256, 256}, {256, 1, 256}, {256, 256, 1}, {1024, 16, 16}, {16, 16, 1024},
};

bp__class_set bp__first_classes(void) {
    bp__class_set first = {{0}};
    for (int i = 0; i < BP__CLASSES; i++) {
        bp__class_add(&first, i, bp__classes[i].first);
    }
    return first;
}

bp__class_set bp__all_classes(void) {
    bp__class_set all = {{0}};
    for (int i = 0; i < BP__CLASSES; i++) {
        bp__class_add(&all, i, true);
    }
    return all;
}

int bp__class_find(bp_op op, bp_dtype dtype, int variant) {
    for (int i = 0; i < BP__CLASSES; i++) {
        if (bp__classes[i].op == op && bp__classes[i].dtype == dtype && bp__classes[i].variant == variant) {
            return i;
        }
    }
    return -1;
}

int bp__class_base(bp_dtype dtype) {
    for (int i = 0; i < BP__CLASSES; i++) {
        if (bp__class_is_base(&bp__classes[i]) && bp__classes[i].dtype == dtype) {
            return i;
        }
    }
    return -1;
}

int bp__class_named(const char *name) {
    for (int i = 0; i < BP__CLASSES; i++) {
        if (strcmp(bp__classes[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}
