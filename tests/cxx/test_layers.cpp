/* test_layers.cpp - checks the functions of layers that are one line in C++, and the options of all short forms. */
#include "backplane.hpp"

#include "check.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

namespace bp = backplane;

template <class Work> static bp_status thrown(Work work) {
    try {
        work();
    } catch (const bp::error &e) {
        return e.status();
    }
    return BP_OK;
}

static void linear() {
    const float x[2][3] = {{1, 2, 3}, {4, 5, 6}}, w[2][3] = {{1, 0, 1}, {0, 2, 0}};
    const std::vector<float> bias = {10, 20};
    float y[2][2] = {};
    bp::linear(x, w, bias, y);
    CHECK(y[0][0] == 14 && y[0][1] == 24 && y[1][0] == 20 && y[1][1] == 30);
    bp::linear(x, w, nullptr, y);
    CHECK(y[0][0] == 4 && y[1][1] == 10);
    const bp::const_view view_of_bias(bias);
    CHECK(bp::nothrow::linear(x, w, view_of_bias, y) == BP_OK && y[1][1] == 30);
    const std::vector<float> three(3);
    CHECK(thrown([&] { bp::linear(x, w, three, y); }) == BP_E_SHAPE);
}

static void conv() {
    const float x[1][1][3][3] = {{{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}}}, w[1][1][2][2] = {{{{1, 0}, {0, 1}}}};
    const float bias[1] = {100};
    float y[1][1][2][2], wide[1][1][4][4], one[1][1][1][1];
    bp::conv(x, w, nullptr, y);
    CHECK(y[0][0][0][0] == 6 && y[0][0][1][1] == 14);
    bp::conv(x, w, bias, y);
    CHECK(y[0][0][0][1] == 108);
    bp::conv(x, w, bias, one, {2, 2});
    CHECK(one[0][0][0][0] == 106);
    bp::conv(x, w, nullptr, wide, {}, {1, 1});
    CHECK(wide[0][0][0][0] == 1 && wide[0][0][3][3] == 9 && wide[0][0][3][0] == 0);
    /* Too few numbers, or too many: none beyond them is read. */
    CHECK(thrown([&] { bp::conv(x, w, nullptr, one, {2}); }) == BP_E_SHAPE);
    CHECK(thrown([&] { bp::conv(x, w, nullptr, one, {2, 2}, {1}); }) == BP_E_SHAPE);
    CHECK(thrown([&] { bp::conv(x, w, nullptr, one, {2}, {1, 1}); }) == BP_E_SHAPE);
    CHECK(thrown([&] { bp::conv(x, w, nullptr, one, {1, 1, 1}); }) == BP_E_SHAPE);
    CHECK(thrown([&] { bp::conv(x, w, nullptr, one, bp::extents(std::vector<int>(100, 1))); }) == BP_E_ARGUMENT);
}

static void norms() {
    const double x[2][2] = {{1, 3}, {2, 6}}, weight[2] = {2, 1}, bias[2] = {0, 5};
    double y[2][2];
    bp::layer_norm(x, weight, bias, 0, y);
    CHECK(near(y[0][0], -2) && near(y[0][1], 6) && near(y[1][0], -2) && near(y[1][1], 6));
    bp::layer_norm(x, nullptr, nullptr, 0, y);
    CHECK(near(y[0][0], -1) && near(y[1][1], 1));
    bp::layer_norm(x, nullptr, bias, 0, y);
    CHECK(near(y[0][0], -1) && near(y[1][1], 6));
    bp::rms_norm(x, weight, 0, y);
    CHECK(near(y[0][0], 2 / std::sqrt(5.)) && near(y[1][1], 6 / std::sqrt(20.)));
    bp::rms_norm(x, nullptr, 11, y);
    CHECK(near(y[0][0], 1 / 4.));
    const double mean[2] = {1, 2}, variance[2] = {4, 9};
    bp::batch_norm(x, mean, variance, nullptr, nullptr, 0, y);
    CHECK(near(y[0][0], 0) && near(y[0][1], 1 / 3.) && near(y[1][1], 4 / 3.));
    bp::batch_norm(x, mean, variance, weight, bias, 0, y);
    CHECK(near(y[1][0], 1) && near(y[1][1], 5 + 4 / 3.));
}

static void attention() {
    const float q[1][2][1] = {{{1}, {1}}}, k[1][2][1] = {{{0}, {0}}}, v[1][2][1] = {{{2}, {4}}};
    float y[1][2][1];
    bp::attention(q, k, v, nullptr, false, y);
    CHECK(near(y[0][0][0], 3, 1e-6) && near(y[0][1][0], 3, 1e-6));
    bp::attention(q, k, v, nullptr, true, y);
    CHECK(near(y[0][0][0], 2, 1e-6) && near(y[0][1][0], 3, 1e-6));
    const bool mask[2][2] = {{false, true}, {true, false}};
    bp::attention(q, k, v, mask, false, y);
    CHECK(near(y[0][0][0], 4, 1e-6) && near(y[0][1][0], 2, 1e-6));
}

/* ---- Options ---- */

static const char refusing[] = "linalg.enabled=absent, conv.enabled=absent, layer_norm.enabled=absent, "
                               "batch_norm.enabled=absent, attention.enabled=absent";

