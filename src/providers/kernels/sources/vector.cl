/* vector.cl - defines the vector of WIDTH numbers of type REAL, and how it is read and written. */
#define VECTOR_OF(type, width) type##width
#define VECTOR_TYPE(type, width) VECTOR_OF(type, width)
typedef VECTOR_TYPE(REAL, WIDTH) vector;
#define LOAD_(width, at, from) vload##width(at, from)
#define LOAD(width, at, from) LOAD_(width, at, from)
#define STORE_(width, x, at, to) vstore##width(x, at, to)
#define STORE(width, x, at, to) STORE_(width, x, at, to)
