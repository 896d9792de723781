/* opt.c -- hop opt: passes by name, text in, text out. What they do is not known here. */
#include "cmd.h"

#include "driver/pipeline.h"

#include <stdio.h>

hop_status cmd_opt(cmd *c)
{
	const char *names = NULL;
	bool list = false;
	while (cmd_more(c)) {
		if (cmd_flag(c, "--list"))
			list = true;
		else if (cmd_value(c, "-p", &names))
			HOP_TRY(cmd_need(c, "-p", names));
		else
			HOP_TRY(cmd_other(c));
	}
	if (list) {
		char args[200];
		for (size_t i = 0; hop_pass_at(i); i++) {
			const hop_pass *p = hop_pass_at(i);
			hop_pass_usage(p, args, sizeof args);
			printf("%-12s %s%s%s%s\n", p->name, p->help, *args ? " (" : "", args, *args ? ")" : "");
		}
		return HOP_OK;
	}
	HOP_TRY(cmd_need(c, "-p", names));
	hop_graph *g;
	HOP_TRY(cmd_load(c));
	HOP_TRY(cmd_pick(c, &g));
	const hop_graph *now = g;
	HOP_TRY(cmd_passes(c, names, &now));
	cmd_print_picked(c, now, 0);
	return HOP_OK;
}
