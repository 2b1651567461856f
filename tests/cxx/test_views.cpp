/* test_views.cpp - checks what views of C++ hold: shapes of arrays and containers, copies, moves, lifetimes. */
#include "backplane.hpp"

#include "check.hpp"

#include <array>
#include <memory>

namespace bp = backplane;

static_assert(!std::is_convertible_v<bp::const_view, bp::view>, "inputs do not become outputs");
static_assert(!std::is_constructible_v<bp::view, const std::vector<double> &>, "constant elements are not written");
static_assert(!std::is_constructible_v<bp::view, const double (&)[3]>);
static_assert(!std::is_constructible_v<bp::const_view, std::vector<bool> &>);
static_assert(!std::is_constructible_v<bp::const_view, std::string &>);
static_assert(!std::is_copy_constructible_v<bp::plan> && std::is_nothrow_move_constructible_v<bp::plan>);
static_assert(!std::is_copy_constructible_v<bp::scope> && !std::is_copy_constructible_v<bp::tensor>);

/* Views of temporary objects. */
template <class T> constexpr bool takes = std::is_constructible_v<bp::const_view, T>;
template <class T> constexpr bool writes = std::is_constructible_v<bp::view, T>;
static_assert(takes<std::vector<double> &> && !takes<std::vector<double>> && !takes<const std::vector<double>>);
static_assert(takes<const std::array<double, 3> &> && !takes<std::array<double, 3>>);
static_assert(writes<std::vector<double> &> && !writes<std::vector<double>>);
static_assert(writes<std::array<double, 3> &> && !writes<std::array<double, 3>>);
static_assert(takes<const double (&)[3]> && !takes<double (&&)[3]> && !writes<double (&&)[3]>);
static_assert(!std::is_constructible_v<bp::const_view, std::vector<double>, bp::extents>);
static_assert(!std::is_constructible_v<bp::view, std::vector<double>, bp::extents>);
static_assert(takes<bp::tensor> && writes<bp::tensor &> && !writes<bp::tensor>);
static_assert(!std::is_convertible_v<std::vector<double>, bp::const_view>);

static bool rebound(const bp::const_view &v) {
    const char *low = reinterpret_cast<const char *>(&v), *high = low + sizeof v;
    const auto inside = [&](const std::int64_t *p) {
        return reinterpret_cast<const char *>(p) >= low && reinterpret_cast<const char *>(p) < high;
    };
    return inside(v.get()->shape) && inside(v.get()->strides);
}

static void arrays_and_containers() {
    double matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const bp::view m = matrix;
    CHECK(m.ndim() == 2 && m.size(0) == 2 && m.size(-1) == 3 && m.stride(0) == 3 && m.dtype() == BP_F64);
    CHECK(m.get()->data == matrix);
    const float cube[2][3][4] = {};
    CHECK(bp::const_view(cube).ndim() == 3 && bp::const_view(cube).size(2) == 4);
    std::vector<std::complex<float>> v(6);
    const bp::view line = v, shaped(v, {2, 3});
    CHECK(line.ndim() == 1 && line.size(0) == 6 && line.dtype() == BP_C64);
    CHECK(shaped.ndim() == 2 && shaped.stride(0) == 3 && shaped.elements() == 6);
    std::array<std::int32_t, 4> a{};
    CHECK(bp::view(a).dtype() == BP_I32 && bp::const_view(a).size(0) == 4);
    const std::vector<double> constant(3);
    CHECK(bp::const_view(constant).size(0) == 3);
    const bp::view strided(&matrix[0][0], {3, 2}, {1, 3});
    CHECK(strided.stride(0) == 1 && strided.transposed().size(0) == 2 && strided.transposed().stride(0) == 3);
    const std::vector<int> sizes = {1, 6};
    CHECK(bp::view(&matrix[0][0], sizes).size(1) == 6);
    CHECK(bp::view(&matrix[0][0], bp::extents{}).ndim() == 0);
    CHECK(bp::const_view(m).shape().ndim() == 2 && bp::const_view(m).strides()[0] == 3);
#if defined(__cpp_lib_span)
    std::span<std::complex<float>> span(v);
    const std::span<const std::complex<float>, 2> fixed(v.data(), 2);
    CHECK(bp::view(span).size(0) == 6 && bp::const_view(fixed).size(0) == 2);
    CHECK(bp::view(std::span(v)).get()->data == v.data());
    static_assert(!std::is_constructible_v<bp::view, std::span<const double>>);
#endif
}

/* With the members of std::mdspan that a view reads. */
template <class T, class Reference = T &> struct strided_span {
    using reference = Reference;
    T *pointer;
    std::size_t sizes[2], steps[2];
    static constexpr std::size_t rank() {
        return 2;
    }
    T *const &data_handle() const {
        return pointer;
    }
    std::size_t extent(std::size_t d) const {
        return sizes[d];
    }
    std::size_t stride(std::size_t d) const {
        return steps[d];
    }
};

