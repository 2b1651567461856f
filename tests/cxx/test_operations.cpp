/* test_operations.cpp - checks that every family of operations is reached from C++, with exceptions, plans and scopes.
 */
#include "backplane.hpp"

#include "check.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>

namespace bp = backplane;

template <class Work> static bp_status thrown(Work work) {
    try {
        work();
    } catch (const bp::error &e) {
        CHECK(std::strcmp(e.what(), "") != 0);
        return e.status();
    }
    return BP_OK;
}

static void products() {
    const double a[2][3] = {{1, 2, 3}, {4, 5, 6}}, b[3][2] = {{1, 0}, {0, 1}, {1, 1}};
    double c[2][2] = {};
    bp::matmul(a, b, c);
    CHECK(c[0][0] == 4 && c[1][1] == 11);
    const bp::tensor made = bp::matmul(a, b);
    CHECK(made.data<double>()[3] == 11);
    const std::uint8_t bytes[1][2] = {{255, 3}};
    const std::int8_t more[2][1] = {{-128}, {7}};
    std::int32_t sum[1][1] = {};
    bp::matmul(bytes, more, sum);
    CHECK(sum[0][0] == 255 * -128 + 3 * 7);
    CHECK(bp::matmul(more, bytes).data<std::int32_t>()[0] == -128 * 255);
    bp::gemm({2, 0}, b, a, {0, 0}, bp::view(&c[0][0], {2, 2}), BP_TRANSPOSE, BP_TRANSPOSE);
    CHECK(c[0][0] == 8 && c[1][1] == 22);
    CHECK(thrown([&] { bp::matmul(a, a, c); }) == BP_E_SHAPE);
    CHECK(bp::nothrow::matmul(a, a, c) == BP_E_SHAPE);
    const bp::options one("num_threads=1");
    bp::matmul(a, b, c, &one);
    CHECK(bp::last_plan().threads == 1);
    double power[2][2];
    const double shear[2][2] = {{1, 1}, {0, 1}};
    bp::matrix_power(shear, 10, power);
    CHECK(power[0][1] == 10);
    double chain[2][2];
    bp::multi_dot({a, b, shear}, chain);
    CHECK(chain[0][1] == 9);
    bp::einsum("ij,jk,kl->il", {a, b, shear}, chain);
    CHECK(chain[0][1] == 9);
    CHECK(bp::einsum("ij->ji", {a}).data<double>()[1] == 4);
    CHECK(thrown([&] { bp::einsum("i(", {a}, chain); }) == BP_E_ARGUMENT);
    const std::complex<double> z[2] = {{0, 1}, {2, 0}};
    std::complex<double> dot[1];
    bp::vecdot(z, z, bp::view(dot, bp::extents{}));
    CHECK(dot[0] == std::complex<double>(5, 0));
}

static void nested_products() {
    const double a[2][2] = {{1, 1}, {0, 1}};
    const bp::tensor cube = bp::matmul(bp::matmul(a, a), a);
    CHECK(cube.data<double>()[1] == 3);
}

