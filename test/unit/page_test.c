/* page_test.c -- hop_fn_page: what is refused, what is on the page, and that it comes whole or not at
 * all. How it looks in a browser is scripts/check_page. */
#include <unistd.h>

#include "trace_rig.h"

static char path[64];

static void layers(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	for (int i = 0; i < 12; i++)
		HOP_REGION(t, "a <b> \"&' \xff", x)
			x = hop_sin(t, x);
	hop_return(t, hop_sum_all(t, x));
}

static hop_fn *captured(void)
{
	hop_spec s = hop_spec1(HOP_f64, 4);
	hop_fn *f;
	assert_int_equal(hop_capture(ctx, layers, NULL, 1, &s, &f), HOP_OK);
	return f;
}

static char *text_of(void)
{
	static char text[1 << 20];
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	fclose(f);
	return text;
}

static int count(const char *s, const char *what)
{
	int n = 0;
	for (; (s = strstr(s, what)); s += strlen(what))
		n++;
	return n;
}

static void written(void **state)
{
	hop_fn *f[2] = { captured(), NULL };
	(void)state;
	assert_int_equal(hop_grad(f[0], 1, (int[]){ 0 }, &f[1]), HOP_OK);
	assert_int_equal(hop_fn_page(2, f, path), HOP_OK);
	const char *s = text_of();
	assert_int_equal(count(s, "</script>"), 2);
	assert_int_equal(count(s, "\"name\":\"a \\u003cb> \\\"&' \\ufffd\""), 1);       /* written once */
	assert_non_null(strstr(s, "\"name\":\"captured\""));
	assert_non_null(strstr(s, "\"name\":\"function 2\""));
	assert_non_null(strstr(s, "x = hop_sin(t, x);"));                              /* our line */
	assert_non_null(strstr(s, "</html>"));
	assert_int_equal(count(s, "http"), 1);                 /* the name of SVG's elements */
	hop_fn_release(f[0]);
	hop_fn_release(f[1]);
}

static void refused(void **state)
{
	const char *same = "hop 1\ngraph @f(%0: f32) {\nreturn %0\n}\n";
	hop_fn *f[2] = { captured(), NULL };
	hop_ctx *other;
	(void)state;
	assert_int_equal(hop_fn_page(1, NULL, path), HOP_EUSE);
	assert_int_equal(hop_fn_page(0, f, path), HOP_EUSE);
	assert_int_equal(hop_fn_page(1, &f[1], path), HOP_EUSE);
	assert_int_equal(hop_fn_page(2, f, path), HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "function 1 is missing"));
	assert_int_equal(hop_fn_page(1, f, NULL), HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "the path of the page is missing"));
	assert_int_equal(hop_fn_page(1, f, "/no/such/folder/x"), HOP_EIO);
	assert_int_equal(hop_ctx_new(NULL, &other), HOP_OK);
	assert_int_equal(hop_fn_parse(other, same, strlen(same), NULL, &f[1]), HOP_OK);
	assert_int_equal(hop_fn_page(2, f, path), HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "of another context"));
	hop_fn *many[33];
	for (int i = 0; i < 33; i++)
		many[i] = f[0];
	assert_int_equal(hop_fn_page(33, many, path), HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "at most 32"));
	hop_fn_release(f[0]);
	hop_fn_release(f[1]);
	hop_ctx_free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(written), cmocka_unit_test(refused) };
	snprintf(path, sizeof path, "/tmp/hop_page_%d.html", (int)getpid());
	int rc = cmocka_run_group_tests(tests, rig_up, rig_down);
	unlink(path);
	return rc;
}
