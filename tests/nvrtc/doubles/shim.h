/* shim.h - makes a C++ compiler of the host take CUDA C++, as far as our kernels use it, and runs a kernel's threads.
 *
 * A block's threads run on stacks of their own in one thread of the host, so that __syncthreads() works: each runs
 * until a barrier, then the next one. Blocks run one after another. Memory that a block shares is static. */
/* C's headers alone: to read the headers of C++ takes longer than to compile most kernels. */
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#undef INFINITY
#undef NAN
#undef DBL_MAX
#undef FLT_MAX
#undef CHAR_MIN
#undef CHAR_MAX
#undef UCHAR_MAX
#undef SHRT_MIN
#undef SHRT_MAX
#undef USHRT_MAX
#undef UINT_MAX
#undef ULONG_MAX
#undef INT_MIN
#undef INT_MAX
#undef LONG_MIN
#undef LONG_MAX
#define __align__(n) alignas(n)
#define __device__
#define __shared__ static
#define __launch_bounds__(...)

/* ---- Vectors ---- */

struct uint3 {
    unsigned x, y, z;
};
#define SHIM_VECTORS(T, V)                                                                                             \
    struct alignas(2 * sizeof(T)) V##2 {                                                                               \
        T x, y;                                                                                                        \
    };                                                                                                                 \
    struct alignas(16) V##4 {                                                                                          \
        T x, y, z, w;                                                                                                  \
    };                                                                                                                 \
    inline V##2 make_##V##2(T x, T y) {                                                                                \
        return {x, y};                                                                                                 \
    }                                                                                                                  \
    inline V##4 make_##V##4(T x, T y, T z, T w) {                                                                      \
        return {x, y, z, w};                                                                                           \
    }
SHIM_VECTORS(float, float)
SHIM_VECTORS(double, double)
SHIM_VECTORS(unsigned, uint)
SHIM_VECTORS(unsigned long, ulong)

/* ---- Functions that CUDA has built in ---- */

