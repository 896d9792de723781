/* record.c -- histories of watched values: a list of rows a name, all of one type. Memory is bounded
 * by options: every so many, the last so many. Knows nothing of programs. */
#include "data/record.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "ctx/ctx.h"

/* One name. Row k is slot (first + k) % cap: with `last` the oldest gives way. A row is the value's
 * bytes, then its trips. */
struct history {
	char      *name;
	size_t     len;
	hop_dtype  dtype;
	int        rank, loops;
	int64_t    dim[HOP_RANK];
	size_t     bytes, row;
	int64_t    came;               /* how often the watch ran */
	size_t     n, cap, first;
	char      *data;               /* [cap * row] */
};

/* One run at a time writes it; the lock is for who gets that wrong, and for readers. */
struct hop_record {
	hop_ctx        *ctx;
	hop_mem         mem;
	pthread_mutex_t lock;
	int64_t         every, last;
	size_t          n, cap;
	struct history *h;
	int             loops;         /* we are in */
	int64_t         trip[HOP_RECORD_LOOPS];
};

static void say(hop_ctx *c, hop_status st, const char *text)
{
	hop_ctx_set_message(c, &(hop_diag){ .st = st, .text = (char *)(uintptr_t)text,
	                                    .len = strlen(text) });
}

hop_status hop_record_new(hop_ctx *c, const hop_record_opts *opts, hop_record **out_r)
{
	hop_record_opts o;
	if (!c || !out_r)
		return HOP_EUSE;
	*out_r = NULL;
	HOP_TRY(hop_opts_read(c, "record", opts, &o, sizeof o));
	if (o.every < 0 || o.last < 0 || o.last > INT64_C(1) << 40) {
		say(c, HOP_EVALUE, "error: record: every and last are numbers of rows: 0 for all, else more");
		return HOP_EVALUE;
	}
	hop_mem mem = hop_ctx_mem(c);
	hop_record *r = hop_raw_try(&mem, sizeof *r);
	if (!r)
		return HOP_ENOMEM;
	*r = (hop_record){ .ctx = c, .mem = mem, .every = o.every ? o.every : 1, .last = o.last };
	if (pthread_mutex_init(&r->lock, NULL)) {
		hop_raw_free(&mem, r, sizeof *r);
		return HOP_ENOMEM;
	}
	*out_r = r;
	return HOP_OK;
}

void hop_record_clear(hop_record *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->n; i++) {
		hop_raw_free(&r->mem, r->h[i].name, r->h[i].len + 1);
		hop_raw_free(&r->mem, r->h[i].data, r->h[i].cap * r->h[i].row);
	}
	hop_raw_free(&r->mem, r->h, r->cap * sizeof *r->h);
	r->h = NULL;
	r->n = r->cap = 0;
	pthread_mutex_unlock(&r->lock);
}

void hop_record_free(hop_record *r)
{
	if (!r)
		return;
	hop_record_clear(r);
	pthread_mutex_destroy(&r->lock);
	hop_mem m = r->mem;
	hop_raw_free(&m, r, sizeof *r);
}

/* ---- where the run is ---- */

void hop_record_begin(hop_record *r)
{
	if (r)
		r->loops = 0;
}

void hop_record_tick(hop_record *r, int what)
{
	if (!r)
		return;
	if (what == HOP_TICK_ENTER) {
		if (r->loops++ < HOP_RECORD_LOOPS)
			r->trip[r->loops - 1] = -1;
	} else if (what == HOP_TICK_LEAVE) {
		r->loops -= r->loops > 0;
	} else if (r->loops > 0 && r->loops <= HOP_RECORD_LOOPS) {
		r->trip[r->loops - 1]++;
	}
}

void hop_record_place(hop_record *r, int outer, int n, const int64_t *trip)
{
	r->loops = outer + n < HOP_RECORD_LOOPS ? outer + n : HOP_RECORD_LOOPS;
	for (int i = outer; i < r->loops; i++)
		r->trip[i] = trip[i - outer];
}

/* ---- rows; under the lock ---- */

static struct history *find(hop_record *r, const char *name, size_t len)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->h[i].len == len && !memcmp(r->h[i].name, name, len))
			return &r->h[i];
	return NULL;
}

static struct history *make(hop_record *r, const char *name, size_t len, const hop_array *v)
{
	if (r->n == r->cap) {
		size_t cap = r->cap ? 2 * r->cap : 8;
		struct history *more = hop_raw_try(&r->mem, cap * sizeof *more);
		if (!more)
			return NULL;
		if (r->n)
			memcpy(more, r->h, r->n * sizeof *more);
		hop_raw_free(&r->mem, r->h, r->cap * sizeof *r->h);
		r->h = more;
		r->cap = cap;
	}
	char *own = hop_raw_try(&r->mem, len + 1);
	if (!own)
		return NULL;
	memcpy(own, name, len);
	own[len] = 0;
	struct history *h = &r->h[r->n++];
	int loops = r->loops < HOP_RECORD_LOOPS ? r->loops : HOP_RECORD_LOOPS;
	*h = (struct history){ .name = own, .len = len, .dtype = v->dtype, .rank = v->rank,
	                       .loops = loops, .bytes = v->bytes };
	memcpy(h->dim, v->dim, sizeof h->dim);
	h->row = h->bytes + (size_t)loops * sizeof(int64_t);
	h->row += !h->row;                     /* a row of nothing is still a row */
	return h;
}

