/* device_products.c -- products of few elements with long sums, by parts: few blocks would have all of k
 * before them, while the others have nothing to do.
 *
 *	C = A B
 * becomes
 *	for p side by side: part[p] = A[.., p] B[p, ..]
 *	C[i, j] = part[0, i, j] + part[1, i, j] ..
 *
 * How many there are is a matter of sizes alone (gemm_plan.c), since bits depend on it; k may be one
 * that only the run knows. Products inside of kernels stay whole.
 *
 * needs: products as tiles.  keeps: meaning, but for the order of additions */
#include "loop/device.h"
#include "loop/gemm_plan.h"

enum {
	ROOM = 4 << 20,                /* bytes that parts may take */
	MUCH = 1 << 18, WIDE = 256,    /* multiply-adds, and elements of all parts, for which one block is
	                                  not enough (see is_much of device.c) */
	FEW = 3, SHORT = 12            /* where tests have few: parts, and the least k */
};

/* Where parts are until all have a place: the same, since those of one product are added up before the
 * next begins. */
static const int64_t nowhere = -((int64_t)1 << 40);

static int parts_of(const hop_dfunc *d, const hop_stmt *s)
{
	const hop_size *e = s->tile->extent;
	bool known = hop_size_const(e[2]);
	for (int i = 0; i < 3; i++)
		if ((hop_size_const(e[i]) ? e[i].k < 1 : i < 2) || hop_size_nsym(e[i]) > d->f->nsym)
			return 1;
	if (d->m->small)
		return !known || e[2].k >= SHORT ? FEW : 1;
	double of = (double)e[0].k * (double)e[1].k, bytes = of * (double)hop_dtype_bytes(s->tile->dtype);
	if (of * hop_device_trips(e[2]) < MUCH)
		return 1;
	int n = hop_gemm_parts(s);
	while (n > 1 && bytes * hop_gemm_slots(d->e, s, n) > ROOM)
		n /= 2;
	return of * n < WIDE ? 1 : n;
}

static bool is_product(const hop_stmt *s)
{
	return s->kind == HOP_L_TILE && s->tile->of == &hop_template_gemm;
}

/* s as its parts and what adds them; false: it stays. */
static bool split(hop_dfunc *d, const hop_stmt *s, hop_block *out)
{
	int n = parts_of(d, s);
	hop_block first = { 0 }, then = { 0 };
	hop_lbuild b = { .env = d->e, .a = d->a, .f = d->f, .loc = s->loc };
	if (n < 2)
		return false;
	const hop_size *e = s->tile->extent;
	hop_size count = hop_size_int(hop_gemm_slots(d->e, s, n) * e[0].k * e[1].k);
	int buf = hop_l_buf(&b, (hop_lbuf){ .kind = HOP_BUF_TEMP, .space = HOP_SPACE_SCRATCH, .count = count,
		.dtype = s->tile->dtype, .offset = hop_size_int(nowhere), .is_written = true });
	if (!hop_gemm_split(&b, s, n, buf, &first, &then))
		return false;
	hop_block_join(out, &first);
	hop_block_join(out, &then);
	return true;
}

void hop_device_split_products(hop_dfunc *d, hop_block *b)
{
	hop_block out = { 0 };
	for (hop_stmt *s = b->first, *next; s; s = next) {
		next = s->next;
		s->next = NULL;
		if (!is_product(s) || !split(d, s, &out))
			hop_block_append(&out, s);
	}
	*b = out;
}

int64_t hop_device_settle_parts(hop_lfunc *f, int64_t from)
{
	int64_t end = from;
	for (int i = 0; i < f->nbuf; i++) {
		hop_lbuf *b = &f->buf[i];
		if (b->kind != HOP_BUF_TEMP || b->space != HOP_SPACE_SCRATCH || !hop_size_is(b->offset, nowhere))
			continue;
		int64_t last = from + (b->count.k * (int64_t)hop_dtype_bytes(b->dtype) + 63) / 64 * 64;
		b->offset = hop_size_int(from);
		end = last > end ? last : end;
	}
	return end;
}