static void mdspans() {
    double matrix[2][3] = {};
    const strided_span<double> columns{&matrix[0][0], {3, 2}, {1, 3}};
    const bp::view v = columns;
    CHECK(v.ndim() == 2 && v.size(0) == 3 && v.stride(0) == 1 && v.stride(1) == 3);
    static_assert(!std::is_constructible_v<bp::view, strided_span<const double>>);
    static_assert(!std::is_constructible_v<bp::const_view, strided_span<const double, double>>); /* not its elements */
    CHECK(bp::const_view(strided_span<const double>{&matrix[0][0], {1, 2}, {3, 1}}).size(1) == 2);
#if defined(__cpp_lib_mdspan)
    std::mdspan<double, std::dextents<int, 2>, std::layout_left> left(&matrix[0][0], 3, 2);
    CHECK(bp::view(left).size(0) == 3 && bp::view(left).stride(1) == 3);
    CHECK(bp::const_view(std::mdspan<const double, std::extents<int, 2, 3>>(&matrix[0][0])).stride(0) == 3);
    static_assert(!std::is_constructible_v<bp::view, std::mdspan<const double, std::extents<int, 2, 3>>>);
    const std::layout_stride::mapping<std::dextents<int, 2>> every(std::dextents<int, 2>(2, 2), std::array{3, 2});
    CHECK(bp::view(std::mdspan(&matrix[0][0], every)).stride(1) == 2);
    CHECK(bp::view(std::mdspan<double, std::extents<int>>(&matrix[0][0])).ndim() == 0);
    const std::mdspan<const double, std::extents<int, 2, 2>> square(&matrix[0][0]);
    double product[2][2];
    bp::matmul(square, square, std::mdspan<double, std::dextents<int, 2>>(&product[0][0], 2, 2));
#endif
}

static void copies_and_moves_have_their_own_shape() {
    double matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
    auto first = std::make_unique<bp::view>(matrix);
    bp::view copy(*first), assigned, moved(std::move(*first));
    assigned = *first;
    bp::const_view input = *first, other = std::as_const(input);
    first.reset(); /* a pointer into it would show under AddressSanitizer */
    for (const bp::const_view *v :
         {static_cast<const bp::const_view *>(&copy), static_cast<const bp::const_view *>(&assigned),
          static_cast<const bp::const_view *>(&moved), &std::as_const(input), &std::as_const(other)}) {
        CHECK(rebound(*v) && v->ndim() == 2 && v->size(1) == 3 && v->get()->data == matrix);
    }
    assigned = assigned.transposed();
    CHECK(rebound(assigned) && assigned.size(0) == 3 && copy.size(0) == 2);
    std::vector<bp::view> many;
    for (int i = 0; i < 40; i++) { /* growing moves them */
        many.emplace_back(matrix);
    }
    for (const bp::view &v : many) {
        CHECK(rebound(v) && v.size(1) == 3);
    }
    std::swap(many[0], assigned);
    CHECK(rebound(many[0]) && many[0].size(0) == 3 && assigned.size(0) == 2);
    double sum[3][3], again[3][3];
    bp::matmul(copy.transposed(), copy, sum);
    bp::matmul(many[0], many[1], again);
    CHECK(sum[0][0] == 17 && sum[2][2] == 45 && again[2][2] == 45);
}

static void tensors_from_elsewhere() {
    double data[4] = {1, 2, 3, 4};
    std::int64_t shape[1] = {3};
    DLTensor raw{};
    raw.data = data;
    raw.device = {kDLCPU, 0};
    raw.ndim = 1;
    raw.dtype = bp_dtype_to_dlpack(BP_F64);
    raw.shape = shape;
    raw.byte_offset = sizeof(double);
    const bp::const_view v = raw;
    shape[0] = 99;
    double sum = 0;
    CHECK(v.size(0) == 3 && rebound(v));
    bp::vecdot(v, v, bp::view(&sum, bp::extents{}));
    CHECK(sum == 29);
    bp::tensor owner = bp::tensor::zeros<float>({2, 2}), taken;
    float *elements = owner.data<float>();
    CHECK(elements && elements[3] == 0 && !owner.data<double>());
    elements[1] = 5;
    taken = std::move(owner);
    CHECK(!owner && taken.data<float>() == elements);
    bp::view seen = taken;
    CHECK(seen.size(1) == 2 && seen.get()->data == elements);
    taken = bp::tensor();
    CHECK(!taken && bp::view(taken).elements() == 0);
}

static void views_that_cannot_be() {
    const auto fails = [](bp_status status, auto make) {
        try {
            make();
        } catch (const bp::error &e) {
            CHECK(e.status() == status && *e.what() && e.code() == status && e.code() != BP_E_IO);
            return;
        }
        bool has_thrown = false;
        CHECK(has_thrown);
    };
    std::vector<double> v(5);
    fails(BP_E_SHAPE, [&] { bp::view(v, {2, 3}); });
    fails(BP_E_SHAPE, [&] { bp::view(v.data(), {-1}); });
    fails(BP_E_ARGUMENT, [&] { bp::view(v.data(), {1, 2}, {1}); });
    fails(BP_E_ARGUMENT, [&] { bp::view(v.data(), std::vector<int>(65, 1)); });
    fails(BP_E_DTYPE, [&] { bp::view(v.data(), BP_DTYPE_NONE, {1}); });
    std::int64_t negative[] = {-1};
    DLTensor raw = *bp::const_view(v).get();
    raw.shape = negative;
    const bp::const_view failed(raw), copy(failed);
    CHECK(failed.status() == BP_E_SHAPE && copy.status() == BP_E_SHAPE && copy.elements() == 0);
    CHECK(bp::nothrow::copy(bp::view(v), copy) != BP_OK);
    CHECK(bp::category().message(BP_E_SHAPE) == bp_status_text(BP_E_SHAPE));
}

int main() {
    arrays_and_containers();
    mdspans();
    copies_and_moves_have_their_own_shape();
    tensors_from_elsewhere();
    views_that_cannot_be();
    return failed_checks() != 0;
}
