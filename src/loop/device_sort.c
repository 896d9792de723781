/* device_sort.c -- numbers in order by parallel loops alone: every key finds where it goes by itself.
 *
 *	groups   of a few keys: each counts those of its group that go before it
 *	merges   of four runs, then of four of those ..: each searches its place in the three others
 *
 * A search is as many steps as its run has bits, and keys side by side go nearly the same way, so that
 * most of their loads meet in a line. Equal keys go by where they were: those of a run on the left go
 * before, so that it is asked for keys below the next number. Does not look how well they are sorted.
 *
 * needs: n < 2^30.  keeps: nothing of the places but one. Runs behind `bound` are empty. */
#include "loop/device_build.h"

enum {
	GROUP = 32, SMALL_GROUP = 4,     /* keys that are counted; where tests have few of them */
	WAYS = 4                         /* runs that are merged at once */
};

typedef struct merge {
	hop_dbuild *t;
	const hop_dsort *s;
	int         from, ways;      /* from one place to the other */
	int64_t     n, run;
	hop_reg     bound;           /* how many keys there are; 0 = n */
} merge;

/* A key on its way: its number, where it was, the first of those that it is merged with. */
typedef struct moving { hop_reg i, key, was, first; } moving;

static hop_reg add(hop_dbuild *t, hop_reg x, hop_reg y)
{
	return hop_d_op(t, HOP_SOP_add, HOP_i64, x, y);
}

static moving open_key(merge *m, int64_t group)
{
	hop_dbuild *t = m->t;
	moving v = { .i = hop_d_nest_to(t, hop_size_int(m->n), m->bound) };
	hop_reg by = hop_d_num(t, HOP_i64, group), no = hop_d_op(t, HOP_SOP_div, HOP_i64, v.i, by);
	v.key = hop_d_load(t, HOP_i32, hop_d_at(t, m->s->key[m->from], v.i, 1, 0), 0);
	v.first = hop_d_op(t, HOP_SOP_mul, HOP_i64, no, by);
	return v;
}

static void put_key(merge *m, const moving *v, hop_reg place)
{
	hop_dbuild *t = m->t;
	int to = 1 - m->from;
	hop_d_store(t, HOP_i32, hop_d_at(t, m->s->key[to], v->first, 1, place), v->key, 0);
	hop_d_store(t, HOP_i32, hop_d_at(t, m->s->was[to], v->first, 1, place), v->was, 0);
}

/* Is the key there, which is number `no`, and below `limit`? A run that ends early is followed by
 * nothing. */
static hop_reg is_below(merge *m, hop_addr at, hop_reg no, hop_reg limit)
{
	hop_dbuild *t = m->t;
	hop_reg end = !no ? 0 : m->bound ? m->bound : hop_d_num(t, HOP_i64, m->n);
	hop_reg there = no ? hop_d_test(t, HOP_SOP_lt, no, end) : 0;
	hop_reg below = hop_d_test(t, HOP_SOP_lt, hop_d_load(t, HOP_i32, at, there), limit);
	return there ? hop_d_test(t, HOP_SOP_and, there, below) : below;
}

/* x, or where it says so that many more. */
static hop_reg more(hop_dbuild *t, hop_reg x, hop_reg when, int64_t by)
{
	hop_reg y = hop_d_op(t, HOP_SOP_add, HOP_i32, x, hop_d_num(t, HOP_i32, by));
	return hop_d_select(t, HOP_i32, when, y, x);
}

/* The key, or the next number for what is on the left. */
static hop_reg limit_of(hop_dbuild *t, const moving *v, hop_reg left)
{
	return hop_d_op(t, HOP_SOP_add, HOP_i32, v->key, hop_d_cast(t, HOP_i32, left));
}

/* Some of so many keys in a row may be none. */
static bool may_end(const merge *m, int64_t n)
{
	return m->bound || m->n % n;
}

