/* cse.c -- equal pure nodes of one graph become one. Equal graphs are one graph already:
 * sealing interns them.
 *
 * needs: nothing.  keeps: everything.  Two nodes are equal if their op, attributes and
 * operands are; the operands of commutative ops in either order. A symbol bound twice to
 * the same value becomes one symbol, which makes types equal that were not. */
#include "opt/opt.h"
#include "opt/rewrite.h"

#include <string.h>

#include "ir/rule.h"

static void put_field(hop_buf *k, const hop_field *f, const void *p)
{
	switch (f->kind) {
	case HOP_AK_ints: {
		const hop_ints *v = p;
		hop_putn(k, (const char *)&v->n, sizeof v->n);
		hop_putn(k, (const char *)v->v, (size_t)v->n * sizeof *v->v);
		break;
	}
	case HOP_AK_graphs: {
		const hop_graphs *v = p;
		hop_putn(k, (const char *)&v->n, sizeof v->n);
		hop_putn(k, (const char *)v->v, (size_t)v->n * sizeof *v->v);
		break;
	}
	case HOP_AK_sizes:
	case HOP_AK_sargs: {
		const hop_sizes *v = p;
		hop_putn(k, (const char *)&v->n, sizeof v->n);
		for (int64_t i = 0; i < v->n; i++)
			hop_putn(k, (const char *)&v->v[i], sizeof *v->v);
		break;
	}
	case HOP_AK_size:
	case HOP_AK_length:
		hop_putn(k, p, sizeof(hop_size));
		break;
	case HOP_AK_str: {
		const hop_str *v = p;
		hop_putn(k, (const char *)&v->n, sizeof v->n);
		hop_putn(k, v->s, (size_t)v->n);
		break;
	}
	case HOP_AK_data: {
		const hop_data *d = *(const hop_data *const *)p;
		hop_putn(k, (const char *)&d->type, sizeof d->type);
		hop_putn(k, d->bytes, d->nbyte);
		break;
	}
	case HOP_AK_sym:                         /* the name of a symbol is no content */
		hop_putc(k, *(const int64_t *)p >= 0);
		break;
	default:
		hop_putn(k, p, 8);
	}
}

static void put_key(hop_buf *k, const hop_node *n, const hop_val *in, const void *attr)
{
	hop_putn(k, (const char *)&n->op, sizeof n->op);
	if (hop_optab[n->op].flags & HOP_F_C && in[0].id > in[1].id) {
		hop_putn(k, (const char *)&in[1], sizeof *in);
		hop_putn(k, (const char *)&in[0], sizeof *in);
	} else {
		hop_putn(k, (const char *)in, n->nin * sizeof *in);
	}
	for (int i = 0; i < hop_optab[n->op].nfield; i++)
		put_field(k, &hop_optab[n->op].field[i],
		          (const char *)attr + hop_attr_offset(n->op, i));
}

/* What is kept for a key: the first result of the node, and the symbol that it binds. */
struct found { hop_val first; hop_size sym; };

static void begin(hop_rw *w)
{
	hop_map *seen = HOP_NEW(&w->b.arena, hop_map);
	seen->a = &w->b.arena;
	w->user = seen;
}

static hop_status node(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                       hop_val *out)
{
	hop_map *seen = w->user;
	if (hop_node_holds(n) & HOP_HOLDS_EFFECT || hop_optab[n->op].flags & HOP_F_G || !n->nout)
		return hop_rw_keep(w, n, in, attr, out);
	hop_buf key;
	hop_buf_open(&key, w->env);
	put_key(&key, n, in, attr);
	struct found *f = hop_map_get(seen, key.s, key.n);
	int64_t old = hop_node_binds(n);
	hop_status st = HOP_OK;
	if (f) {
		for (uint32_t k = 0; k < n->nout; k++)
			out[k] = (hop_val){ f->first.id + k };
		if (old >= 0)
			w->smap[old] = f->sym;
	} else {
		st = hop_rw_keep(w, n, in, attr, out);
		f = HOP_NEW(&w->b.arena, struct found);
		f->first = out[0];
		if (old >= 0)
			f->sym = w->smap[old];
		hop_map_put(seen, key.s, key.n, f);
	}
	hop_buf_free(&key);
	return st;
}

hop_status hop_opt_cse(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 'c', node, begin };
	return hop_rw_graph(e, &pass, g, out_g);
}