static void linear_algebra() {
    const double a[2][2] = {{4, 1}, {1, 3}}, b[2] = {1, 2};
    double x[2], m[2][2], n[2][2], w[2], one[1];
    const bp::view scalar(one, bp::extents{});
    bp::solve(a, b, x);
    CHECK(near(4 * x[0] + x[1], 1) && near(x[0] + 3 * x[1], 2));
    bp::inv(a, m);
    CHECK(near(m[0][0], 3 / 11.));
    bp::cholesky(a, m);
    CHECK(m[0][0] == 2 && m[0][1] == 0);
    bp::eigh(a, w, m);
    CHECK(near(w[0] + w[1], 7));
    bp::eigvalsh(a, w);
    bp::svdvals(a, w);
    CHECK(near(w[0] * w[1], 11));
    bp::qr(a, m, n);
    CHECK(near(std::fabs(n[0][0]), std::sqrt(17.)));
    bp::det(a, scalar);
    CHECK(near(one[0], 11));
    bp::vector_norm(a, scalar);
    CHECK(near(one[0], std::sqrt(27.)));
    bp::vector_norm(a, w, std::numeric_limits<double>::infinity(), {0});
    CHECK(w[0] == 4 && w[1] == 3);
    bp::vector_norm(a, m, 2, std::vector<int>()); /* along no dimension */
    CHECK(m[0][0] == 4 && m[1][0] == 1);
    bp::matrix_norm(a, scalar, BP_NORM_P, 1);
    CHECK(one[0] == 5);
    const double tall[3][1] = {{1}, {1}, {4}}, right[3][1] = {{1}, {2}, {3}};
    double fit[1][1];
    std::int64_t rank[1];
    const bp::view ranks(rank, bp::extents{});
    bp::lstsq(tall, right, fit, nullptr, BP_MODE_DEFAULT, nullptr, &ranks);
    CHECK(near(fit[0][0], 15 / 18.) && rank[0] == 1);
    const double singular[2][2] = {};
    CHECK(thrown([&] { bp::inv(singular, m); }) == BP_E_SINGULAR);
    auto call = bp::init<bp_linalg_call>();
    const bp::const_view input = a;
    const bp::view output = m;
    call.op = BP_OP_INV;
    call.input[0] = input.get();
    call.output[0] = output.get();
    bp::linalg(call);
    CHECK(near(m[0][0], 3 / 11.));
    CHECK(!bp::linalg_explain(call).candidates().empty());
    const bp::plan plan = bp::linalg_plan(call);
    m[0][0] = 0;
    bp::execute(plan, {input, output, bp::const_view()});
    CHECK(near(m[0][0], 3 / 11.));
    CHECK(thrown([&] { bp::execute(plan, {input, output}); }) == BP_E_ARGUMENT);
}

static void transforms() {
    const std::array<double, 4> signal = {1, 2, 3, 4};
    std::array<std::complex<double>, 3> half;
    std::array<double, 4> back;
    bp::rfft(signal, half);
    CHECK(near(half[0].real(), 10) && near(half[1].imag(), 2));
    bp::irfft(half, back);
    CHECK(near(back[3], 4));
    const std::vector<std::complex<double>> values = {1, 2, 3, 4};
    std::vector<std::complex<double>> full(4), shifted(4);
    bp::fft(values, full);
    CHECK(near(full[2].real(), -2));
    bp::fftn(bp::const_view(full, {2, 2}), bp::view(shifted, {2, 2}));
    bp::fftshift(signal, back);
    CHECK(back[0] == 3);
    bp::fftfreq(0.5, back);
    CHECK(back[1] == 0.5);
    auto call = bp::init<bp_fft_call>();
    call.transform = BP_RFFT;
    call.axis_count = 1;
    const bp::plan plan = bp::fft_plan(call, signal, half);
    half = {};
    bp::execute(plan, {signal, half});
    CHECK(near(half[0].real(), 10));
    bp::fft_run(call, signal, half);
    CHECK(bp::fft_explain(call, signal, half).text()[0]);
}

/* Two equal keys have weights of a half; of keys 0 and 128, the larger one has all. */
static void attention() {
    const float query[2][1] = {{0}, {1}}, key[2][1] = {{0}, {128}}, value[2][2] = {{2, 4}, {6, -8}};
    float output[2][2] = {}, logarithm[2] = {};
    const bp::const_view q = query, k = key, v = value;
    const bp::view o = output, l = logarithm;
    auto call = bp::init<bp_attention_call>();
    call.query = q.get();
    call.key = k.get();
    call.value = v.get();
    call.output = o.get();
    call.logsumexp = l.get();
    bp::attention_run(call);
    CHECK(near(output[0][0], 4) && near(output[0][1], -2) && near(output[1][0], 6) && near(output[1][1], -8));
    CHECK(near(logarithm[0], std::log(2.), 1e-6) && near(logarithm[1], 128, 1e-6));
    CHECK(!bp::attention_explain(call).candidates().empty());
    std::memset(output, 0, sizeof output);
    const bp::plan plan = bp::attention_plan(call);
    CHECK(plan.describe().operands == 7);
    bp::execute(plan, {q, k, v, {}, {}, o, l});
    CHECK(near(output[1][1], -8));
    const bp::options none("dispatch.exclude=native");
    CHECK(thrown([&] { bp::attention_run(call, &none); }) == BP_E_NO_CANDIDATE);

    /* With all of the weight on one key, its value has the whole gradient, and the query has none. */
    const float slopes[2][2] = {{0, 0}, {3, 5}};
    float by_query[2][1] = {{1}, {1}}, by_value[2][2];
    const bp::const_view g = slopes;
    const bp::view dq = by_query, dv = by_value;
    call.pass = BP_ATTENTION_BACKWARD;
    call.output_gradient = g.get();
    call.query_gradient = dq.get();
    call.value_gradient = dv.get();
    CHECK(bp::nothrow::attention_run(call) == BP_OK);
    CHECK(by_query[0][0] == 0 && by_query[1][0] == 0);
    CHECK(near(by_value[0][0], 0) && near(by_value[1][0], 3, 1e-4) && near(by_value[1][1], 5, 1e-4));
    call.dropout = 0.5;
    CHECK(bp::nothrow::attention_run(call) == BP_E_ARGUMENT);
    CHECK(thrown([&] { bp::attention_run(call); }) == BP_E_ARGUMENT);
}

