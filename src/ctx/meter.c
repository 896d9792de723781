/* meter.c -- how far loops are, on the terminal, as lines or to a callback. Decides when something is
 * shown; that a loop says something is decided by the program, and whether it may by the context. */
#include "ctx/meter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 24, SKIP = 63 };
static const double pace = 0.1;        /* seconds between updates of a bar, and calls of a callback */
static const double line_least = 1, line_most = 60;        /* between lines, a tenth of the time */
static const double close_by = 1e-3;   /* told again so soon: some may be left out */

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void hop_meter_init(hop_meter *m, hop_ctx *c)
{
	m->ctx = c;
	m->way = HOP_METER_OFF;
	m->nline = 0;
	m->skip = 0;
	m->last = 0;
	m->open = false;
}

/* ---- showing ---- */

/* 4.2 s, 3:07, 2:14:05 */
static void put_time(char *to, size_t n, double s)
{
	long long k = s < 1e15 ? (long long)(s + 0.5) : 0;
	if (s < 10)
		snprintf(to, n, "%.1f s", s);
	else if (k < 3600)
		snprintf(to, n, "%lld:%02lld", k / 60, k % 60);
	else
		snprintf(to, n, "%lld:%02lld:%02lld", k / 3600, k / 60 % 60, k % 60);
}

static void put_words(char *to, size_t n, const hop_progress_info *p)
{
	char rate[32] = "", left[48] = "", time[32];
	if (p->rate > 0)
		snprintf(rate, sizeof rate, p->rate < 100 ? ", %.2g a second" : ", %.0f a second", p->rate);
	put_time(time, sizeof time, p->done == p->total || p->left < 0 ? p->seconds : p->left);
	snprintf(left, sizeof left, ", %s%s", time, p->done == p->total || p->left < 0 ? "" : " left");
	if (p->total)
		snprintf(to, n, "%lld of %lld%s%s", (long long)p->done, (long long)p->total, rate, left);
	else
		snprintf(to, n, "%lld%s%s", (long long)p->done, rate, left);
}

static void put_bar(hop_meter *m, const hop_progress_info *p, bool close)
{
	char words[160], bar[BAR + 1] = "";
	put_words(words, sizeof words, p);
	int k = p->total ? (int)((double)BAR * (double)p->done / (double)p->total) : 0;
	for (int i = 0; p->total && i < BAR; i++)
		bar[i] = i < k ? '#' : '.';
	fprintf(stderr, "\r\033[K%s%s%s%s %s%s", p->text, p->total ? " [" : "", bar,
	        p->total ? "]" : "", words, close ? "\n" : "");
	fflush(stderr);
	m->open = !close;
}

static void show(hop_meter *m, hop_meter_line *l, double at)
{
	hop_progress_to to = hop_ctx_progress(m->ctx);
	hop_progress_info p = { .text = l->text, .done = l->done, .total = l->total,
		                    .seconds = l->told - l->begin, .left = -1 };
	if (p.seconds > 0)
		p.rate = (double)(l->done - l->first) / p.seconds;
	if (p.rate > 0 && l->total)
		p.left = (double)(l->total - l->done) / p.rate;
	bool done = l->total && l->done == l->total, once = done && !l->ended;
	l->shown = at;
	l->pending = false;
	if (done)
		l->ended = at;
	if (m->way == HOP_METER_CALL) {
		to.fn(to.user, &p);
	} else if (m->way == HOP_METER_BAR) {
		put_bar(m, &p, once);
	} else {
		char words[160];
		put_words(words, sizeof words, &p);
		fprintf(stderr, "%s: %s\n", l->text, words);
	}
}

/* ---- telling ---- */

static hop_meter_line *find(hop_meter *m, hop_loc loc, const char *text, double at)
{
	hop_meter_line *l = NULL;
	for (int i = 0; i < m->nline; i++)
		if (m->line[i].loc == loc && !strncmp(m->line[i].text, text, HOP_METER_TEXT - 1))
			return &m->line[i];
	if (m->nline < HOP_METER_LINES) {
		l = &m->line[m->nline++];
	} else {                               /* the one that said nothing for longest goes */
		l = &m->line[0];
		for (int i = 1; i < m->nline; i++)
			if (m->line[i].told < l->told)
				l = &m->line[i];
		if (l->pending)
			show(m, l, at);
	}
	*l = (hop_meter_line){ .loc = loc, .done = INT64_MAX };
	snprintf(l->text, sizeof l->text, "%s", text);
	return l;
}

/* Is it time? The first and the last are shown at once, lines excepted: what takes no second needs
 * only the last. The last of a loop that is run again and again waits like others. */
static bool due(const hop_meter *m, const hop_meter_line *l, double at)
{
	double gap = pace;
	if (m->way == HOP_METER_PLAIN) {
		gap = fmin(fmax(0.1 * (at - l->begin), line_least), line_most);
		if (!l->shown && at - l->begin < gap && l->done != l->total)
			return false;
	}
	if (l->total && l->done == l->total)
		return !l->ended || at - l->ended >= gap;
	return !l->shown || at - l->shown >= gap;
}

void hop_meter_tell(hop_meter *m, hop_loc loc, const char *text, int64_t i, int64_t n)
{
	if (i < 0 || !hop_ctx_progress(m->ctx).on)
		return;
	if (!m->way)
		m->way = hop_ctx_progress(m->ctx).fn ? HOP_METER_CALL :
		         isatty(STDERR_FILENO) ? HOP_METER_BAR : HOP_METER_PLAIN;
	double at = now();
	hop_meter_line *l = find(m, loc, text, at);
	int64_t done = i == INT64_MAX ? i : i + 1;
	n = n < 0 ? 0 : n;
	if (done < l->done) {                  /* new, or from the beginning again */
		l->begin = at;
		l->first = done;
	}
	l->done = n && done > n ? n : done;
	l->total = n;
	l->told = at;
	l->pending = true;
	m->skip = at - m->last < close_by ? SKIP : 0;
	m->last = at;
	if (due(m, l, at))
		show(m, l, at);
}

void hop_meter_end(hop_meter *m)
{
	double at = m->nline ? now() : 0;
	for (int i = 0; i < m->nline; i++)
		if (m->line[i].pending)
			show(m, &m->line[i], at);
	if (m->open)
		fputc('\n', stderr);
	m->nline = 0;
	m->open = false;
}
