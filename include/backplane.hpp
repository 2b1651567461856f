/* backplane.hpp - wraps backplane.h for C++17 and later: handles that release themselves, views of containers,
 * exceptions.
 *
 * Header-only over the C interface, which remains usable. Every function exists twice. backplane::matmul()
 * throws backplane::error on failure. backplane::nothrow::matmul() takes the same arguments and returns the bp_status.
 * In programs without exceptions (-fno-exceptions), or with BACKPLANE_NO_EXCEPTIONS defined, both return the status,
 * and functions that return an object exist in `nothrow` only, where the object is the first argument.
 *
 * Inputs are const_view, outputs view. Both are made implicitly from C arrays of any rank, from containers with data()
 * and size() (std::vector, std::array, std::span: one dimension), from mdspans, and from tensors that own their memory;
 * explicitly from a pointer and extents. A view owns no elements, and its copies are views of the same memory.
 *
 * What an operation computes, and its errors, are told by the C function of the same name. */
#ifndef BACKPLANE_HPP
#define BACKPLANE_HPP

#include "backplane.h"

#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif
#if defined(__cpp_lib_span)
#include <span>
#endif
#if defined(__cpp_lib_mdspan)
#include <mdspan>
#endif
#if defined(__STDCPP_FLOAT16_T__) || defined(__STDCPP_BFLOAT16_T__)
#include <stdfloat>
#endif

#if !defined(BACKPLANE_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define BACKPLANE_NO_EXCEPTIONS 1
#endif
#if defined(BACKPLANE_NO_EXCEPTIONS)
#define BACKPLANE_RESULT [[nodiscard]] inline bp_status
#else
#include <stdexcept>
#define BACKPLANE_RESULT inline void
#endif

#if defined(__clang__)
#define BACKPLANE_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define BACKPLANE_LIFETIMEBOUND
#endif

/* ---- Errors ---- */

namespace backplane {

/* The category of bp_status, for std::error_code. */
inline const std::error_category &category() noexcept {
    struct backplane_category final : std::error_category {
        const char *name() const noexcept override {
            return "backplane";
        }
        std::string message(int code) const override {
            return bp_status_text(static_cast<bp_status>(code));
        }
    };
    static const backplane_category only;
    return only;
}

} // namespace backplane

template <> struct std::is_error_code_enum<bp_status> : std::true_type {};
inline std::error_code make_error_code(bp_status status) noexcept {
    return {static_cast<int>(status), backplane::category()};
}

namespace backplane {

#if !defined(BACKPLANE_NO_EXCEPTIONS)
/* A failure: what() is the text of bp_last_error(). */
class error : public std::runtime_error {
  public:
    explicit error(bp_status status) : error(status, bp_last_error()) {
    }
    error(bp_status status, const char *text) : std::runtime_error(text), status_(status) {
    }
    bp_status status() const noexcept {
        return status_;
    }
    std::error_code code() const noexcept {
        return make_error_code(status_);
    }

  private:
    bp_status status_;
};

inline void check(bp_status status) {
    if (status != BP_OK) {
        throw error(status);
    }
}
#else
[[nodiscard]] inline bp_status check(bp_status status) noexcept {
    return status;
}
#endif

/* A struct of the C interface, all zero but for its size: auto call = init<bp_fft_call>(). */
template <class S> S init() noexcept {
    S made{};
    made.struct_size = sizeof(S);
    return made;
}

/* ---- Element types ---- */

template <class T> struct dtype_of : std::integral_constant<bp_dtype, BP_DTYPE_NONE> {};
#define BACKPLANE_DTYPE(type, dtype)                                                                                   \
    template <> struct dtype_of<type> : std::integral_constant<bp_dtype, dtype> {};
BACKPLANE_DTYPE(float, BP_F32)
BACKPLANE_DTYPE(double, BP_F64)
BACKPLANE_DTYPE(std::complex<float>, BP_C64)
BACKPLANE_DTYPE(std::complex<double>, BP_C128)
BACKPLANE_DTYPE(std::int8_t, BP_I8)
BACKPLANE_DTYPE(std::int16_t, BP_I16)
BACKPLANE_DTYPE(std::int32_t, BP_I32)
BACKPLANE_DTYPE(std::int64_t, BP_I64)
BACKPLANE_DTYPE(std::uint8_t, BP_U8)
BACKPLANE_DTYPE(std::uint16_t, BP_U16)
BACKPLANE_DTYPE(std::uint32_t, BP_U32)
BACKPLANE_DTYPE(std::uint64_t, BP_U64)
BACKPLANE_DTYPE(bool, BP_BOOL)
#if defined(__STDCPP_FLOAT16_T__)
BACKPLANE_DTYPE(std::float16_t, BP_F16)
#endif
#if defined(__STDCPP_BFLOAT16_T__)
BACKPLANE_DTYPE(std::bfloat16_t, BP_BF16)
#endif
#undef BACKPLANE_DTYPE

template <class T> inline constexpr bool is_element = dtype_of<std::remove_cv_t<T>>::value != BP_DTYPE_NONE;

/* ---- Views ---- */

/* Sizes, or strides in elements: {3, 4}, or any range of integers. */
class extents {
  public:
    extents() noexcept = default;
    extents(std::initializer_list<std::int64_t> sizes) noexcept {
        assign(sizes.begin(), sizes.end());
    }
    extents(const std::int64_t *sizes, int ndim) noexcept {
        assign(sizes, sizes + (ndim > 0 ? ndim : 0));
    }
    template <class Range, class = decltype(std::begin(std::declval<const Range &>())),
              class = std::enable_if_t<!std::is_same_v<Range, extents>>>
    extents(const Range &sizes) noexcept {
        assign(std::begin(sizes), std::end(sizes));
    }