/* Options that refuse every library; a short form that does not pass them on succeeds. */
template <class Call> static void refused_by(const bp::options &none, const char *name, Call call) {
    const bp_status status = call(&none), without = call(nullptr);
    if (status != BP_E_NO_CANDIDATE || without == BP_E_NO_CANDIDATE) {
        std::fprintf(stderr, "%s: %s with options, %s without\n", name, bp_status_name(status),
                     bp_status_name(without));
        failed_checks()++;
    }
}
#define REFUSED(name, ...)                                                                                             \
    refused_by(none, #name, [&](const bp::options *o) { return bp::nothrow::name(__VA_ARGS__, o); })

static void options_of_layers() {
    const bp::options none(refusing);
    const float x[1][2][2] = {{{1, 2}, {3, 4}}}, w[2][2] = {{1, 0}, {0, 1}}, kernel[1][2][1] = {{{1}, {1}}},
                two[2] = {1, 1};
    float y[1][2][2], line[1][1][2];
    REFUSED(linear, x, w, nullptr, y);
    REFUSED(conv, x, kernel, nullptr, line, {}, {});
    REFUSED(layer_norm, x, nullptr, nullptr, 1, y);
    REFUSED(rms_norm, x, nullptr, 1, y);
    REFUSED(batch_norm, x, two, two, nullptr, nullptr, 1, y);
    REFUSED(attention, x, x, x, nullptr, false, y);
}

static void options_of_linear_algebra() {
    const bp::options none(refusing);
    const double a[2][2] = {{2, 1}, {1, 3}};
    double x[2][2], y[2][2], z[2][2], w[2], one[1];
    std::complex<double> complex_w[2], complex_v[2][2];
    std::int32_t pivots[2] = {1, 2};
    std::int64_t rank[1];
    const bp::view scalar(one, bp::extents{}), other(w, bp::extents{}), ranks(rank, bp::extents{});
    REFUSED(inv, a, x);
    REFUSED(solve, a, a, x, true);
    REFUSED(solve_triangular, a, a, x, true, false, false);
    REFUSED(cholesky, a, x, true);
    REFUSED(cholesky_solve, a, a, x, false);
    REFUSED(cholesky_inverse, a, x, false);
    REFUSED(lu_factor, a, x, pivots);
    REFUSED(lu, a, x, y, z);
    const std::int32_t kept[2] = {1, 2};
    REFUSED(lu_solve, a, kept, a, x, false, true);
    REFUSED(ldl_factor, a, x, pivots, false);
    REFUSED(ldl_solve, a, kept, a, x, false);
    REFUSED(qr, a, x, y, BP_QR_COMPLETE);
    REFUSED(eigh, a, w, x, true);
    REFUSED(eigvalsh, a, w, true);
    REFUSED(eig, a, complex_w, complex_v);
    REFUSED(eigvals, a, complex_w);
    REFUSED(svd, a, x, w, y, true);
    REFUSED(svdvals, a, w);
    REFUSED(lstsq, a, a, x, nullptr, BP_MODE_DEFAULT, nullptr, nullptr, nullptr);
    REFUSED(det, a, scalar);
    REFUSED(slogdet, a, scalar, other);
    REFUSED(pinv, a, x, nullptr, nullptr, false);
    REFUSED(matrix_rank, a, ranks, nullptr, nullptr, false);
    REFUSED(cond, a, scalar, BP_NORM_P, 1);
    REFUSED(matrix_norm, a, scalar, BP_NORM_FRO, 0);
    REFUSED(vector_norm, a, scalar, 2);
    REFUSED(vector_norm, a, w, 2, std::vector<int>{0}, false);
    refused_by(none, "vector_norm",
               [&](const bp::options *o) { return bp::nothrow::vector_norm(a, w, 2, {0}, false, o); });
}

/* A list of one zero is a list, not options that are nullptr. */
static void lists_of_axes() {
    const double a[2][2] = {{3, 0}, {4, 0}};
    double w[2], one[1], kept[1][2];
    bp::vector_norm(a, w, 2, {0});
    CHECK(w[0] == 5 && w[1] == 0);
    bp::vector_norm(a, kept, 2, {0}, true);
    CHECK(kept[0][0] == 5);
    bp::vector_norm(a, bp::view(one, bp::extents{}), 2, {0, 1});
    CHECK(one[0] == 5);
    double all[2][2];
    bp::vector_norm(a, all, 2, {});
    CHECK(all[1][0] == 4);
}

/* Options are no flag: without the class for flags, a pointer would be `true`. */
template <class T, class = void> struct solves : std::false_type {};
template <class T>
struct solves<T, std::void_t<decltype(bp::nothrow::solve(std::declval<bp::const_view>(), std::declval<bp::const_view>(),
                                                         std::declval<bp::view>(), std::declval<T>()))>>
    : std::true_type {};
static_assert(solves<bool>::value && solves<int>::value && !solves<const bp::options *>::value &&
              !solves<double>::value);
static_assert(std::is_convertible_v<std::nullptr_t, bp::optional_view> &&
              std::is_convertible_v<const std::vector<float> &, bp::optional_view> &&
              !std::is_convertible_v<std::vector<float>, bp::optional_view>); /* a temporary container */

/* The options of a call end with it, and what it says of an error stays. */
static void calls_end() {
    const double a[2][2] = {{1, 2}, {2, 4}};
    double x[2][2];
    const bp::options one("num_threads=1, linalg.preferred=native");
    CHECK(bp::nothrow::inv(a, x, &one) == BP_E_SINGULAR);
    CHECK(std::strstr(bp_last_error(), "singular") != nullptr);
    CHECK(bp::get("num_threads") != "1" && bp::get("linalg.preferred") != "native");
    const bp::options nothing;
    CHECK(bp::nothrow::inv(a, x, &nothing) == BP_E_SINGULAR);
}

int main() {
    linear();
    conv();
    norms();
    attention();
    options_of_layers();
    options_of_linear_algebra();
    lists_of_axes();
    calls_end();
    bp_reset();
    return failed_checks() != 0;
}
