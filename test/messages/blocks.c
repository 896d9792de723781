/* blocks.c -- misuse of blocks, each as it is refused by a capture, by an eager run, and by a capture
 * of its loops twice. Prints; the golden file test/golden/messages/blocks.txt holds what. */
#include "support/say.h"
#include "support/wrong_blocks.h"

int main(void)
{
	static const char *const how[] = { [CAPTURED] = "", [EAGER] = ", eager", [TWICE] = ", twice" };
	void *none = NULL;
	if (rig_up(&none))
		return 1;
	for (size_t i = 0; i < sizeof wrong_blocks / sizeof *wrong_blocks; i++)
		for (int by = CAPTURED; by <= TWICE; by *= 2) {
			const struct wrong_block *w = &wrong_blocks[i];
			char name[100];
			if (!(w->by & by) || (by == TWICE && w->by & CAPTURED))
				continue;
			snprintf(name, sizeof name, "%s%s", w->name, how[by]);
			say(name, wrong_run(w, by) ? hop_message(ctx) : "accepted");
		}
	return rig_down(&none);
}