    int ndim() const noexcept {
        return ndim_;
    } /* more than BP_MAX_NDIM: too many were given */
    const std::int64_t *data() const noexcept {
        return sizes_;
    }
    std::int64_t operator[](int at) const noexcept {
        return sizes_[at];
    }

  private:
    friend class const_view;
    template <class Iterator> void assign(Iterator from, Iterator end) noexcept {
        for (; from != end; ++from, ++ndim_) {
            if (ndim_ < BP_MAX_NDIM) {
                sizes_[ndim_] = static_cast<std::int64_t>(*from);
            }
        }
    }
    int ndim_ = 0;
    std::int64_t sizes_[BP_MAX_NDIM];
};

namespace detail {

/* What data() points to; void for types that are not containers. */
template <class C, class = void> struct container_element { using type = void; };
template <class C>
struct container_element<C, std::enable_if_t<std::is_pointer_v<decltype(std::declval<C &>().data())> &&
                                             std::is_integral_v<decltype(std::declval<C &>().size())>>> {
    using type = std::remove_pointer_t<decltype(std::declval<C &>().data())>;
};
template <class C> using element_of = typename container_element<C>::type;
template <class C> struct is_container : std::bool_constant<is_element<element_of<C>>> {};

/* Whether the elements may be used after this expression: if the object has a name (C &), or is a temporary span with
 * its own constness and not its elements'. */
template <class C>
inline constexpr bool outlives = std::is_lvalue_reference_v<C> || (std::is_trivially_copyable_v<C> &&
                                                                   std::is_same_v<element_of<C>, element_of<const C>>);

template <class C> using if_temporary = std::enable_if_t<is_container<const C>::value && !outlives<C>, int>;
template <class C>
using if_written = std::enable_if_t<is_container<C>::value && !std::is_const_v<element_of<C>> && outlives<C>, int>;

template <class M>
using mdspan_element =
    std::remove_pointer_t<std::remove_cv_t<std::remove_reference_t<decltype(std::declval<const M &>().data_handle())>>>;

/* std::mdspan, and others with its members. An accessor that changes the elements, such as one that conjugates, returns
 * no reference to them. */
template <class M, class = void> struct is_mdspan : std::false_type {};
template <class M>
struct is_mdspan<M, std::void_t<mdspan_element<M>, typename M::reference, decltype(M::rank()),
                                decltype(std::declval<const M &>().extent(0))>>
    : std::bool_constant<is_element<mdspan_element<M>> && std::is_same_v<typename M::reference, mdspan_element<M> &>> {
};

} // namespace detail

/* Elements that are read. Holds shape and strides; copies and moves have their own. */
class const_view {
  public:
    const_view() noexcept {
        set(nullptr, BP_F32, 1, nullptr_shape(), nullptr);
    }
    const_view(const const_view &other) noexcept {
        copy(other);
    }
    const_view &operator=(const const_view &other) noexcept {
        if (this != &other) {
            copy(other);
        }
        return *this;
    }

