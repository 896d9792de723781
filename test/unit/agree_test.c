/* agree_test.c -- wrong arguments to every public constructor, eagerly and captured: both
 * refuse with the same status and a message that names the call, or both accept and give
 * the same numbers; nothing crashes. An eager run sees only the branches it takes, so what
 * compares branches is not asked here. Operators with bodies are in agree_hop_test.c. */
#include "support/wrong_calls.h"

static bool equal(const hop_array *x, const hop_array *y)
{
	if (hop_array_rank(x) != hop_array_rank(y))
		return false;
	for (int i = 0; i < hop_array_rank(x); i++)
		if (hop_array_dims(x)[i] != hop_array_dims(y)[i])
			return false;
	for (int64_t i = 0; i < hop_array_count(x); i++) {
		double a = hop_array_at(x, i), b = hop_array_at(y, i);
		if (a != b && !(isnan(a) && isnan(b)))
			return false;
	}
	return true;
}

static int calls, wrong;

/* Both ways agree; must: both refuse. */
static void agree(struct one o, bool must, const char *what, int64_t number)
{
	char text[2][MESSAGE];
	hop_array *out[2];
	hop_status st[2];
	for (int k = 0; k < 2; k++)
		st[k] = run(&o, k, &out[k], text[k]);
	bool same = st[0] == st[1] && (st[0] ? !must || st[0] : !must && equal(out[0], out[1]));
	for (int k = 0; k < 2 && st[0]; k++)
		same = same && (strstr(text[k], o.c->name) || strstr(text[k], o.c->also)) &&
		       strstr(text[k], "wrong_calls.h:");
	calls++;
	if (!same) {
		wrong++;
		print_error("%s: %s %lld\n  captured: status %d %s\n  eager:    status %d %s\n",
		            o.c->name, what, (long long)number, st[0], text[0], st[1], text[1]);
	}
	hop_array_release(out[0]);
	hop_array_release(out[1]);
}

static void finish(void)
{
	print_message("%d calls\n", calls);
	int bad = wrong;
	calls = wrong = 0;
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_calls),
		cmocka_unit_test(bad_values),
		cmocka_unit_test(other_values),
		cmocka_unit_test(axes),
		cmocka_unit_test(sizes),
		cmocka_unit_test(ranks_and_lists),
		cmocka_unit_test(dtypes_and_kinds),
	};
	return cmocka_run_group_tests(tests, up, down);
}
