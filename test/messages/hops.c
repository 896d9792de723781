/* hops.c -- what operators with bodies say when they are called wrongly. Prints; the golden file
 * test/golden/messages/hops.txt holds what. */
#include "support/say.h"
#include "support/wrong_hops.h"

int main(void)
{
	void *none = NULL;
	hop_spec spec[NIN] = { hop_spec1(HOP_f64, 3), hop_spec0(HOP_f64), hop_spec0(HOP_i64),
	                       hop_spec0(HOP_bool), hop_spec0(HOP_bool) };
	if (up(&none))
		return 1;
	for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
		hop_fn *f = NULL;
		hop_status st = hop_capture(ctx, wrongs[i].f, NULL, NIN, spec, &f);
		say(wrongs[i].name, st ? hop_message(ctx) : "accepted");
		hop_fn_release(f);
	}
	return down(&none);
}