    /* Strides count elements; none: row-major. */
    template <class T, class = std::enable_if_t<is_element<T>>>
    const_view(const T *data, const extents &shape, const extents &strides = {}) {
        assign(const_cast<T *>(data), dtype_of<T>::value, shape, strides);
    }
    const_view(const void *data, bp_dtype dtype, const extents &shape, const extents &strides = {}) {
        assign(const_cast<void *>(data), dtype, shape, strides);
    }
    template <class T, std::size_t N, class E = std::remove_all_extents_t<T>, class = std::enable_if_t<is_element<E>>>
    const_view(const T (&array)[N]) {
        assign_array<T[N]>(const_cast<E *>(reinterpret_cast<const E *>(array)));
    }
    template <class T, std::size_t N, class = std::enable_if_t<is_element<std::remove_all_extents_t<T>>>>
    const_view(const T (&&)[N]) = delete; /* a temporary array, such as {1.0, 2.0} */
    template <class C, std::enable_if_t<detail::is_container<const C>::value, int> = 0> const_view(const C &container) {
        assign_container(container);
    }
    /* No views of temporary containers: name the container. */
    template <class C, detail::if_temporary<C> = 0> const_view(const C &&container) = delete;
    /* The container's elements in another shape, row-major. BP_E_SHAPE if it has too few. */
    template <class C, std::enable_if_t<detail::is_container<const C>::value, int> = 0>
    const_view(const C &container, const extents &shape) {
        assign_container(container, shape);
    }
    template <class C, detail::if_temporary<C> = 0> const_view(const C &&container, const extents &shape) = delete;
    template <class M, std::enable_if_t<detail::is_mdspan<M>::value, int> = 0> const_view(const M &span) {
        assign_mdspan(span);
    }
    /* Any tensor in host memory. Its shape and strides are copied. */
    const_view(const DLTensor &tensor) noexcept {
        copy(tensor);
    }

    const DLTensor *get() const noexcept {
        return &view_.tensor;
    }
    int ndim() const noexcept {
        return view_.tensor.ndim;
    }
    std::int64_t size(int dim) const noexcept {
        return view_.shape[dim < 0 ? dim + ndim() : dim];
    }
    std::int64_t stride(int dim) const noexcept {
        return view_.strides[dim < 0 ? dim + ndim() : dim];
    }
    extents shape() const noexcept {
        return extents_of(view_.shape);
    }
    extents strides() const noexcept {
        return extents_of(view_.strides);
    }
    bp_dtype dtype() const noexcept {
        return bp_dtype_from_dlpack(view_.tensor.dtype);
    }
    std::int64_t elements() const noexcept {
        std::int64_t count = ndim() >= 0;
        for (int d = 0; d < ndim(); d++) {
            count *= view_.shape[d];
        }
        return count;
    }
    /* BP_OK, or why the view could not be made. Such a view is refused by all operations. */
    bp_status status() const noexcept {
        return status_;
    }

    /* The last two dimensions exchanged. */
    const_view transposed() const noexcept {
        const_view made(*this);
        made.transpose();
        return made;
    }

  protected:
    struct unset {};
    explicit const_view(unset) noexcept {
    } /* a constructor of view goes on */
    bp_view view_;
    bp_status status_ = BP_OK;

    void transpose() noexcept {
        if (const int n = ndim(); n >= 2) {
            std::swap(view_.shape[n - 1], view_.shape[n - 2]);
            std::swap(view_.strides[n - 1], view_.strides[n - 2]);
        }
    }