static void count_groups(merge *m)
{
	hop_dbuild *t = m->t;
	moving v = open_key(m, m->run);
	int rank = hop_d_own(t, HOP_i32, hop_d_num(t, HOP_i32, 0));
	hop_reg mine = hop_d_op(t, HOP_SOP_rem, HOP_i64, v.i, hop_d_num(t, HOP_i64, m->run));
	hop_block *outer = t->b.block;
	v.was = hop_d_cast(t, HOP_i32, v.i);
	hop_reg j = hop_d_seq(t, m->run)->dst;
	hop_reg limit = limit_of(t, &v, hop_d_test(t, HOP_SOP_lt, j, mine));
	hop_addr at = hop_d_at(t, m->s->key[m->from], v.first, 1, j);
	hop_reg before = is_below(m, at, may_end(m, m->run) ? add(t, v.first, j) : 0, limit);
	hop_d_set(t, rank, more(t, hop_d_get(t, rank), before, 1));
	t->b.block = outer;
	put_key(m, &v, hop_d_cast(t, HOP_i64, hop_d_get(t, rank)));
}

/* Another run: its first key, what its keys must be below, and which of them is the first that is not,
 * as far as it was searched. */
typedef struct run { hop_reg first, limit, at; } run;

static run find_run(merge *m, const moving *v, hop_reg mine, int k)
{
	hop_dbuild *t = m->t;
	hop_reg ways = hop_d_num(t, HOP_i64, m->ways), by = hop_d_num(t, HOP_i64, m->run);
	hop_reg q = hop_d_op(t, HOP_SOP_rem, HOP_i64, add(t, mine, hop_d_num(t, HOP_i64, k)), ways);
	run r = { .first = add(t, v->first, hop_d_op(t, HOP_SOP_mul, HOP_i64, q, by)) };
	r.limit = limit_of(t, v, hop_d_test(t, HOP_SOP_lt, r.first, v->i));
	r.at = hop_d_cast(t, HOP_i32, r.first);
	return r;
}

/* Steps are halves of the run, .., 2, 1, 1; one of each search, then the next, so that their loads are
 * under way at the same time. */
static void search(merge *m, run *r)
{
	hop_dbuild *t = m->t;
	hop_reg below[WAYS];
	for (int64_t h = m->run / 2, ones = 0; ones < 2; h = h > 1 ? h / 2 : 1) {
		ones += h == 1;
		for (int k = 1; k < m->ways; k++) {
			hop_reg from = hop_d_cast(t, HOP_i64, r[k].at), no = 0;
			hop_addr at = hop_d_at(t, m->s->key[m->from], from, 1, 0);
			at.offset = hop_size_int(h - 1);
			if (may_end(m, m->run * m->ways))
				no = add(t, from, hop_d_num(t, HOP_i64, h - 1));
			below[k] = is_below(m, at, no, r[k].limit);
		}
		for (int k = 1; k < m->ways; k++)
			r[k].at = more(t, r[k].at, below[k], h);
	}
}

/* Loads of its searches are enough for a thread: a loop around them, of one trip, keeps the scheduler
 * from giving it several keys. */
static void merge_runs(merge *m)
{
	hop_dbuild *t = m->t;
	moving v = open_key(m, m->run * m->ways);
	hop_reg by = hop_d_num(t, HOP_i64, m->run), mine = hop_d_op(t, HOP_SOP_div, HOP_i64, v.i, by);
	hop_reg place = hop_d_op(t, HOP_SOP_rem, HOP_i64, v.i, by);
	run r[WAYS];
	hop_d_seq(t, 1);
	v.was = hop_d_load(t, HOP_i32, hop_d_at(t, m->s->was[m->from], v.i, 1, 0), 0);
	for (int k = 1; k < m->ways; k++)
		r[k] = find_run(m, &v, mine, k);
	search(m, r);
	for (int k = 1; k < m->ways; k++) {
		hop_reg end = hop_d_cast(t, HOP_i64, r[k].at);
		place = add(t, place, hop_d_op(t, HOP_SOP_sub, HOP_i64, end, r[k].first));
	}
	put_key(m, &v, place);
}

int hop_device_sort(hop_dbuild *t, const hop_dsort *s, int64_t n, hop_reg bound)
{
	merge m = { .t = t, .s = s, .n = n, .bound = bound, .run = t->d->m->small ? SMALL_GROUP : GROUP };
	count_groups(&m);
	for (; m.run < n; m.run *= m.ways) {
		m.ways = m.run * 2 < n ? WAYS : 2;
		m.from = 1 - m.from;
		merge_runs(&m);
	}
	return 1 - m.from;
}
