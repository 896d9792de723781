/* texts.c -- what operators with bodies ask of graphs that capture would not make: read from text.
 * Mistakes of the text itself, and of ops, are in test/golden/err. Prints; the golden file
 * test/golden/messages/texts.txt holds what. */
#include "support/say.h"
#include "unit/trace_rig.h"

#define BODY1 "(%h: f64) {\n return %h\n}\n"
#define FN(body) "graph @f(%x: f64, %xs: f64[3], %k: i64, %p: bool) {\n" body "\n return %x\n}\n"
#define ID "graph @id" BODY1
#define SOLVE "graph @solve(%h: f64) {\n %i = constant {value = i64 0}\n return %h, %i\n}\n"
#define TWO "graph @two(%h: f64) {\n return %h, %h\n}\n"

static const struct { const char *name, *text; } texts[] = {
	{ "cond_pred", ID FN("%r = cond %k, %x {then = @id, else = @id}") },
	{ "cond_counts", ID TWO FN("%r = cond %p, %x {then = @id, else = @two}") },
	{ "cond_operands", ID FN("%r = cond %p, %x, %x {then = @id, else = @id}") },
	{ "cond_types", ID FN("%r = cond %p, %k {then = @id, else = @id}") },
	{ "call_sargs", ID FN("%r = call %x {sargs = [3], body = @id}") },
	{ "call_symbol", "graph @s<n>(%h: f64[n]) {\n return %h\n}\n"
	                 FN("%r = call %xs {sargs = [n], body = @s}") },
	{ "call_few", "graph @s<n>(%h: f64[n]) {\n return %h\n}\n" FN("%r = call %xs {body = @s}") },
	{ "switch_none", FN("switch %k") },
	{ "switch_index", ID FN("%r = switch %x, %x {branch = [@id]}") },
	{ "while_carries", ID FN("%r, %n = while %x {ncarry = 3, test = @id, body = @id}") },
	{ "while_test", ID FN("%r, %n = while %x {ncarry = 1, test = @id, body = @id}") },
	{ "while_results", "graph @t(%h: f64) {\n %b = lt %h, %h\n return %b\n}\n"
	                   "graph @none(%h: f64) {\n return\n}\n"
	                   FN("%r, %n = while %x {ncarry = 1, test = @t, body = @none}") },
	{ "while_slots", ID FN("%r, %n = while %x {ncarry = 1, slots = -2, test = @id, body = @id}") },
	{ "while_tape", TWO "graph @t(%h: f64) {\n %b = lt %h, %h\n return %b\n}\n"
	                FN("%r, %n, %t = while %x {ncarry = 1, test = @t, body = @two}") },
	{ "scan_operands", ID FN("%r = scan %x {ncarry = 2, nx = 1, length = 3, body = @id}") },
	{ "scan_results", "graph @none(%h: f64) {\n return\n}\n"
	                  FN("%r = scan %x {ncarry = 1, length = 3, body = @none}") },
	{ "scan_count", ID FN("%r = scan %x, %x {ncarry = 1, length = 3, counted = true, body = @id}") },
	{ "scan_slots", ID FN("%r = scan %x {ncarry = 1, length = 3, slots = -1, body = @id}") },
	{ "scan_slots_every", ID FN("%r = scan %x {ncarry = 1, length = 3, every = 2, slots = 2, "
	                            "body = @id}") },
	{ "replay_lists", ID FN("%r = replay %x {ncarry = 1, length = 0, rows = 1, leaf = 1, "
	                        "wrt = [0], live = [0], step = @id}") },
	{ "replay_leaf", ID FN("%i = constant {value = i64 1}\n %r = replay %i, %i, %i, %x, %x, %x "
	                       "{ncarry = 1, length = 0, rows = 1, leaf = 0, wrt = [0], live = [0], "
	                       "step = @id}") },
	{ "replay_states", ID FN("%i = constant {value = i64 1}\n %r = replay %i, %i, %i, %x, %x, %x "
	                         "{ncarry = 1, length = 0, rows = 1, leaf = 1, wrt = [0], live = [0], "
	                         "step = @id}") },
	{ "scan_stop_type", TWO FN("%r, %n = scan %x {ncarry = 1, length = 3, stops = true, "
	                           "body = @two}") },
	{ "scan_every", ID FN("%r = scan %x {ncarry = 1, length = 3, every = -5, body = @id}") },
	{ "scan_xs", TWO "graph @g(%h: f64, %x: f64) {\n return %h\n}\n"
	             FN("%r = scan %x, %x {ncarry = 1, nx = 1, length = 3, body = @g}") },
	{ "scan_length", "graph @g(%h: f64, %x: f64) {\n return %h\n}\n"
	                 FN("%r = scan %x, %xs {ncarry = 1, nx = 1, length = 4, body = @g}") },
	{ "scan_carry", "graph @g(%h: f64) {\n %i = cast %h {dtype = i64}\n return %i\n}\n"
	                FN("%r = scan %x {ncarry = 1, length = 3, body = @g}") },
	{ "custom_counts", ID FN("%r = custom %x {nouts = 3, fwd = @id, bwd = @id}") },
	{ "custom_few", TWO "graph @none(%h: f64) {\n return\n}\n"
	                FN("%r = custom %x {nouts = 1, fwd = @id1, bwd = @none}") },
	{ "custom_bwd", "graph @fw(%h: f64) {\n return %h\n}\ngraph @none(%h: f64) {\n return\n}\n"
	                FN("%r = custom %x {nouts = 1, fwd = @fw, bwd = @none}") },
	{ "custom_many", ID TWO FN("%r = custom %x {nouts = 1, fwd = @id, bwd = @two}") },
	{ "custom_none", ID FN("%r = custom %x {nouts = 1, fwd = @id}") },
	{ "custom_saves", TWO "graph @j(%h: f64, %d: f64) {\n return %d\n}\n"
	                  FN("%r = custom %x {nouts = 1, fwd = @two, jvp = @j}") },
	{ "custom_nondiff", ID FN("%r = custom %x {nouts = 1, nondiff = [1], fwd = @id, bwd = @id}") },
	{ "custom_ways", ID FN("%r = custom %x {nouts = 1, lanewise = true, fwd = @id, bwd = @id, "
	                       "batch = @id}") },
	{ "custom_sizes", ID FN("%r = custom %x {nouts = 1, fwd = @id, bwd = @id, batch = @id}") },
	{ "custom_batch", ID "graph @b<n>(%h: f64[n]) {\n return %h\n}\n"
	                  FN("%r = custom %x {nouts = 1, fwd = @id, bwd = @id, batch = @b}") },
	{ "custom_flag", ID "graph @b<n>(%h: f64[n], %b: i64) {\n return %h\n}\n"
	                 FN("%r = custom %x {nouts = 1, fwd = @id, bwd = @id, batch = @b}") },
	{ "custom_lanes", ID "graph @b<n>(%h: f64[n], %b: bool) {\n %s = sum %h {axes = [0]}\n "
	                  "return %s\n}\n"
	                  FN("%r = custom %x {nouts = 1, fwd = @id, bwd = @id, batch = @b}") },
	{ "custom_gives", ID "graph @b<n>(%h: f64[n], %b: bool) {\n return\n}\n"
	                  FN("%r = custom %x {nouts = 1, fwd = @id, bwd = @id, batch = @b}") },
	{ "custom_tangent", ID "graph @j(%h: f64, %d: f64) {\n %s = cast %d {dtype = f32}\n return %s\n}\n"
	                    FN("%r = custom %x {nouts = 1, fwd = @id, bwd = @id, jvp = @j}") },
	{ "custom_jvp", ID "graph @j(%h: f64, %d: f64) {\n return\n}\n"
	                FN("%r = custom %x {nouts = 1, fwd = @id, bwd = @id, jvp = @j}") },
	{ "root_unknowns", ID FN("%r, %i = root %x {nx = 2, f = @id, solve = @id, tangent = @id}") },
	{ "root_whole", ID FN("%r, %i = root %k {nx = 1, f = @id, solve = @id, tangent = @id}") },
	{ "root_f", TWO FN("%r, %i = root %x {nx = 1, f = @two, solve = @two, tangent = @two}") },
	{ "root_solve", ID FN("%r, %i = root %x {nx = 1, f = @id, solve = @id, tangent = @id}") },
	{ "root_info", ID TWO FN("%r, %i = root %x {nx = 1, f = @id, solve = @two, tangent = @two}") },
	{ "root_tangent", ID SOLVE
	                  FN("%r, %i = root %x {nx = 1, f = @id, solve = @solve, tangent = @solve}") },
	{ "root_no_tangent", ID SOLVE FN("%r, %i = root %x {nx = 1, f = @id, solve = @solve}") },
	{ "linear_operands", ID SOLVE FN("%r, %i = linear_solve %x, %x {nb = 1, matvec = @id, "
	                                 "solve = @solve}") },
	{ "linear_tsolve", ID SOLVE FN("%r, %i = linear_solve %x {nb = 1, matvec = @id, "
	                               "solve = @solve, tsolve = @id}") },
};

int main(void)
{
	void *none = NULL;
	if (rig_up(&none))
		return 1;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char text[2000];
		hop_fn *f = NULL;
		int n = snprintf(text, sizeof text, "hop 1\n%s", texts[i].text);
		hop_status st = hop_fn_parse(ctx, text, (size_t)n, NULL, &f);
		say(texts[i].name, st ? hop_message(ctx) : "accepted");
		hop_fn_release(f);
	}
	return rig_down(&none);
}
