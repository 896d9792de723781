/* retype.c -- words of a text that are dtypes, replaced. Knows no op. */
#include "support/retype.h"

#include <ctype.h>

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '%' || c == '@' || c == '$';
}

hop_status retype_text(hop_env *e, const char *text, size_t n, const char *name, hop_dtype from,
                       hop_dtype to, hop_module **out_m)
{
	hop_buf b;
	hop_status st;
	hop_buf_open(&b, e);
	for (size_t i = 0, k; i < n; i = k) {
		hop_dtype d;
		for (k = i; k < n && is_word(text[k]); k++)
			;
		if (k == i)
			hop_putc(&b, text[k++]);
		else if (hop_dtype_find(text + i, k - i, &d) && hop_dtype_float(d) &&
		         (from == HOP_NDTYPE || d == from))
			hop_put(&b, hop_dtype_name(to));
		else
			hop_putn(&b, text + i, k - i);
	}
	st = hop_module_parse(e, b.s, b.n, name, out_m);
	hop_buf_free(&b);
	return st;
}

hop_status retype_graph(hop_env *e, const hop_graph *g, hop_dtype to, hop_module **out_m)
{
	hop_buf b;
	hop_status st;
	hop_buf_open(&b, e);
	hop_graph_print(&b, g);
	st = retype_text(e, b.s, b.n, "retyped", HOP_NDTYPE, to, out_m);
	hop_buf_free(&b);
	return st;
}