template <class To, class From> inline To shim_bits(From x) {
    static_assert(sizeof(To) == sizeof(From), "as wide");
    To made;
    memcpy(&made, &x, sizeof made);
    return made;
}
inline float __int_as_float(int x) {
    return shim_bits<float>(x);
}
inline float __uint_as_float(unsigned x) {
    return shim_bits<float>(x);
}
inline int __float_as_int(float x) {
    return shim_bits<int>(x);
}
inline unsigned __float_as_uint(float x) {
    return shim_bits<unsigned>(x);
}
inline double __longlong_as_double(long long x) {
    return shim_bits<double>(x);
}
inline long long __double_as_longlong(double x) {
    return shim_bits<long long>(x);
}
inline int __clz(int x) {
    return x ? __builtin_clz((unsigned)x) : 32;
}
inline int __clzll(long long x) {
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((unsigned long long)a * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline float __ll2float_rn(long long x) {
    return (float)x;
}
inline float __ull2float_rn(unsigned long long x) {
    return (float)x;
}
inline float __int2float_rn(int x) {
    return (float)x;
}
inline float __uint2float_rn(unsigned x) {
    return (float)x;
}
inline float __double2float_rn(double x) {
    return (float)x;
}
inline double __ll2double_rn(long long x) {
    return (double)x;
}
inline double __ull2double_rn(unsigned long long x) {
    return (double)x;
}
#define SHIM_ORDER(T)                                                                                                  \
    inline T min(T a, T b) {                                                                                           \
        return b < a ? b : a;                                                                                          \
    }                                                                                                                  \
    inline T max(T a, T b) {                                                                                           \
        return a < b ? b : a;                                                                                          \
    }
SHIM_ORDER(int)
SHIM_ORDER(unsigned)
SHIM_ORDER(long)
SHIM_ORDER(unsigned long)

inline float sqrt(float x) {
    return sqrtf(x);
}
inline float fmod(float a, float b) {
    return fmodf(a, b);
}
inline float fma(float a, float b, float c) {
    return fmaf(a, b, c);
}

/* ---- Threads ---- */

static uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace shim {

/* Each thread of a block has a stack, on which it runs one block after another. The first switch to a stack takes the C
 * library's function, later ones the compiler's, which make no system call. */
enum { THREADS_MOST = 1024, STACK_BYTES = 128 << 10 };
struct thread {
    void *at[5];
    bool started, done;
};
static thread threads[THREADS_MOST];
static struct owned { /* until the program is unloaded */
    char *bytes;
    ~owned() {
        free(bytes);
    }
} stacks;
static void *scheduler[5];
static unsigned current;
static void (*body)(void *);
static void *argument;

__attribute__((noinline, noreturn)) static void jump_to_scheduler() {
    __builtin_longjmp(scheduler, 1);
}

__attribute__((noinline)) static void wait() {
    if (__builtin_setjmp(threads[current].at) == 0) {
        jump_to_scheduler();
    }
}

static void enter() {
    for (;;) {
        body(argument);
        threads[current].done = true;
        wait();
    }
}

__attribute__((noinline, noreturn)) static void jump_to_thread() {
    thread *next = &threads[current];
    if (next->started) {
        __builtin_longjmp(next->at, 1);
    }
    ucontext_t first;
    next->started = true;
    getcontext(&first);
    first.uc_stack.ss_sp = stacks.bytes + (size_t)current * STACK_BYTES;
    first.uc_stack.ss_size = STACK_BYTES;
    first.uc_link = NULL;
    makecontext(&first, enter, 0);
    setcontext(&first);
    abort();
}

/* Runs a thread until its next barrier, or its end. */
__attribute__((noinline)) static void resume(unsigned t) {
    current = t;
    threadIdx.x = t % blockDim.x;
    threadIdx.y = t / blockDim.x % blockDim.y;
    threadIdx.z = t / blockDim.x / blockDim.y;
    if (__builtin_setjmp(scheduler) == 0) {
        jump_to_thread();
    }
}

/* Runs a block: between two barriers all threads, in order. A thread that ends while others wait is an error. */
static void block() {
    const unsigned count = blockDim.x * blockDim.y * blockDim.z;
    for (unsigned t = 0; t < count; t++) {
        threads[t].done = false;
    }
    for (unsigned done = 0; done == 0;) {
        for (unsigned t = 0; t < count; t++) {
            resume(t);
            done += threads[t].done;
        }
        if (done != 0 && done != count) {
            fprintf(stderr, "the threads of a block wait at different barriers\n");
            abort();
        }
    }
}

typedef uint64_t translator(uint64_t);

template <class T> struct is_pointer { static constexpr bool value = false; };
template <class T> struct is_pointer<T *> { static constexpr bool value = true; };

/* indices_below<3>::type is indices<0, 1, 2>. */
template <size_t...> struct indices {};
template <size_t N, size_t... I> struct indices_below : indices_below<N - 1, N - 1, I...> {};
template <size_t... I> struct indices_below<0, I...> { typedef indices<I...> type; };

/* Returns an argument; an address of the device becomes one of the host. */
template <class T> T argument_of(void *at, translator *translate) {
    T value;
    memcpy(&value, at, sizeof value);
    if constexpr (is_pointer<T>::value) {
        value = (T)translate((uint64_t)value);
    }
    return value;
}

template <class... A> struct entry {
    static void sizes(size_t *list) {
        const size_t all[] = {sizeof(A)..., 0};
        memcpy(list, all, sizeof all);
    }
    template <size_t... I>
    static void run(void (*kernel)(A...), void **at, const unsigned *shape, translator *translate, indices<I...>) {
        run_with(kernel, shape, argument_of<A>(at[I], translate)...);
    }
    static void run_with(void (*kernel)(A...), const unsigned *shape, A... arguments) {
        auto call = [&] { kernel(arguments...); };
        body = [](void *opaque) { (*(decltype(call) *)opaque)(); };
        argument = &call;
        stacks.bytes = stacks.bytes ? stacks.bytes : (char *)malloc((size_t)THREADS_MOST * STACK_BYTES);
        gridDim = {shape[0], shape[1], shape[2]};
        blockDim = {shape[3], shape[4], shape[5]};
        for (blockIdx.z = 0; blockIdx.z < gridDim.z; blockIdx.z++) {
            for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++) {
                for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
                    block();
                }
            }
        }
    }
};
template <class... A> entry<A...> entry_of(void (*)(A...)) {
    return {};
}
template <class... A> void run(void (*kernel)(A...), void **at, const unsigned *shape, translator *translate) {
    entry<A...>::run(kernel, at, shape, translate, typename indices_below<sizeof...(A)>::type());
}

} // namespace shim

#define __syncthreads() shim::wait()

/* What the double of the driver calls for a kernel. */
#define SHIM_ENTRY(name)                                                                                               \
    extern "C" void shim_sizes_##name(size_t *sizes) {                                                                 \
        decltype(shim::entry_of(name))::sizes(sizes);                                                                  \
    }                                                                                                                  \
    extern "C" void shim_run_##name(void **arguments, const unsigned *shape, shim::translator *translate) {            \
        shim::run(name, arguments, shape, translate);                                                                  \
    }