  private:
    static const std::int64_t *nullptr_shape() noexcept {
        static const std::int64_t none[1] = {0};
        return none;
    }
    extents extents_of(const std::int64_t *from) const noexcept {
        extents made;
        made.assign(from, from + (ndim() > 0 ? ndim() : 0));
        return made;
    }
    void set(void *data, bp_dtype dtype, int ndim, const std::int64_t *shape, const std::int64_t *strides) noexcept {
        status_ = bp_view_init(&view_, data, dtype, ndim, shape, strides);
        if (status_ != BP_OK) {
            view_ = bp_view{};
            view_.tensor.ndim = -1;
        }
    }
    void copy(const DLTensor &from) noexcept {
        const bp_dtype dtype = bp_dtype_from_dlpack(from.dtype);
        set(from.data, dtype == BP_DTYPE_NONE ? BP_U8 : dtype, from.ndim, from.shape, from.strides);
        if (status_ == BP_OK) {
            view_.tensor.dtype = from.dtype;
            view_.tensor.device = from.device;
            view_.tensor.byte_offset = from.byte_offset;
        }
    }
    void copy(const const_view &from) noexcept {
        copy(from.view_.tensor);
        status_ = from.status_;
    }
    void raise() const {
#if !defined(BACKPLANE_NO_EXCEPTIONS)
        check(status_);
#endif
    }
    void assign(void *data, bp_dtype dtype, const extents &shape, const extents &strides) {
        const bool fits = strides.ndim() == 0 || strides.ndim() == shape.ndim();
        set(data, dtype, fits ? shape.ndim() : -1, shape.data(), strides.ndim() == 0 ? nullptr : strides.data());
        raise();
    }
    template <class C> void assign_container(C &&c) {
        using T = std::remove_cv_t<detail::element_of<std::remove_reference_t<C>>>;
        assign(const_cast<T *>(c.data()), dtype_of<T>::value, {static_cast<std::int64_t>(c.size())}, {});
    }
    template <class C> void assign_container(C &&c, const extents &shape) {
        using T = std::remove_cv_t<detail::element_of<std::remove_reference_t<C>>>;
        assign_part(const_cast<T *>(c.data()), dtype_of<T>::value, c.size(), shape);
    }
    void assign_part(void *data, bp_dtype dtype, std::size_t size, const extents &shape) {
        assign(data, dtype, shape, {});
        if (status_ == BP_OK && elements() > static_cast<std::int64_t>(size)) {
            view_.tensor.ndim = -1;
            status_ = BP_E_SHAPE;
#if !defined(BACKPLANE_NO_EXCEPTIONS)
            throw error(BP_E_SHAPE, "the container has fewer elements than the view's shape");
#endif
        }
    }
    template <class A> void assign_array(void *data) {
        extents shape = shape_of<A>(std::make_index_sequence<std::rank_v<A>>());
        assign(data, dtype_of<std::remove_cv_t<std::remove_all_extents_t<A>>>::value, shape, {});
    }
    template <class A, std::size_t... D> static extents shape_of(std::index_sequence<D...>) noexcept {
        return {static_cast<std::int64_t>(std::extent_v<A, D>)...};
    }
    template <class M> void assign_mdspan(const M &span) {
        std::int64_t shape[BP_MAX_NDIM + 1], strides[BP_MAX_NDIM + 1];
        const int rank = static_cast<int>(M::rank());
        if constexpr (M::rank() > 0) { /* otherwise it has no strides */
            for (int d = 0; d < rank && d < BP_MAX_NDIM; d++) {
                const auto at = static_cast<std::size_t>(d);
                shape[d] = static_cast<std::int64_t>(span.extent(at));
                strides[d] = static_cast<std::int64_t>(span.stride(at));
            }
        }
        using T = std::remove_cv_t<detail::mdspan_element<M>>;
        set(const_cast<T *>(span.data_handle()), dtype_of<T>::value, rank, shape, strides);
        raise();
    }
    friend class view;
};

/* Elements that are written. */
class view : public const_view {
  public:
    view() noexcept = default;
    template <class T, class = std::enable_if_t<is_element<T> && !std::is_const_v<T>>>
    view(T *data, const extents &shape, const extents &strides = {}) : const_view(unset()) {
        assign(data, dtype_of<T>::value, shape, strides);
    }
    view(void *data, bp_dtype dtype, const extents &shape, const extents &strides = {}) : const_view(unset()) {
        assign(data, dtype, shape, strides);
    }
    template <class T, std::size_t N, class E = std::remove_all_extents_t<T>,
              class = std::enable_if_t<is_element<E> && !std::is_const_v<E>>>
    view(T (&array)[N]) : const_view(unset()) {
        assign_array<T[N]>(array);
    }
    template <class C, detail::if_written<C> = 0> view(C &&container) : const_view(unset()) {
        assign_container(container);
    }
    template <class C, detail::if_written<C> = 0> view(C &&container, const extents &shape) : const_view(unset()) {
        assign_container(container, shape);
    }
    template <class M,
              std::enable_if_t<detail::is_mdspan<M>::value && !std::is_const_v<detail::mdspan_element<M>>, int> = 0>
    view(const M &span) : const_view(span) {
    }
    explicit view(const DLTensor &tensor) noexcept : const_view(tensor) {
    }