static void single_elements() {
    const float x[2][2] = {{-1, 4}, {9, -16}}, row[2] = {10, 20};
    const std::int64_t rows[3] = {1, 0, 1}, wrong[1] = {2}, columns[2][1] = {{1}, {0}};
    float y[2][2] = {}, taken[3][2] = {}, picked[2][1] = {}, joined[4][2] = {};
    bp::unary_run(BP_UNARY_RELU, x, y);
    CHECK(y[0][0] == 0 && y[1][0] == 9);
    const double limits[2] = {-8, 6};
    bp::unary_with_run(BP_UNARY_CLIP, 2, limits, x, y);
    CHECK(y[0][0] == -1 && y[1][0] == 6 && y[1][1] == -8);
    CHECK(std::strstr(bp::unary_with_explain(BP_UNARY_CLIP, 1, limits, x, y).text(), "clip -8,inf f32") != nullptr);
    CHECK(bp::nothrow::unary_with_run(BP_UNARY_ABS, 1, limits, x, y) == BP_E_ARGUMENT);
    bp::unary_run(BP_UNARY_RELU, x, y);
    bp::binary_run(BP_BINARY_ADD, y, row, y);
    CHECK(y[0][0] == 10 && y[1][0] == 19 && y[1][1] == 20);
    const bool where[2] = {true, false};
    float chosen[2][2] = {};
    bp::where_run(where, x, y, chosen);
    CHECK(chosen[0][0] == -1 && chosen[0][1] == 24 && chosen[1][0] == 9 && chosen[1][1] == 20);
    bp::take_run(x, rows, 0, taken);
    CHECK(taken[0][0] == 9 && taken[1][1] == 4 && taken[2][1] == -16);
    bp::gather_run(x, columns, 1, picked);
    CHECK(picked[0][0] == 4 && picked[1][0] == 9);
    bp::concat_run({x, y}, 0, joined);
    CHECK(joined[1][0] == 9 && joined[3][0] == 19);
    CHECK(bp::nothrow::take_run(x, wrong, 0, bp::view(taken[0], {1, 2})) == BP_E_ARGUMENT);
    CHECK(thrown([&] { bp::concat_run({x, y}, 1, joined); }) == BP_E_SHAPE);
    const bp::plan plan = bp::unary_plan(BP_UNARY_ABS, x, y);
    bp::execute(plan, {bp::const_view(x), bp::view(y)});
    CHECK(y[1][1] == 16);
    CHECK(bp::take_plan(x, rows, 0, taken).describe().operands == 3);
    CHECK(!bp::binary_explain(BP_BINARY_DIVIDE, x, row, y).candidates().empty());
}

