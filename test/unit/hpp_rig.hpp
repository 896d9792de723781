/* hpp_rig.hpp -- cases as TAP, and the graph of a lambda compared with that of a C body. */
#ifndef HPP_RIG_HPP
#define HPP_RIG_HPP

#include <cstdio>
#include <string>

#include "hop/hop.hpp"

using hop::value;

static int cases, failures;
static std::string trouble;

static inline void expect(bool ok, const std::string &what)
{
	if (!ok && trouble.empty())
		trouble = what;
}

template <typename F> static void test(const char *name, F &&f)
{
	trouble.clear();
	try {
		f();
	} catch (const std::exception &e) {
		expect(false, std::string("threw: ") + e.what());
	}
	if (!trouble.empty()) {
		failures++;
		std::printf("# %s\n", trouble.c_str());
	}
	std::printf("%sok %d - %s\n", trouble.empty() ? "" : "not ", ++cases, name);
}

static inline bool has(const std::string &s, const char *part)
{
	return s.find(part) != std::string::npos;
}

/* ---- the same graph as in C ---- */

/* Every C body finds the inputs of the function here. */
[[maybe_unused]] static const hop_value *outer;

static inline void same(hop::ctx &c, const std::vector<hop_spec> &in, const hop::fn &f, hop_body *body)
{
	hop_fn *fn = nullptr;
	if (hop_capture(c.get(), body, nullptr, static_cast<int>(in.size()), in.data(), &fn)) {
		expect(false, hop_message(c.get()));
		return;
	}
	std::string want = hop_fn_text(fn), got = f.text();
	hop_fn_release(fn);
	expect(want == got, "C++:\n" + got + "C:\n" + want);
}

#endif
