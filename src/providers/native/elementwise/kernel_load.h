/* kernel_load.h - template: loads a vector of one type, converted to the type that it is computed in. Parameters: as in
 * kernel_each_type.h. */
INLINE VECTOR NAME(load)(const void *from) {
    return LOAD(from);
}