static void plans_live_as_long_as_their_handles() {
    const double a[2][2] = {{1, 2}, {3, 4}};
    double c[2][2];
    bp::plan plan;
    CHECK(!plan);
    plan = bp::matmul_plan(a, a, c);
    bp::plan other = std::move(plan);
    CHECK(!plan && other && other.describe().library[0]);
    bp::execute(other, {a, a, c});
    CHECK(c[1][1] == 22);
    bp::packed weights = bp::pack(other, 1, a);
    bp::plan kept = std::move(other);
    kept = bp::plan(); /* what was packed keeps it */
    weights = bp::packed();
    const bp::plan fresh = bp::matmul_plan(a, a, c);
    const bp::packed again = bp::pack(fresh, 1, a);
    std::memset(c, 0, sizeof c);
    bp::execute_packed(fresh, {a, a, c}, {nullptr, &again});
    CHECK(c[1][1] == 22);
    const bp::explanation why = bp::matmul_explain(a, a, c);
    CHECK(std::strstr(why.text(), "native") && !why.candidates().empty() && why.decision()[0] && why.json()[0] == '{');
    CHECK(bp::einsum_explain("ij,jk->ik", {a, a}, c).text()[0]);
    const bp::plan parts = bp::einsum_plan("ij,jk->ik", {a, a}, c);
    bp::execute(parts, {a, a, c});
    CHECK(c[0][0] == 7);
    const bp::plan chain = bp::einsum_plan("ij,jk,kl->il", {a, a, a}, c);
    CHECK(fresh.describe().operands == 3 && parts.describe().operands == 3 && chain.describe().operands == 4);
    for (const bp::plan *one : {&fresh, &parts, &chain}) {
        std::memset(c, 0, sizeof c);
        CHECK(thrown([&] { bp::execute(*one, {}); }) == BP_E_ARGUMENT);
        CHECK(thrown([&] { bp::execute(*one, {a, a}); }) == BP_E_ARGUMENT);
        CHECK(thrown([&] { bp::execute(*one, {a, a, a, a, c}); }) == BP_E_ARGUMENT);
        CHECK(c[0][0] == 0);
    }
    CHECK(thrown([&] { bp::execute_packed(fresh, {a}, {nullptr, &again}); }) == BP_E_ARGUMENT);
}

static void settings_and_libraries() {
    CHECK(bp::get("deterministic") == "off");
    {
        const bp::scope outer("deterministic=run");
        const bp::options threads("deterministic=threads");
        CHECK(bp::get("deterministic") == "run");
        bp::scope inner(threads), moved(std::move(inner));
        CHECK(!inner && bp::get("deterministic") == "threads");
    }
    CHECK(bp::get("deterministic") == "off");
    bp::set("num_threads", 2);
    CHECK(bp::get("num_threads") == "2");
    bp::unset("num_threads");
    bp::set("dispatch.fallback", std::string("allow"));
    bp::unset("dispatch.fallback");
    {
        const bp::options listed({{"num_threads", "1"}, {"dispatch.exclude", "blis,netlib"}});
        const bp::scope limits(listed);
        CHECK(bp::get("num_threads") == "1" && bp::get("dispatch.exclude") == "blis,netlib");
    }
    CHECK(thrown([] { bp::options wrong({{"dispatch.exclude", "a\"b\n"}}); }) == BP_E_BAD_VALUE);
    CHECK(thrown([] { bp::set("num_thread", 2); }) == BP_E_UNKNOWN_NAME);
    CHECK(thrown([] { bp::options wrong("num_threads=-1"); }) == BP_E_BAD_VALUE);
    CHECK(thrown([] { bp::scope wrong("nothing"); }) != BP_OK);
    bool native = false;
    for (const bp_library_info &library : bp::libraries()) {
        native |= std::strcmp(library.id, "native") == 0;
    }
    CHECK(native || !bp::libraries().empty());
}

static void text() {
    const float a[2][2] = {{1, 2.5}, {-3, 4}};
    CHECK(bp::format(a) == "f32 (2, 2)\n[[ 1.   2.5]\n [-3.   4. ]]\n");
    float copied[2][2];
    bp::copy(copied, bp::const_view(a).transposed());
    CHECK(copied[0][1] == -3);
    bp::print(stdout, a);
}

