/* test_status.cpp - checks the interface without exceptions: built with -fno-exceptions, and with them by macro. */
#define BACKPLANE_NO_EXCEPTIONS 1
#include "backplane.hpp"

#include "check.hpp"

#include <cstring>

namespace bp = backplane;

static_assert(std::is_same_v<decltype(bp::inv(std::declval<bp::const_view>(), std::declval<bp::view>())), bp_status>);

int main() {
    const double a[2][2] = {{1, 2}, {3, 4}};
    double c[2][2], narrow[2];
    CHECK(bp::matmul(a, a, c) == BP_OK && c[1][1] == 22);
    CHECK(bp::nothrow::matmul(a, a, c) == BP_OK);
    CHECK(bp::matmul(a, a, narrow) == BP_E_SHAPE && bp_last_error()[0]);
    const std::error_code code = bp::matmul(a, a, narrow);
    CHECK(code == BP_E_SHAPE && std::strcmp(code.category().name(), "backplane") == 0);
    CHECK(bp::einsum("ij,jk->ik", {a, a}, c) == BP_OK);
    CHECK(bp::set("num_thread", 1) == BP_E_UNKNOWN_NAME);

    bp::plan plan;
    bp::tensor out;
    bp::explanation why;
    CHECK(bp::nothrow::matmul_plan(plan, a, a, c) == BP_OK && plan);
    CHECK(bp::execute(plan, {a, a, c}) == BP_OK && c[0][0] == 7);
    CHECK(bp::execute(plan, {a, a}) == BP_E_ARGUMENT && std::strstr(bp_last_error(), "got 2 operands"));
    CHECK(bp::nothrow::matmul_plan(plan, a, a, narrow) == BP_E_SHAPE && !plan);
    CHECK(bp::nothrow::new_matmul(out, a, a) == BP_OK && out.data<double>()[0] == 7);
    CHECK(bp::nothrow::new_einsum(out, "ij->i", {a}) == BP_OK && out.data<double>()[1] == 7);
    CHECK(bp::nothrow::matmul_explain(why, a, a, c) == BP_OK && why.text()[0]);
    CHECK(bp::nothrow::zeros(out, BP_F32, {2}) == BP_OK && out.data<float>()[1] == 0);

    bp::options settings;
    bp::scope scope;
    std::string value;
    CHECK(bp::nothrow::make_options(settings, "deterministic=run") == BP_OK);
    CHECK(bp::nothrow::make_options(settings, {{"num_threads", "1"}}) == BP_OK);
    CHECK(bp::nothrow::make_options(settings, "nothing") != BP_OK && !settings);
    CHECK(bp::nothrow::enter(scope, "deterministic=run") == BP_OK);
    CHECK(bp::nothrow::get(value, "deterministic") == BP_OK && value == "run");
    scope = bp::scope();
    CHECK(bp::nothrow::get(value, "deterministic") == BP_OK && value == "off");
    CHECK(bp::nothrow::format(value, narrow) == BP_OK && bp::nothrow::get(value, "nothing") == BP_E_UNKNOWN_NAME);

    /* A view that cannot be made says why, and every operation refuses it. */
    const std::vector<double> few(3);
    const bp::const_view wrong(few, {2, 2}), copy = wrong;
    CHECK(wrong.status() == BP_E_SHAPE && bp::matmul(wrong, a, c) == BP_E_ARGUMENT);
    CHECK(bp::matmul(copy, a, c) == BP_E_ARGUMENT && copy.status() != BP_OK);
    CHECK(bp::const_view(few.data(), {-2}).status() == BP_E_SHAPE);
    return failed_checks() != 0;
}