/* Room for one more row: its place, or NULL without memory. */
static char *next_row(hop_record *r, struct history *h)
{
	if (r->last && h->n == (size_t)r->last) {
		char *p = h->data + h->first * h->row;
		h->first = (h->first + 1) % h->cap;
		return p;
	}
	if (h->n == h->cap) {
		size_t cap = h->cap ? 2 * h->cap : 16;
		if (r->last && cap > (size_t)r->last)
			cap = (size_t)r->last;
		char *more = cap < SIZE_MAX / h->row ? hop_raw_try(&r->mem, cap * h->row) : NULL;
		if (!more)
			return NULL;
		if (h->n)
			memcpy(more, h->data, h->n * h->row);
		hop_raw_free(&r->mem, h->data, h->cap * h->row);
		h->data = more;
		h->cap = cap;
	}
	return h->data + h->n++ *h->row;
}

static bool same_type(const hop_record *r, const struct history *h, const hop_array *v)
{
	bool same = h->dtype == v->dtype && h->rank == v->rank;
	for (int k = 0; same && k < v->rank; k++)
		same = h->dim[k] == v->dim[k];
	return same && h->loops == (r->loops < HOP_RECORD_LOOPS ? r->loops : HOP_RECORD_LOOPS);
}

static hop_status put(hop_record *r, const char *name, size_t len, const hop_array *v,
                      const hop_array *when)
{
	struct history *h = find(r, name, len);
	if (!h && !(h = make(r, name, len, v)))
		return HOP_ENOMEM;
	if (!same_type(r, h, v))
		return HOP_ESHAPE;
	if (h->came++ % r->every)
		return HOP_OK;
	size_t had = h->n, newest = had ? (h->first + had - 1) % h->cap : 0;
	char *row = next_row(r, h);
	if (!row)
		return HOP_ENOMEM;
	const char *before = had ? h->data + newest * h->row : NULL;
	int64_t lanes = when ? when->count : 1;
	size_t each = lanes ? v->bytes / (size_t)lanes : 0;
	for (int64_t i = 0; i < lanes && each; i++) {
		size_t at = (size_t)i * each;
		if (!when || ((const uint8_t *)when->data)[i])
			memcpy(row + at, (const char *)v->data + at, each);
		else if (before && before != row)
			memcpy(row + at, before + at, each);
		else if (!before)
			memset(row + at, 0, each);
	}
	if (h->loops)
		memcpy(row + h->bytes, r->trip, (size_t)h->loops * sizeof *r->trip);
	return HOP_OK;
}

hop_status hop_record_add(hop_record *r, hop_env *e, hop_loc loc, const char *name, size_t len,
                          const hop_array *v, const hop_array *when)
{
	if (!r)
		return HOP_OK;
	pthread_mutex_lock(&r->lock);
	hop_status st = put(r, name, len, v, when);
	pthread_mutex_unlock(&r->lock);
	if (st == HOP_ESHAPE)
		return hop_fail(e, loc, st, "watch: \"%.*s\" had another type, or was in another number of "
		                "loops, when it was recorded before: give it a name of its own", (int)len, name);
	return st ? hop_fail(e, loc, st, "watch: no memory for \"%.*s\": record every so many, or the "
	                     "last so many", (int)len, name) : HOP_OK;
}

/* ---- reading ---- */

int hop_record_names(const hop_record *r)
{
	return r ? (int)r->n : 0;
}

const char *hop_record_name(const hop_record *r, int i)
{
	return r && i >= 0 && (size_t)i < r->n ? r->h[i].name : NULL;
}

/* "no value was recorded under "x": there are a, b". */
static hop_status unknown(hop_record *r, const char *name)
{
	char text[400];
	int n = snprintf(text, sizeof text, "error: watched: nothing was recorded as \"%.100s\": ", name);
	n += snprintf(text + n, sizeof text - (size_t)n, r->n ? "there is" : "there is nothing: was the "
	              "record given to the run?");
	for (size_t i = 0; i < r->n && n < 300; i++)
		n += snprintf(text + n, sizeof text - (size_t)n, "%s %.60s", i ? "," : "", r->h[i].name);
	say(r->ctx, HOP_EVALUE, text);
	return HOP_EVALUE;
}

static hop_status gather(hop_record *r, const struct history *h, hop_array **out, hop_array **trips)
{
	int64_t dim[HOP_RANK] = { (int64_t)h->n }, two[2] = { (int64_t)h->n, h->loops };
	if (h->rank == HOP_RANK) {
		say(r->ctx, HOP_ESHAPE, "error: watched: the value has no room for an axis of rows");
		return HOP_ESHAPE;
	}
	memcpy(dim + 1, h->dim, sizeof *dim * (size_t)h->rank);
	HOP_TRY(hop_array_raw(r->ctx, h->dtype, h->rank + 1, dim, out));
	if (trips && hop_array_raw(r->ctx, HOP_i64, 2, two, trips)) {
		hop_array_release(*out);
		*out = NULL;
		return HOP_ENOMEM;
	}
	for (size_t k = 0; k < h->n; k++) {
		const char *row = h->data + (h->first + k) % h->cap * h->row;
		size_t t = (size_t)h->loops * sizeof(int64_t);
		if (h->bytes)
			memcpy((char *)(*out)->data + k * h->bytes, row, h->bytes);
		if (trips && t)
			memcpy((char *)(*trips)->data + k * t, row + h->bytes, t);
	}
	return HOP_OK;
}

hop_status hop_watched(hop_record *r, const char *name, hop_array **out_a, hop_array **out_trips)
{
	if (out_a)
		*out_a = NULL;
	if (out_trips)
		*out_trips = NULL;
	if (!r || !name || !out_a)
		return HOP_EUSE;
	pthread_mutex_lock(&r->lock);
	const struct history *h = find(r, name, strlen(name));
	hop_status st = h ? gather(r, h, out_a, out_trips) : unknown(r, name);
	pthread_mutex_unlock(&r->lock);
	return st;
}