/* A unit that adds its input to its state, and its gradients: each input and the first state reach the last output. */
static void recurrent_layer() {
    const float input[3][1][1] = {{{1}}, {{2}}, {{4}}}, weight[1][1] = {{1}}, slopes[3][1][1] = {{{0}}, {{0}}, {{3}}};
    float output[3][1][1] = {}, state[1][1] = {}, by_input[3][1][1] = {}, by_weight[1][1] = {};
    const bp::const_view x = input, w = weight, g = slopes;
    const bp::view y = output, h = state, dx = by_input, dw = by_weight;
    auto call = bp::init<bp_rnn_call>();
    call.mode = BP_RNN_RELU;
    call.input = x.get();
    call.weight_ih = w.get();
    call.weight_hh = w.get();
    call.output = y.get();
    call.final_hidden = h.get();
    bp::rnn_run(call);
    CHECK(near(output[0][0][0], 1) && near(output[2][0][0], 7) && near(state[0][0], 7));
    CHECK(!bp::rnn_explain(call).candidates().empty());
    std::memset(output, 0, sizeof output);
    const bp::plan plan = bp::rnn_plan(call);
    CHECK(plan.describe().operands == 13);
    bp::execute(plan, {x, w, w, {}, {}, {}, {}, {}, {}, y, h, {}, {}});
    CHECK(near(output[1][0][0], 3));
    const bp::options none("dispatch.exclude=native");
    CHECK(thrown([&] { bp::rnn_run(call, &none); }) == BP_E_NO_CANDIDATE);

    call.pass = BP_RNN_BACKWARD;
    call.final_hidden = nullptr;
    call.output_gradient = g.get();
    call.input_gradient = dx.get();
    call.weight_hh_gradient = dw.get();
    CHECK(bp::nothrow::rnn_run(call) == BP_OK);
    CHECK(near(by_input[0][0][0], 3) && near(by_input[2][0][0], 3) && near(by_weight[0][0], 3 * (1 + 3)));
    call.directions = 3;
    CHECK(bp::nothrow::rnn_run(call) == BP_E_ARGUMENT);
    CHECK(thrown([&] { bp::rnn_run(call); }) == BP_E_ARGUMENT);
}

/* Reductions, softmax and normalization of the rows 0 0 and 3 5. */
static void rows() {
    const float x[2][2] = {{0, 0}, {3, 5}};
    float y[2][2] = {}, sums[2] = {}, total[1] = {};
    std::int64_t index[2] = {};
    const int axis[1] = {1};
    const bp::const_view in = x;
    const bp::view out = y, by_row = sums, at = index, all = total;
    bp::reduce_run(BP_REDUCE_SUM, in, 1, axis, false, by_row);
    CHECK(sums[0] == 0 && sums[1] == 8);
    bp::reduce_run(BP_REDUCE_ARGMAX, in, 1, axis, false, at);
    CHECK(index[0] == 0 && index[1] == 1);
    CHECK(bp::nothrow::reduce_run(BP_REDUCE_SUM, in, 1, axis, false, all) == BP_E_SHAPE);
    bp::variance_run(BP_VAR, in, 1, axis, 1, false, by_row);
    CHECK(sums[0] == 0 && sums[1] == 2);
    bp::execute(bp::variance_plan(BP_STD, in, 1, axis, 0, false, by_row), {in, by_row});
    CHECK(sums[1] == 1);
    const std::int64_t one[1] = {1}, less[1] = {-1};
    bp::pad_run(BP_PAD_CONSTANT, in, 1, one, less, 7, out);
    CHECK(y[1][0] == 7 && y[1][1] == 3);
    bp::flip_run(in, 1, axis, out);
    CHECK(y[1][0] == 5);
    bp::execute(bp::roll_plan(in, 1, axis, one, out), {in, out});
    CHECK(y[1][0] == 5 && y[1][1] == 3);
    const bp::plan plan = bp::reduce_plan(BP_REDUCE_MEAN, in, 1, axis, false, by_row);
    bp::execute(plan, {in, by_row});
    CHECK(sums[1] == 4);
    CHECK(!bp::reduce_explain(BP_REDUCE_MEAN, in, 1, axis, false, by_row).candidates().empty());
    bp::softmax_run(BP_SOFTMAX, in, 1, out);
    CHECK(near(y[0][0], 0.5) && near(y[1][1] / y[1][0], std::exp(2.), 1e-5));
    CHECK(bp::softmax_plan(BP_SOFTMAX, in, 1, out).describe().operands == 2);
    CHECK(!bp::softmax_explain(BP_SOFTMAX, in, 1, out).candidates().empty());
    float gradient[2][2];
    const bp::view g = gradient;
    bp::softmax_backward_run(BP_LOG_SOFTMAX, out, in, 1, g);
    CHECK(gradient[0][0] == 0);
    CHECK(bp::softmax_backward_plan(BP_LOG_SOFTMAX, out, in, 1, g).describe().operands == 3);
    CHECK(!bp::softmax_backward_explain(BP_LOG_SOFTMAX, out, in, 1, g).candidates().empty());
    auto call = bp::init<bp_layer_norm_call>();
    call.row_ndim = 1;
    call.input = in.get();
    call.output = out.get();
    bp::layer_norm_run(call, nullptr);
    CHECK(std::isnan(y[0][0]) && y[1][0] == -1 && y[1][1] == 1);
    CHECK(bp::layer_norm_plan(call).describe().operands == 6);
    CHECK(!bp::layer_norm_explain(call).candidates().empty());
    call.row_ndim = 3;
    CHECK(thrown([&] { bp::layer_norm_run(call); }) == BP_E_SHAPE);
}

