/* device_build.c -- statements that the scheduler of a device makes itself. Decides nothing. */
#include "loop/device_build.h"

hop_reg hop_d_nest_to(hop_dbuild *t, hop_size n, hop_reg bound)
{
	t->b.block = t->out;
	hop_stmt *s = hop_l_loop(&t->b, HOP_LOOP_PAR, n, hop_l_reg(&t->b));
	s->apart = true;
	s->bound = bound;
	return s->dst;
}

hop_reg hop_d_nest(hop_dbuild *t, int64_t n)
{
	return hop_d_nest_to(t, hop_size_int(n), 0);
}

hop_stmt *hop_d_seq(hop_dbuild *t, int64_t n)
{
	return hop_l_loop(&t->b, HOP_LOOP_SEQ, hop_size_int(n), hop_l_reg(&t->b));
}

hop_reg hop_d_op(hop_dbuild *t, enum hop_sop s, hop_dtype d, hop_reg x, hop_reg y)
{
	return hop_l_op(&t->b, s, d, 2, (hop_reg[]){ x, y });
}

hop_reg hop_d_test(hop_dbuild *t, enum hop_sop s, hop_reg x, hop_reg y)
{
	return hop_d_op(t, s, HOP_bool, x, y);
}

hop_reg hop_d_select(hop_dbuild *t, hop_dtype d, hop_reg which, hop_reg x, hop_reg y)
{
	return hop_l_op(&t->b, HOP_SOP_select, d, 3, (hop_reg[]){ which, x, y });
}

hop_reg hop_d_cast(hop_dbuild *t, hop_dtype d, hop_reg x)
{
	return hop_l_op(&t->b, HOP_SOP_cast, d, 1, &x);
}

hop_reg hop_d_num(hop_dbuild *t, hop_dtype d, int64_t v)
{
	return hop_l_consti(&t->b, d, v);
}

hop_addr hop_d_at(hop_dbuild *t, int buf, hop_reg i, int64_t stride, hop_reg j)
{
	hop_addr a = { .buf = buf, .offset = hop_size_int(0) };
	if (i)
		hop_addr_add(t->d->a, &a, i, hop_size_int(stride));
	if (j)
		hop_addr_add(t->d->a, &a, j, hop_size_int(1));
	return a;
}

hop_reg hop_d_load(hop_dbuild *t, hop_dtype d, hop_addr a, hop_reg mask)
{
	hop_reg r = hop_l_load(&t->b, d, &a);
	if (mask) {
		t->b.block->last->na = 1;
		t->b.block->last->a[0] = mask;
	}
	return r;
}

void hop_d_store(hop_dbuild *t, hop_dtype d, hop_addr a, hop_reg v, hop_reg mask)
{
	hop_l_store(&t->b, d, &a, v);
	if (mask) {
		t->b.block->last->na = 2;
		t->b.block->last->a[1] = mask;
	}
}

int hop_d_own(hop_dbuild *t, hop_dtype d, hop_reg first)
{
	int v = hop_l_buf(&t->b, (hop_lbuf){ .kind = HOP_BUF_TEMP, .space = HOP_SPACE_LOCAL, .dtype = d,
		.count = hop_size_int(1), .offset = hop_size_int(0), .is_written = true });
	hop_d_set(t, v, first);
	return v;
}

hop_reg hop_d_get(hop_dbuild *t, int own)
{
	return hop_d_load(t, t->b.f->buf[own].dtype, hop_d_at(t, own, 0, 0, 0), 0);
}

void hop_d_set(hop_dbuild *t, int own, hop_reg v)
{
	hop_d_store(t, t->b.f->buf[own].dtype, hop_d_at(t, own, 0, 0, 0), v, 0);
}
