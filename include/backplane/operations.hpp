/* operations.hpp - the operations of backplane.hpp, which includes this file: products, linear algebra, transforms,
 * einsum, plans, settings and libraries; layers.hpp and graphs.hpp have the others. Each function is the C function with
 * its name, and throws or returns the status as backplane.hpp tells. The last argument is the options of the call. */
#ifndef BACKPLANE_OPERATIONS_HPP
#define BACKPLANE_OPERATIONS_HPP

#include "backplane.hpp"

namespace backplane {

/* Defines a function twice: one that throws, and one in `nothrow` that returns the status. */
#define BACKPLANE_FUNCTION(name, parameters, call)                                                                     \
    namespace nothrow {                                                                                                \
    [[nodiscard]] inline bp_status name parameters {                                                                   \
        return call;                                                                                                   \
    }                                                                                                                  \
    }                                                                                                                  \
    BACKPLANE_RESULT name parameters {                                                                                 \
        return check(call);                                                                                            \
    }

/* Defines object = name(...) for a function nothrow::name(object, ...). */
#if defined(BACKPLANE_NO_EXCEPTIONS)
#define BACKPLANE_MAKER(type, name, parameters, arguments)
#else
#define BACKPLANE_MAKER(type, name, parameters, arguments)                                                             \
    [[nodiscard]] inline type name parameters {                                                                        \
        type made;                                                                                                     \
        check(nothrow::name arguments);                                                                                \
        return made;                                                                                                   \
    }
#endif

/* Defines nothrow::name(object, ...), from the call that makes the object, and object = name(...). */
#define BACKPLANE_LIST(...) __VA_ARGS__
#define BACKPLANE_OBJECT(type, name, parameters, arguments, call)                                                      \
    namespace nothrow {                                                                                                \
    [[nodiscard]] inline bp_status name(type &made, BACKPLANE_LIST parameters) noexcept {                              \
        return call;                                                                                                   \
    }                                                                                                                  \
    }                                                                                                                  \
    BACKPLANE_MAKER(type, name, parameters, arguments)

namespace detail {

inline DLTensor *out(const view *x) noexcept {
    return x ? x->get() : nullptr;
} /* optional outputs */
inline const bp_options *of(const options *o) noexcept {
    return o ? o->get() : nullptr;
}

inline constexpr int no_axis = 0; /* an empty list, which must not be NULL */

/* The tensors of a list of operands, as the C interface takes them. */
struct operand_list {
    std::vector<const DLTensor *> tensors;
    explicit operand_list(std::initializer_list<const_view> operands) {
        for (const const_view &x : operands) {
            tensors.push_back(x.get());
        }
    }
    int count() const noexcept {
        return static_cast<int>(tensors.size());
    }
};

/* Runs a short form of the C interface, which has no options, under the options of this call. */
template <class Call> bp_status under(const options *o, const Call &call) noexcept {
    if (!of(o)) {
        return call();
    }
    scope entered;
    const bp_status status = bp_scope_enter_options(entered.put(), o->get());
    return status == BP_OK ? call() : status;
}

/* A bool to which no pointer converts: solve(a, b, x, &settings) does not compile, where it would set `right`. */
struct flag {
    template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
    constexpr flag(T given) noexcept : value(given != T()) {
    }
    constexpr operator int() const noexcept {
        return value;
    }
    bool value;
};

inline bp_einsum_call einsum_call(const char *expression, const operand_list &operands) noexcept {
    auto call = init<bp_einsum_call>();
    call.expression = expression;
    call.count = operands.count();
    call.operands = operands.tensors.data();
    return call;
}

inline bp_status concat(const operand_list &list, int axis, const view &output, const options *o) noexcept {
    return bp_concat_run(of(o), list.count(), list.tensors.data(), axis, output.get());
}

} // namespace detail

/* ---- Plans ---- */

/* A prepared call. Runs again and again, by several threads at once. */
class plan : public detail::handle<bp_plan, bp_plan_release> {
  public:
    using handle::handle;
    bp_plan_info describe() const noexcept {
        auto info = init<bp_plan_info>();
        static_cast<void>(bp_plan_describe(get(), &info));
        return info;
    }
};

/* What was considered for one call, and why one was chosen. */
class explanation : public detail::handle<bp_explanation, bp_explanation_release> {
  public:
    using handle::handle;
    const char *text() const noexcept {
        return bp_explanation_text(get());
    }
    const char *json() const noexcept {
        return bp_explanation_json(get());
    }
    const char *decision() const noexcept {
        return bp_explanation_decision(get());
    }
    std::vector<bp_candidate_info> candidates() const {
        std::vector<bp_candidate_info> all;
        auto info = init<bp_candidate_info>();
        for (int i = 0; bp_explanation_at(get(), i, &info); i++) {
            all.push_back(info);
        }
        return all;
    }
};

namespace nothrow {

/* Runs a plan on operands of the layouts that it was made for: inputs, then outputs, with an empty view for each one
 * that the plan does not have. BP_E_ARGUMENT for another number of operands than the plan's (bp_plan_info.operands). */
[[nodiscard]] inline bp_status execute(const plan &p, std::initializer_list<const_view> operands,
                                       const bp_exec *exec = nullptr) {
    std::vector<bp_operand> addresses;
    addresses.reserve(operands.size());
    for (const const_view &x : operands) {
        addresses.push_back({x.get()->data, x.get()->byte_offset});
    }
    auto counted = exec ? *exec : init<bp_exec>();
    counted.operand_count = addresses.size();
    return bp_execute(p.get(), addresses.empty() ? nullptr : addresses.data(), &counted);
}

/* Copies input number `operand` into the layout of the plan's library. */
[[nodiscard]] inline bp_status pack(packed &made, const plan &p, int operand, const const_view &source) noexcept {
    const bp_operand address = {source.get()->data, source.get()->byte_offset};
    return bp_plan_pack(made.put(), p.get(), operand, &address);
}

/* Runs a plan of a product with packed operands, one for each operand or nullptr. */
[[nodiscard]] inline bp_status execute_packed(const plan &p, std::initializer_list<const_view> operands,
                                              std::initializer_list<const packed *> packs) {
    std::vector<const bp_packed *> list;
    for (const packed *one : packs) {
        list.push_back(one ? one->get() : nullptr);
    }
    list.resize(operands.size(), nullptr);
    auto exec = init<bp_exec>();
    exec.packed = list.data();
    return nothrow::execute(p, operands, &exec);
}

[[nodiscard]] inline bp_status last_plan(bp_plan_info &info) noexcept {
    info = init<bp_plan_info>();
    return bp_last_plan(&info);
}

} // namespace nothrow

BACKPLANE_RESULT execute(const plan &p, std::initializer_list<const_view> operands, const bp_exec *exec = nullptr) {
    return check(nothrow::execute(p, operands, exec));
}
BACKPLANE_RESULT execute_packed(const plan &p, std::initializer_list<const_view> operands,
                                std::initializer_list<const packed *> packs) {
    return check(nothrow::execute_packed(p, operands, packs));
}
BACKPLANE_MAKER(packed, pack, (const plan &p, int operand, const const_view &source), (made, p, operand, source))
BACKPLANE_MAKER(bp_plan_info, last_plan, (), (made))

/* ---- Objects ---- */

namespace nothrow {

[[nodiscard]] inline bp_status make_options(options &made, const char *text) noexcept {
    return bp_options_new(made.put(), text);
}
[[nodiscard]] inline bp_status make_options(options &made, setting_list settings) {
    return bp_options_new(made.put(), detail::settings_text(settings).c_str());
}
[[nodiscard]] inline bp_status enter(scope &made, const char *text) noexcept {
    return bp_scope_enter(made.put(), text);
}
[[nodiscard]] inline bp_status enter(scope &made, const options &settings) noexcept {
    return bp_scope_enter_options(made.put(), settings.get());
}
[[nodiscard]] inline bp_status zeros(tensor &made, bp_dtype dtype, const extents &shape) noexcept {
    return bp_tensor_new(made.put(), dtype, shape.ndim(), shape.data());
}
/* The text of bp_tensor_print. */
[[nodiscard]] inline bp_status format(std::string &text, const const_view &x, const bp_print_options *how = nullptr) {
    std::size_t length = 0;
    bp_status status = bp_tensor_format(x.get(), how, nullptr, 0, &length);
    if (status == BP_OK) {
        text.resize(length + 1);
        status = bp_tensor_format(x.get(), how, &text[0], text.size(), nullptr);
        text.resize(length);
    }
    return status;
}

} // namespace nothrow

BACKPLANE_OBJECT(tensor, empty, (bp_dtype dtype, const extents &shape), (made, dtype, shape),
                 bp_tensor_empty(made.put(), dtype, shape.ndim(), shape.data(), nullptr))
BACKPLANE_MAKER(std::string, format, (const const_view &x, const bp_print_options *how = nullptr), (made, x, how))

BACKPLANE_FUNCTION(copy, (const view &to, const const_view &from), bp_tensor_copy(to.get(), from.get()))
BACKPLANE_FUNCTION(print, (std::FILE * file, const const_view &x, const bp_print_options *how = nullptr),
                   bp_tensor_print(file, x.get(), how))

/* ---- Settings and libraries ---- */

BACKPLANE_FUNCTION(set, (const char *name, const char *value), bp_set(name, value))
BACKPLANE_FUNCTION(set, (const char *name, const std::string &value), bp_set(name, value.c_str()))
BACKPLANE_FUNCTION(set, (const char *name, bool value), bp_set(name, value ? "true" : "false"))
BACKPLANE_FUNCTION(set, (const char *name, int value), bp_set(name, std::to_string(value).c_str()))
BACKPLANE_FUNCTION(unset, (const char *name), bp_unset(name))
BACKPLANE_FUNCTION(prefer, (const char *setting, const char *library), bp_preferred_set(setting, library))

namespace nothrow {

[[nodiscard]] inline bp_status get(std::string &value, const char *name) {
    const char *text = nullptr;
    const bp_status status = bp_get(name, &text, nullptr, nullptr);
    value = status == BP_OK ? text : "";
    return status;
}
/* All libraries of the machine. The strings live until bp_reset(). */
[[nodiscard]] inline bp_status libraries(std::vector<bp_library_info> &all) {
    int count = 0;
    bp_status status = bp_library_count(&count);
    auto row = init<bp_library_info>();
    all.clear();
    for (int i = 0; i < count && status == BP_OK && bp_library_at(i, &row); i++) {
        all.push_back(row);
    }
    return status;
}

} // namespace nothrow

BACKPLANE_MAKER(std::string, get, (const char *name), (made, name))
BACKPLANE_MAKER(std::vector<bp_library_info>, libraries, (), (made))

/* ---- Products ---- */

BACKPLANE_FUNCTION(matmul, (const const_view &a, const const_view &b, const view &output, const options *o = nullptr),
                   o ? bp_matmul_run(o->get(), a.get(), b.get(), output.get())
                     : bp_matmul(a.get(), b.get(), output.get()))
/* c = alpha op(a) op(b) + beta c. */
BACKPLANE_FUNCTION(gemm,
                   (bp_scalar alpha, const const_view &a, const const_view &b, bp_scalar beta, const view &c,
                    bp_transform ta = BP_AS_IS, bp_transform tb = BP_AS_IS, const options *o = nullptr),
                   bp_gemm_run(detail::of(o), ta, tb, &alpha, a.get(), b.get(), &beta, c.get()))
BACKPLANE_FUNCTION(vecdot,
                   (const const_view &a, const const_view &b, const view &output, int axis = -1,
                    const options *o = nullptr),
                   bp_vecdot_run(detail::of(o), a.get(), b.get(), axis, output.get()))
BACKPLANE_FUNCTION(matrix_power, (const const_view &a, std::int64_t n, const view &output, const options *o = nullptr),
                   bp_matrix_power_run(detail::of(o), a.get(), n, output.get()))

namespace nothrow {

[[nodiscard]] inline bp_status multi_dot(std::initializer_list<const_view> operands, const view &output,
                                         const options *o = nullptr) {
    const detail::operand_list list(operands);
    return bp_multi_dot_run(detail::of(o), list.count(), list.tensors.data(), output.get());
}
[[nodiscard]] inline bp_status multi_dot_plan(plan &made, std::initializer_list<const_view> operands,
                                              const view &output, const options *o = nullptr) {
    const detail::operand_list list(operands);
    return bp_multi_dot_plan(made.put(), detail::of(o), list.count(), list.tensors.data(), output.get());
}
[[nodiscard]] inline bp_status multi_dot_explain(explanation &made, std::initializer_list<const_view> operands,
                                                 const view &output, const options *o = nullptr) {
    const detail::operand_list list(operands);
    return bp_multi_dot_explain(made.put(), detail::of(o), list.count(), list.tensors.data(), output.get());
}
[[nodiscard]] inline bp_status einsum(const char *expression, std::initializer_list<const_view> operands,
                                      const view &output, const options *o = nullptr) {
    const detail::operand_list list(operands);
    const bp_einsum_call call = detail::einsum_call(expression, list);
    return bp_einsum_run(detail::of(o), &call, output.get());
}

/* Products into a new tensor. */
[[nodiscard]] inline bp_status new_matmul(tensor &output, const const_view &a, const const_view &b,
                                          const options *o = nullptr) {
    int ndim = 0;
    std::int64_t shape[BP_MAX_NDIM];
    bp_status status = bp_matmul_shape(a.get(), b.get(), &ndim, shape);
    status = status == BP_OK ? bp_tensor_empty(output.put(), bp_matmul_dtype(a.get(), b.get()), ndim, shape, nullptr)
                             : status;
    return status == BP_OK ? nothrow::matmul(a, b, view(output), o) : status;
}
[[nodiscard]] inline bp_status new_einsum(tensor &output, const char *expression,
                                          std::initializer_list<const_view> operands, const options *o = nullptr) {
    const detail::operand_list list(operands);
    const bp_einsum_call call = detail::einsum_call(expression, list);
    bp_dtype dtype = BP_DTYPE_NONE;
    int ndim = 0;
    std::int64_t shape[BP_MAX_NDIM];
    bp_status status = bp_einsum_shape(&call, &dtype, &ndim, shape);
    status = status == BP_OK ? bp_tensor_empty(output.put(), dtype, ndim, shape, nullptr) : status;
    return status == BP_OK ? bp_einsum_run(detail::of(o), &call, view(output).get()) : status;
}

[[nodiscard]] inline bp_status einsum_plan(plan &made, const char *expression,
                                           std::initializer_list<const_view> operands, const view &output,
                                           const options *o = nullptr) {
    const detail::operand_list list(operands);
    const bp_einsum_call call = detail::einsum_call(expression, list);
    return bp_einsum_plan(made.put(), detail::of(o), &call, output.get());
}
[[nodiscard]] inline bp_status einsum_explain(explanation &made, const char *expression,
                                              std::initializer_list<const_view> operands, const view &output,
                                              const options *o = nullptr) {
    const detail::operand_list list(operands);
    const bp_einsum_call call = detail::einsum_call(expression, list);
    return bp_einsum_explain(made.put(), detail::of(o), &call, output.get());
}

} // namespace nothrow

BACKPLANE_RESULT multi_dot(std::initializer_list<const_view> operands, const view &output, const options *o = nullptr) {
    return check(nothrow::multi_dot(operands, output, o));
}
BACKPLANE_RESULT einsum(const char *expression, std::initializer_list<const_view> operands, const view &output,
                        const options *o = nullptr) {
    return check(nothrow::einsum(expression, operands, output, o));
}
#if !defined(BACKPLANE_NO_EXCEPTIONS)
[[nodiscard]] inline tensor matmul(const const_view &a, const const_view &b, const options *o = nullptr) {
    tensor made;
    check(nothrow::new_matmul(made, a, b, o));
    return made;
}
[[nodiscard]] inline tensor einsum(const char *expression, std::initializer_list<const_view> operands,
                                   const options *o = nullptr) {
    tensor made;
    check(nothrow::new_einsum(made, expression, operands, o));
    return made;
}
#endif
BACKPLANE_OBJECT(plan, matmul_plan,
                 (const const_view &a, const const_view &b, const view &output, const options *o = nullptr),
                 (made, a, b, output, o), bp_matmul_plan(made.put(), detail::of(o), a.get(), b.get(), output.get()))
BACKPLANE_OBJECT(explanation, matmul_explain,
                 (const const_view &a, const const_view &b, const view &output, const options *o = nullptr),
                 (made, a, b, output, o), bp_matmul_explain(made.put(), detail::of(o), a.get(), b.get(), output.get()))
BACKPLANE_OBJECT(plan, gemm_plan,
                 (bp_scalar alpha, const const_view &a, const const_view &b, bp_scalar beta, const view &c,
                  bp_transform ta = BP_AS_IS, bp_transform tb = BP_AS_IS, const options *o = nullptr),
                 (made, alpha, a, b, beta, c, ta, tb, o),
                 bp_gemm_plan(made.put(), detail::of(o), ta, tb, &alpha, a.get(), b.get(), &beta, c.get()))
BACKPLANE_OBJECT(explanation, gemm_explain,
                 (bp_scalar alpha, const const_view &a, const const_view &b, bp_scalar beta, const view &c,
                  bp_transform ta = BP_AS_IS, bp_transform tb = BP_AS_IS, const options *o = nullptr),
                 (made, alpha, a, b, beta, c, ta, tb, o),
                 bp_gemm_explain(made.put(), detail::of(o), ta, tb, &alpha, a.get(), b.get(), &beta, c.get()))
BACKPLANE_OBJECT(plan, vecdot_plan,
                 (const const_view &a, const const_view &b, const view &output, int axis = -1,
                  const options *o = nullptr),
                 (made, a, b, output, axis, o),
                 bp_vecdot_plan(made.put(), detail::of(o), a.get(), b.get(), axis, output.get()))
BACKPLANE_OBJECT(explanation, vecdot_explain,
                 (const const_view &a, const const_view &b, const view &output, int axis = -1,
                  const options *o = nullptr),
                 (made, a, b, output, axis, o),
                 bp_vecdot_explain(made.put(), detail::of(o), a.get(), b.get(), axis, output.get()))
BACKPLANE_OBJECT(explanation, matrix_power_explain,
                 (const const_view &a, std::int64_t n, const view &output, const options *o = nullptr),
                 (made, a, n, output, o), bp_matrix_power_explain(made.put(), detail::of(o), a.get(), n, output.get()))
BACKPLANE_MAKER(plan, multi_dot_plan,
                (std::initializer_list<const_view> operands, const view &output, const options *o = nullptr),
                (made, operands, output, o))
BACKPLANE_MAKER(explanation, multi_dot_explain,
                (std::initializer_list<const_view> operands, const view &output, const options *o = nullptr),
                (made, operands, output, o))
BACKPLANE_MAKER(plan, einsum_plan,
                (const char *expression, std::initializer_list<const_view> operands, const view &output,
                 const options *o = nullptr),
                (made, expression, operands, output, o))
BACKPLANE_MAKER(explanation, einsum_explain,
                (const char *expression, std::initializer_list<const_view> operands, const view &output,
                 const options *o = nullptr),
                (made, expression, operands, output, o))

/* ---- Linear algebra ---- */

/* Any operation in the general form, with settings for this call, planned or explained. */
BACKPLANE_FUNCTION(linalg, (const bp_linalg_call &call, const options *o = nullptr),
                   bp_linalg_run(detail::of(o), &call))
BACKPLANE_OBJECT(plan, linalg_plan, (const bp_linalg_call &call, const options *o = nullptr), (made, call, o),
                 bp_linalg_plan(made.put(), detail::of(o), &call))
BACKPLANE_OBJECT(explanation, linalg_explain, (const bp_linalg_call &call, const options *o = nullptr), (made, call, o),
                 bp_linalg_explain(made.put(), detail::of(o), &call))

/* Defines a function that calls a short form of the C interface, which has no options. */
#define BACKPLANE_SHORT_FORM(name, parameters, call)                                                                   \
    BACKPLANE_FUNCTION(name, (BACKPLANE_LIST parameters, const options *o = nullptr),                                  \
                       detail::under(o, [&]() noexcept { return call; }))

BACKPLANE_SHORT_FORM(inv, (const const_view &a, const view &inverse), bp_inv(a.get(), inverse.get()))
BACKPLANE_SHORT_FORM(solve, (const const_view &a, const const_view &b, const view &x, detail::flag right = false),
                     bp_solve(a.get(), b.get(), right, x.get()))
BACKPLANE_SHORT_FORM(solve_triangular,
                     (const const_view &a, const const_view &b, const view &x, detail::flag upper,
                      detail::flag right = false, detail::flag unitriangular = false),
                     bp_solve_triangular(a.get(), b.get(), upper, right, unitriangular, x.get()))
BACKPLANE_SHORT_FORM(cholesky, (const const_view &a, const view &l, detail::flag upper = false),
                     bp_cholesky(a.get(), upper, l.get()))
BACKPLANE_SHORT_FORM(cholesky_solve,
                     (const const_view &b, const const_view &l, const view &x, detail::flag upper = false),
                     bp_cholesky_solve(b.get(), l.get(), upper, x.get()))
BACKPLANE_SHORT_FORM(cholesky_inverse, (const const_view &l, const view &inverse, detail::flag upper = false),
                     bp_cholesky_inverse(l.get(), upper, inverse.get()))
BACKPLANE_SHORT_FORM(lu_factor, (const const_view &a, const view &lu, const view &pivots),
                     bp_lu_factor(a.get(), lu.get(), pivots.get()))
BACKPLANE_SHORT_FORM(lu, (const const_view &a, const view &p, const view &l, const view &u),
                     bp_lu(a.get(), p.get(), l.get(), u.get()))
BACKPLANE_SHORT_FORM(lu_solve,
                     (const const_view &factors, const const_view &pivots, const const_view &b, const view &x,
                      detail::flag right = false, detail::flag adjoint = false),
                     bp_lu_solve(factors.get(), pivots.get(), b.get(), right, adjoint, x.get()))
BACKPLANE_SHORT_FORM(ldl_factor,
                     (const const_view &a, const view &ld, const view &pivots, detail::flag hermitian = false),
                     bp_ldl_factor(a.get(), hermitian, ld.get(), pivots.get()))
BACKPLANE_SHORT_FORM(ldl_solve,
                     (const const_view &ld, const const_view &pivots, const const_view &b, const view &x,
                      detail::flag hermitian = false),
                     bp_ldl_solve(ld.get(), pivots.get(), b.get(), hermitian, x.get()))
BACKPLANE_SHORT_FORM(qr, (const const_view &a, const view &q, const view &r, bp_linalg_mode mode = BP_QR_REDUCED),
                     bp_qr(a.get(), mode, mode == BP_QR_R ? nullptr : q.get(), r.get()))
BACKPLANE_SHORT_FORM(eigh, (const const_view &a, const view &w, const view &v, detail::flag upper = false),
                     bp_eigh(a.get(), upper, w.get(), v.get()))
BACKPLANE_SHORT_FORM(eigvalsh, (const const_view &a, const view &w, detail::flag upper = false),
                     bp_eigvalsh(a.get(), upper, w.get()))
BACKPLANE_SHORT_FORM(eig, (const const_view &a, const view &w, const view &v), bp_eig(a.get(), w.get(), v.get()))
BACKPLANE_SHORT_FORM(eigvals, (const const_view &a, const view &w), bp_eigvals(a.get(), w.get()))
BACKPLANE_SHORT_FORM(svd,
                     (const const_view &a, const view &u, const view &s, const view &vh,
                      detail::flag full_matrices = false),
                     bp_svd(a.get(), full_matrices, u.get(), s.get(), vh.get()))
BACKPLANE_SHORT_FORM(svdvals, (const const_view &a, const view &s), bp_svdvals(a.get(), s.get()))
/* Optional arguments may be nullptr. */
BACKPLANE_SHORT_FORM(lstsq,
                     (const const_view &a, const const_view &b, const view &x, const double *rcond = nullptr,
                      bp_linalg_mode driver = BP_MODE_DEFAULT, const view *residuals = nullptr,
                      const view *rank = nullptr, const view *s = nullptr),
                     bp_lstsq(a.get(), b.get(), rcond, driver, x.get(), detail::out(residuals), detail::out(rank),
                              detail::out(s)))
BACKPLANE_SHORT_FORM(det, (const const_view &a, const view &det), bp_det(a.get(), det.get()))
BACKPLANE_SHORT_FORM(slogdet, (const const_view &a, const view &sign, const view &logabsdet),
                     bp_slogdet(a.get(), sign.get(), logabsdet.get()))
BACKPLANE_SHORT_FORM(pinv,
                     (const const_view &a, const view &inverse, const double *rtol = nullptr,
                      const double *atol = nullptr, detail::flag hermitian = false),
                     bp_pinv(a.get(), rtol, atol, hermitian, inverse.get()))
BACKPLANE_SHORT_FORM(matrix_rank,
                     (const const_view &a, const view &rank, const double *rtol = nullptr, const double *atol = nullptr,
                      detail::flag hermitian = false),
                     bp_matrix_rank(a.get(), rtol, atol, hermitian, rank.get()))
BACKPLANE_SHORT_FORM(cond, (const const_view &a, const view &cond, bp_linalg_mode kind = BP_NORM_P, double order = 2),
                     bp_cond(a.get(), kind, order, cond.get()))
BACKPLANE_SHORT_FORM(matrix_norm,
                     (const const_view &a, const view &norm, bp_linalg_mode kind = BP_NORM_FRO, double order = 0),
                     bp_matrix_norm(a.get(), kind, order, norm.get()))

namespace detail {

/* Along no dimension: the absolute values. */
inline bp_status vector_norm(const const_view &a, const view &norm, double order, const int *axes, std::size_t count,
                             bool keep) noexcept {
    return bp_vector_norm(a.get(), order, static_cast<int>(count), count == 0 ? &no_axis : axes, keep, norm.get());
}

} // namespace detail

/* Of all elements, or of vectors along some dimensions. Without the list, {0} would be options that are nullptr. */
BACKPLANE_SHORT_FORM(vector_norm, (const const_view &a, const view &norm, double order = 2),
                     bp_vector_norm(a.get(), order, 0, nullptr, 0, norm.get()))
BACKPLANE_SHORT_FORM(vector_norm,
                     (const const_view &a, const view &norm, double order, std::initializer_list<int> axes,
                      detail::flag keep = false),
                     detail::vector_norm(a, norm, order, axes.begin(), axes.size(), keep))
BACKPLANE_SHORT_FORM(vector_norm,
                     (const const_view &a, const view &norm, double order, const std::vector<int> &axes,
                      detail::flag keep = false),
                     detail::vector_norm(a, norm, order, axes.data(), axes.size(), keep))

/* ---- Fourier transforms ---- */

/* Any transform in the general form. */
BACKPLANE_FUNCTION(fft_run,
                   (const bp_fft_call &call, const const_view &input, const view &output, const options *o = nullptr),
                   bp_fft_run(detail::of(o), &call, input.get(), output.get()))
BACKPLANE_OBJECT(plan, fft_plan,
                 (const bp_fft_call &call, const const_view &input, const view &output, const options *o = nullptr),
                 (made, call, input, output, o),
                 bp_fft_plan(made.put(), detail::of(o), &call, input.get(), output.get()))
BACKPLANE_OBJECT(explanation, fft_explain,
                 (const bp_fft_call &call, const const_view &input, const view &output, const options *o = nullptr),
                 (made, call, input, output, o),
                 bp_fft_explain(made.put(), detail::of(o), &call, input.get(), output.get()))

namespace detail {

inline bp_fft_call fft_call(bp_fft_transform transform, int axis_count, const int *axes, const std::int64_t *lengths,
                            bp_fft_norm norm) noexcept {
    auto call = init<bp_fft_call>();
    call.transform = transform;
    call.norm = norm;
    call.axis_count = axis_count;
    call.axes = axes;
    call.s = lengths;
    return call;
}
inline bp_status fft(const bp_fft_call &call, const const_view &input, const view &output, const options *o) noexcept {
    return bp_fft_run(of(o), &call, input.get(), output.get());
}

} // namespace detail

/* fft: one dimension; fft2: the last two; fftn: all. */
#define BACKPLANE_TRANSFORM(name, transform)                                                                           \
    BACKPLANE_FUNCTION(name,                                                                                           \
                       (const const_view &input, const view &output, int axis = -1, std::int64_t n = BP_FFT_LENGTH,    \
                        bp_fft_norm norm = BP_FFT_BACKWARD, const options *o = nullptr),                               \
                       detail::fft(detail::fft_call(transform, 1, &axis, &n, norm), input, output, o))                 \
    BACKPLANE_FUNCTION(                                                                                                \
        name##2,                                                                                                       \
        (const const_view &input, const view &output, bp_fft_norm norm = BP_FFT_BACKWARD, const options *o = nullptr), \
        detail::fft(detail::fft_call(transform, 2, nullptr, nullptr, norm), input, output, o))                         \
    BACKPLANE_FUNCTION(                                                                                                \
        name##n,                                                                                                       \
        (const const_view &input, const view &output, bp_fft_norm norm = BP_FFT_BACKWARD, const options *o = nullptr), \
        detail::fft(detail::fft_call(transform, BP_FFT_ALL, nullptr, nullptr, norm), input, output, o))
BACKPLANE_TRANSFORM(fft, BP_FFT)
BACKPLANE_TRANSFORM(ifft, BP_IFFT)
BACKPLANE_TRANSFORM(rfft, BP_RFFT)
BACKPLANE_TRANSFORM(irfft, BP_IRFFT)
BACKPLANE_TRANSFORM(hfft, BP_HFFT)
BACKPLANE_TRANSFORM(ihfft, BP_IHFFT)
BACKPLANE_FUNCTION(fftfreq, (double d, const view &output), bp_fftfreq(d, output.get()))
BACKPLANE_FUNCTION(rfftfreq, (std::int64_t n, double d, const view &output), bp_rfftfreq(n, d, output.get()))
BACKPLANE_FUNCTION(fftshift, (const const_view &input, const view &output),
                   bp_fftshift(input.get(), BP_FFT_ALL, nullptr, output.get()))
BACKPLANE_FUNCTION(ifftshift, (const const_view &input, const view &output),
                   bp_ifftshift(input.get(), BP_FFT_ALL, nullptr, output.get()))

} // namespace backplane

#include "backplane/layers.hpp"

#include "backplane/graphs.hpp"

#undef BACKPLANE_SHORT_FORM
#undef BACKPLANE_TRANSFORM
#undef BACKPLANE_OBJECT
#undef BACKPLANE_LIST
#undef BACKPLANE_MAKER
#undef BACKPLANE_FUNCTION

#endif