    DLTensor *get() const noexcept {
        return const_cast<DLTensor *>(&view_.tensor);
    }
    view transposed() const noexcept {
        view made(*this);
        made.transpose();
        return made;
    }
};

/* ---- Handles ---- */

namespace detail {

/* An object of the library with one owner. */
template <class T, void (*Release)(T *)> class handle {
  public:
    handle() noexcept = default;
    explicit handle(T *owned) noexcept : owned_(owned) {
    }
    handle(handle &&other) noexcept : owned_(std::exchange(other.owned_, nullptr)) {
    }
    handle &operator=(handle &&other) noexcept {
        if (this != &other) {
            Release(std::exchange(owned_, std::exchange(other.owned_, nullptr)));
        }
        return *this;
    }
    ~handle() {
        Release(owned_);
    }

    T *get() const noexcept {
        return owned_;
    }
    T *release() noexcept {
        return std::exchange(owned_, nullptr);
    }
    explicit operator bool() const noexcept {
        return owned_ != nullptr;
    }
    /* For functions of the C interface that make one; releases what was there. */
    T **put() noexcept {
        Release(std::exchange(owned_, nullptr));
        return &owned_;
    }

  private:
    T *owned_ = nullptr;
};

inline void release_tensor(DLManagedTensorVersioned *tensor) {
    if (tensor && tensor->deleter) {
        tensor->deleter(tensor);
    }
}
inline void leave_scope(bp_scope *scope) {
    static_cast<void>(bp_scope_leave(&scope));
}

} // namespace detail

/* Names and values of settings. */
using setting_list = std::initializer_list<std::pair<const char *, std::string>>;

namespace detail {

/* The text that bp_options_new() reads, with the values in quotes. */
inline std::string settings_text(setting_list settings) {
    std::string text;
    for (const auto &[name, value] : settings) {
        text += (text.empty() ? "" : ", ") + std::string(name) + "=\"";
        for (char c : value) {
            text += c == '"' || c == '\\' ? "\\" : "";
            text += c;
        }
        text += '"';
    }
    return text;
}

} // namespace detail

/* A checked list of settings for one call or a scope: options("num_threads=1, blas.preferred=openblas"), or
 * options({{"num_threads", "1"}, {"blas.preferred", library}}). */
class options : public detail::handle<bp_options, bp_options_release> {
  public:
    using handle::handle;
#if !defined(BACKPLANE_NO_EXCEPTIONS)
    explicit options(const char *text) {
        check(bp_options_new(put(), text));
    }
    explicit options(const std::string &text) : options(text.c_str()) {
    }
    explicit options(setting_list settings) : options(detail::settings_text(settings)) {
    }
#endif
};

/* Settings of the calling thread until the scope ends. It must end in the thread that entered it. */
class scope : public detail::handle<bp_scope, detail::leave_scope> {
  public:
    using handle::handle;
#if !defined(BACKPLANE_NO_EXCEPTIONS)
    explicit scope(const char *text) {
        check(bp_scope_enter(put(), text));
    }
    explicit scope(const std::string &text) : scope(text.c_str()) {
    }
    explicit scope(const options &settings) {
        check(bp_scope_enter_options(put(), settings.get()));
    }
#endif
};

/* An operand in the layout of a plan's library. Keeps the plan alive. */
class packed : public detail::handle<bp_packed, bp_packed_release> {
  public:
    using handle::handle;
};

/* A tensor with memory of its own: compact, row-major, aligned to 64 bytes. */
class tensor : public detail::handle<DLManagedTensorVersioned, detail::release_tensor> {
  public:
    using handle::handle;
#if !defined(BACKPLANE_NO_EXCEPTIONS)
    /* Of zeros. */
    tensor(bp_dtype dtype, const extents &shape) {
        check(bp_tensor_new(put(), dtype, shape.ndim(), shape.data()));
    }
    template <class T> static tensor zeros(const extents &shape) {
        return tensor(dtype_of<T>::value, shape);
    }
#endif
    template <class T> T *data() const noexcept {
        return get() && bp_dtype_from_dlpack(get()->dl_tensor.dtype) == dtype_of<T>::value
                   ? reinterpret_cast<T *>(static_cast<char *>(get()->dl_tensor.data) + get()->dl_tensor.byte_offset)
                   : nullptr;
    }
    operator view() const &noexcept {
        return get() ? view(get()->dl_tensor) : view();
    }
    operator view() const && = delete; /* the elements end with the temporary tensor */
    /* A temporary tensor may be an input: matmul(matmul(a, b), c). clang warns of a view that lives longer. */
    operator const_view() const noexcept BACKPLANE_LIFETIMEBOUND {
        return get() ? const_view(get()->dl_tensor) : const_view();
    }
};

} // namespace backplane

#include "backplane/operations.hpp"

#endif