/* The calls of neural networks that no test above makes. */
static void networks() {
    const float x[1][1][2][2] = {{{{1, 2}, {4, 3}}}};
    float one[1] = {1}, none[1] = {0}, pooled[1][1][1][1] = {}, y[1][1][2][2] = {};
    const bp::const_view in = x;
    const bp::view by_window = pooled, out = y, mean = none, var = one;
    const std::int64_t window[2] = {2, 2};
    auto pool = bp::init<bp_pool_call>();
    pool.ndim = 2;
    pool.kernel = window;
    pool.input = in.get();
    pool.output = by_window.get();
    bp::pool_run(pool);
    CHECK(pooled[0][0][0][0] == 4);
    CHECK(bp::pool_plan(pool).describe().operands == 3);
    CHECK(!bp::pool_explain(pool).candidates().empty());
    auto norm = bp::init<bp_batch_norm_call>();
    norm.input = in.get();
    norm.output = out.get();
    norm.running_mean = mean.get();
    norm.running_var = var.get();
    bp::batch_norm_run(norm);
    CHECK(y[0][0][1][0] == 4);
    CHECK(bp::batch_norm_plan(norm).describe().operands == 6);
    CHECK(!bp::batch_norm_explain(norm).candidates().empty());
    auto random = bp::init<bp_random_call>();
    random.seed = 7;
    random.output = out.get();
    bp::random_run(random);
    CHECK(y[0][0][0][0] >= 0 && y[0][0][0][0] < 1 && y[0][0][0][0] != y[0][0][0][1]);
    CHECK(bp::random_plan(random).describe().operands == 2);
    CHECK(!bp::random_explain(random).candidates().empty());
    random.output = nullptr;
    CHECK(bp::nothrow::random_run(random) == BP_E_ARGUMENT);
}

/* Plans and explanations of products of vectors and of several matrices. */
static void other_products() {
    const float a[2][2] = {{1, 2}, {3, 4}};
    float c[2][2] = {}, dots[2] = {};
    const bp::const_view in = a;
    const bp::view out = c, by_row = dots;
    bp::execute(bp::vecdot_plan(in, in, by_row), {in, in, by_row});
    CHECK(dots[0] == 5 && dots[1] == 25);
    CHECK(!bp::vecdot_explain(in, in, by_row).candidates().empty());
    bp::execute(bp::multi_dot_plan({in, in, in}, out), {in, in, in, out});
    CHECK(c[0][0] == 37 && c[1][1] == 118);
    CHECK(bp::multi_dot_explain({in, in, in}, out).text()[0] != 0);
    CHECK(bp::matrix_power_explain(in, 3, out).text()[0] != 0);
    CHECK(!bp::gemm_explain({1, 0}, in, in, {0, 0}, out).candidates().empty());
}

int main() {
    networks();
    other_products();
    products();
    nested_products();
    linear_algebra();
    transforms();
    attention();
    recurrent_layer();
    single_elements();
    rows();
    plans_live_as_long_as_their_handles();
    settings_and_libraries();
    text();
    return failed_checks() != 0;
}
