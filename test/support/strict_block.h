/* strict_block.h -- strict.h, written as blocks, with structs, and inside each other. */
#ifndef STRICT_BLOCK_H
#define STRICT_BLOCK_H

#include "support/strict_loop.h"

/* A program as a function of its own, that gives its value. */
#define FUNCTION(name) \
	static hop_value name##_gives(hop_trace *t, const struct strict_in *all); \
	PROGRAM(name, out[0] = name##_gives(t, all)) \
	static hop_value name##_gives(hop_trace *t, const struct strict_in *all)

/* ---- blocks: the same operators, their variables by name ---- */

FUNCTION(block_if_no_else)
{
	hop_value r = all->h;
	HOP_IF(t, all->p, r) {
		r = hop_sin(t, r);
	}
	return r;
}

FUNCTION(block_if_clone)
{
	hop_value r = all->h;
	HOP_IF(t, all->p, r) {
		r = hop_sin(t, r);
	} else {
		r = hop_clone(t, r);
	}
	return r;
}

FUNCTION(block_if_write)
{
	hop_value r = all->h;
	HOP_IF(t, all->p, r) {
		hop_add_(t, all->x, r);
		r = hop_sin(t, r);
	} else {
		r = hop_cos(t, r);
	}
	return r;
}

FUNCTION(block_if_float)
{
	hop_value r = all->h;
	HOP_IF(t, all->p, r) {
		r = hop_sin(t, r);
	} else {
		r = hop_f(t, 1.5);
	}
	return r;
}

FUNCTION(block_switch)
{
	hop_value r = all->h;
	HOP_SWITCH(t, all->k, 2, r) {
	case 0:
		r = hop_sin(t, r);
		break;
	default:
		r = all->v;
	}
	return r;
}

FUNCTION(block_while_swap)
{
	hop_value a = all->h, b = all->v;
	HOP_WHILE(t, hop_lt(t, a, b), a, b) {
		hop_value c = a;
		a = b;
		b = c;
	}
	return a;
}

FUNCTION(block_while_left)
{
	hop_value a = all->h, b = all->v;
	HOP_WHILE(t, hop_lt(t, a, b), a, b) {
		a = hop_addf(t, a, 1);
	}
	return hop_add(t, a, b);
}

FUNCTION(block_while_write)
{
	hop_value a = hop_sin(t, all->h);
	HOP_WHILE(t, hop_lt(t, a, hop_f(t, 9)), a) {
		hop_add_(t, a, all->v);
	}
	return a;
}

FUNCTION(block_while_int)
{
	hop_value a = all->h;
	hop_value i = hop_i(t, 0);
	HOP_WHILE(t, hop_lt(t, a, hop_f(t, 9)), a, i) {
		a = hop_addf(t, a, 1);
		i = hop_add(t, i, hop_i(t, 1));
	}
	return a;
}

FUNCTION(block_for_stack)
{
	hop_value a = all->h, ys;
	HOP_FOR(t, i, 3, a) {
		a = hop_add(t, a, hop_take(t, all->x, i));
		hop_stack(t, &ys, a);
	}
	return ys;
}

FUNCTION(block_for_take)
{
	hop_value a = all->h, ys;
	HOP_FOR(t, i, 3, a) {
		hop_value e = hop_take(t, all->x, i);
		a = hop_add(t, a, e);
		hop_stack(t, &ys, e);
	}
	return ys;
}

FUNCTION(block_for_index)
{
	hop_value a = all->h, ys;
	HOP_FOR(t, i, 3, a) {
		a = hop_mulf(t, a, 2);
		hop_stack(t, &ys, i);
	}
	return ys;
}

FUNCTION(block_for_number)
{
	hop_value a = all->h, ys;
	HOP_FOR(t, i, 3, a) {
		a = hop_add(t, a, hop_take(t, all->x, i));
		hop_stack(t, &ys, hop_f(t, 2));
	}
	return ys;
}

FUNCTION(block_for_write_take)
{
	hop_value a = all->h;
	HOP_FOR(t, i, 3, a) {
		hop_value e = hop_take(t, all->x, i);
		hop_add_(t, e, a);
		a = hop_sin(t, e);
	}
	return a;
}

FUNCTION(block_for_no_xs)
{
	hop_value a = all->h;
	HOP_FOR(t, i, 3, a) {
		(void)i;
		a = hop_mulf(t, a, 2);
	}
	return a;
}

FUNCTION(block_for_zero)
{
	hop_value a = all->h;
	HOP_FOR(t, i, 0, a) {
		a = hop_add(t, a, hop_cast(t, i, HOP_f64));
	}
	return a;
}

FUNCTION(block_for_plain)
{
	hop_value a = all->h, ys;
	HOP_FOR(t, i, 3, a) {
		a = hop_add(t, a, hop_take(t, all->x, i));
		hop_stack(t, &ys, hop_clone(t, a));
	}
	return ys;
}

FUNCTION(block_map)
{
	hop_value ys;
	HOP_MAP(t, i, 3) {
		hop_stack(t, &ys, hop_take(t, all->x, i));
	}
	return ys;
}

FUNCTION(block_struct)
{
	struct strict_pair s = {
		all->h, all->v
	}
	;
	HOP_WHILE_N(t, hop_lt(t, s.a, s.b), strict_pair_tree, &s) {
		hop_value c = s.a;
		s.a = hop_sin(t, s.b);
		s.b = c;
	}
	return s.a;
}

FUNCTION(block_strides)
{
	hop_value a = all->h, left = all->v, q = all->q;
	HOP_WHILE(t, hop_lt(t, a, left), a, left, q) {
		a = hop_addf(t, a, 1);
		q = hop_transpose(t, hop_mulf(t, q, 2), 0, 1);
	}
	return hop_add(t, a, hop_sum_all(t, q));
}

FUNCTION(block_aliased)
{
	hop_value a = all->h;
	hop_value first = hop_index(t, all->x, 0, 0);
	HOP_WHILE(t, hop_lt(t, a, first), a) {
		a = hop_add(t, a, hop_sum_all(t, hop_mul(t, all->x, first)));
	}
	return a;
}

/* ---- counted loops ---- */

BODY(b_count, hop_return(t, hop_add(t, in[1], hop_cast(t, in[0], HOP_f64))))
BODY(b_count_same, hop_return(t, in[1]))
PROGRAM(fori_plain, hop_fori_loop(t, 0, 4, b_count, USER, 1, &all->h, NULL, out))
PROGRAM(fori_unchanged, hop_fori_loop(t, 0, 4, b_count_same, USER, 1, &all->h, NULL, out))
PROGRAM(fori_zero, hop_fori_loop(t, 4, 4, b_count, USER, 1, &all->h, NULL, out))

/* ---- inside each other: the innermost speaks ---- */

BODY(b_cond_inside, hop_value r; hop_value s = hop_add(t, in[0], in[1]);
     hop_cond(t, all->p, b_sin, b_first, user, 1, &s, 1, &r); hop_return(t, r))
PROGRAM(nest_scan_cond, SCAN(b_cond_inside, all->h, all->x))
BODY(b_scan_inside, hop_value r[2];
     hop_scan(t, b_step_was, user, 1, in, 1, &all->x, NULL, 2, r, NULL);
     hop_return(t, hop_add(t, r[0], hop_sum_all(t, r[1]))))
PROGRAM(nest_while_scan, WHILE(b_small, b_scan_inside, all->h))
FUNCTION(nest_blocks)
{
	hop_value a = all->h;
	HOP_FOR(t, i, 3, a) {
		hop_value e = hop_take(t, all->x, i);
		HOP_IF(t, hop_lt(t, e, hop_f(t, 0)), a) {
			a = hop_add(t, a, e);
		}
	}
	return a;
}

BODY(b_cond_writes, hop_value r; hop_value s = hop_sin(t, in[1]);
     hop_cond(t, all->p, b_writes_h, b_sin, user, 1, &s, 1, &r); hop_return(t, hop_add(t, in[0], r)))
PROGRAM(nest_write, SCAN(b_cond_writes, all->v, all->x))
BODY(b_cond_writes_carry, hop_value r;
     hop_cond(t, all->p, b_write, b_sin, user, 1, in, 1, &r); hop_return(t, hop_add(t, r, in[1])))
PROGRAM(nest_write_carry, SCAN(b_cond_writes_carry, all->v, all->x))

#endif
