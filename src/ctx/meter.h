/* meter.h -- how far loops are: what hop_progress says, at a pace that people and programs can take.
 * One for each run; one thread. */
#ifndef HOP_METER_H
#define HOP_METER_H

#include "ctx/ctx.h"

enum { HOP_METER_LINES = 8, HOP_METER_TEXT = 64 };

/* One loop that says so, and what was shown of it. */
typedef struct hop_meter_line {
	hop_loc loc;
	char    text[HOP_METER_TEXT];  /* a copy, cut: eager traces let go of theirs */
	int64_t done, total;           /* as told last */
	int64_t first;                 /* done when it began, or began again */
	double  begin, told;           /* seconds */
	double  shown, ended;          /* when it was shown last, and as done; 0 = never */
	bool    pending;               /* told and not shown */
} hop_meter_line;

enum hop_meter_way { HOP_METER_OFF, HOP_METER_CALL, HOP_METER_BAR, HOP_METER_PLAIN };

typedef struct hop_meter {
	hop_ctx       *ctx;
	enum hop_meter_way way;        /* found out at the first line: asking the system costs */
	int            nline;
	int64_t        skip;           /* how many that may be left out before the next is told */
	double         last;           /* when something was told */
	bool           open;           /* a bar stands on the terminal without its newline */
	hop_meter_line line[HOP_METER_LINES];
} hop_meter;

void hop_meter_init(hop_meter *m, hop_ctx *c);
/* Trip i (from 0; below 0: none) of n (0 = not known) is done. Shown if it is time. Sets skip, which
 * whoever tells may heed, except for the last of n. Nothing unless the context wants to know. */
void hop_meter_tell(hop_meter *m, hop_loc loc, const char *text, int64_t i, int64_t n);
/* The end of the run: what was told last is shown. */
void hop_meter_end(hop_meter *m);

#endif
