/* about.c -- what this library is called and what it says. */
#include "base/base.h"

#include "hop/ctx.h"

const char *hop_version(void)
{
	return HOP_VERSION;
}

const char *hop_status_name(hop_status st)
{
	static const char *const name[] = {
		[HOP_OK] = "ok", [HOP_ENOMEM] = "no memory", [HOP_ETYPE] = "types do not fit",
		[HOP_ESHAPE] = "sizes do not fit", [HOP_EVALUE] = "a value out of its range",
		[HOP_EPARSE] = "malformed text or file", [HOP_EUSE] = "a wrong call",
		[HOP_ENODIFF] = "no derivative", [HOP_EREFUSED] = "refused",
		[HOP_EASSERT] = "an assertion failed", [HOP_EIO] = "a file could not be read or written",
		[HOP_ETARGET] = "no code", [HOP_ECANCELED] = "stopped",
		[HOP_ENAN] = "not a number",
	};
	return (unsigned)st < sizeof name / sizeof *name ? name[st] : "no status of hop";
}
