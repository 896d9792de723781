/* code.c -- the way of driver/compile.c from a loop program on. */
#include "support/code.h"

hop_status code_machine(hop_env *e, const hop_target_opts *o, hop_machine *out_m)
{
	const hop_target *t;
	HOP_TRY(hop_target_pick(e, NULL, &t));
	return t->machine(e, o, out_m);
}

hop_status code_new(hop_env *e, const hop_prog *p, const hop_target_opts *o, hop_code **out_c)
{
	const hop_target *t;
	hop_machine m;
	*out_c = NULL;
	HOP_TRY(hop_target_pick(e, NULL, &t));
	HOP_TRY(t->machine(e, o, &m));
	return hop_code_new(e, t, p, &m, o, out_c);
}
