/* safetensors_test.c -- .safetensors files: round trips, headers that are refused, and structs of
 * arrays saved and loaded by path, in this format and in .npz. */
#include "file_rig.h"

#include "hop/fn.h"

/* A file from its header and so many bytes of elements, 0, 1, 2 .. */
static char *build(const char *head, size_t nhead, size_t nbyte, size_t *out_n)
{
	char *s = malloc(8 + nhead + nbyte);
	assert_non_null(s);
	for (int i = 0; i < 8; i++)
		s[i] = (char)((uint64_t)nhead >> 8 * i);
	memcpy(s + 8, head, nhead);
	for (size_t i = 0; i < nbyte; i++)
		s[8 + nhead + i] = (char)i;
	*out_n = 8 + nhead + nbyte;
	return s;
}

#define T(name, dtype, shape, from, to) "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape \
	",\"data_offsets\":[" #from "," #to "]}"

static void by_hand(void **state)
{
	static const char head[] = "{\"__metadata__\":{\"a\":\"\\n\\u20ac\"} , "
		T("x", "I32", "[2, 1]", 0, 8) ",\n" T("\\u00e9\\ud83d\\ude00/\\\"", "U8", "[3]", 8, 11) ","
		T("b", "BOOL", "[ 2]", 11, 13) "," T("e", "F64", "[0,3]", 13, 13) ","
		T("n", "F4", "[2]", 13, 14) "," T("s", "I32", "[]", 14, 18) "}  ";
	size_t n;
	char *s = build(head, sizeof head - 1, 18, &n);
	hop_file *f;
	hop_array *a;
	(void)state;
	if (open_bytes(s, n, &f))
		fail_msg("%s", hop_message(ctx));
	assert_int_equal(hop_file_count(f), 6);
	assert_string_equal(hop_file_name(f, 1), "\xc3\xa9\xf0\x9f\x98\x80/\"");
	assert_int_equal(hop_file_get(f, "x", &a), HOP_OK);
	assert_int_equal(hop_array_rank(a), 2);
	assert_true(hop_array_at(a, 1) == 0x07060504);
	hop_array_release(a);
	assert_int_equal(hop_file_get(f, "b", &a), HOP_OK);    /* 11 and 12 are both true */
	assert_true(hop_array_at(a, 0) == 1 && hop_array_at(a, 1) == 1);
	hop_array_release(a);
	assert_int_equal(hop_file_get(f, "s", &a), HOP_OK);    /* not aligned: a copy */
	assert_true(hop_array_at(a, 0) == 0x11100f0e);
	assert_null(a->drop);
	hop_array_release(a);
	assert_int_equal(hop_file_get(f, "e", &a), HOP_OK);
	assert_int_equal(hop_array_count(a), 0);
	hop_array_release(a);
	said(hop_file_array(f, 1, &a), HOP_ETYPE, "dtype U8: hop reads bool, i32, i64");
	said(hop_file_get(f, "n", &a), HOP_ETYPE, "dtype F4");
	hop_file_close(f);
	free(s);
	static const char small[] = "{" T("x", "F32", "[2]", 0, 8) "," T("y", "I64", "[]", 8, 16) "}";
	s = build(small, sizeof small - 1, 16, &n);
	every_length(s, n);
	every_byte(s, n);
	free(s);
}

static void wrong_headers(void **state)
{
#define X T("x", "I32", "[1]", 0, 4)
#define KEYS(s) "{\"x\":{" s "}}"
#define D "\"dtype\":\"I32\""
#define S "\"shape\":[1]"
#define O "\"data_offsets\":[0,4]"
	static const struct { const char *s, *words; size_t n; } c[] = {
		{ "{" X "}", "", 0 }, { "{}", "at its end that belong to no tensor", 0 },
		{ " {" X "}", "neither an .npz", 0 }, { "[" X "]", "neither an .npz", 0 },
		{ "{" X, "does not end", 0 }, { "{" X "},", "more than one object", 0 },
		{ "{" X "}{}", "more than one object", 0 }, { "{" X "}\n", "more than one object", 0 },
		{ "{" X ",}", "no object, or cut off", 0 }, { "{," X "}", "no object", 0 },
		{ "{" X " " T("y", "I32", "[0]", 4, 4) "}", "does not end", 0 },
		{ "{" X "," X "}", "x: it overlaps with another", 0 },
		{ "{" X "," T("x", "I32", "[0]", 4, 4) "}", "two tensors have this name", 0 },
		{ "{" X "," T("\\u0078", "I32", "[0]", 4, 4) "}", "two tensors have this name", 0 },
		{ "{x:1}", "no object, or cut off", 0 }, { "{\"x\" 1}", "no object, or cut off", 0 },
		{ "{\"x\":1}", "no object", 0 }, { "{\"x\":[]}", "no object", 0 },
		{ "{\"x\":null}", "no object", 0 }, { "{\"x\":{}}", "no object", 0 },
		{ "{" T("", "I32", "[1]", 0, 4) "}", "empty name", 0 },
		{ "{" T("\\n", "I32", "[1]", 0, 4) "}", "control characters", 0 },
		{ "{" T("\\u0000", "I32", "[1]", 0, 4) "}", "control characters", 0 },
		{ "{" T("\n", "I32", "[1]", 0, 4) "}", "cut off", 0 },
		{ "{" T("\\x41", "I32", "[1]", 0, 4) "}", "cut off", 0 },
		{ "{" T("\\u12", "I32", "[1]", 0, 4) "}", "cut off", 0 },
		{ "{" T("\\ud800", "I32", "[1]", 0, 4) "}", "cut off", 0 },
		{ "{" T("\\ud800\\u0041", "I32", "[1]", 0, 4) "}", "cut off", 0 },
		{ "{" T("\\udc00", "I32", "[1]", 0, 4) "}", "cut off", 0 },
		{ "{" T("\xff", "I32", "[1]", 0, 4) "}", "not UTF-8", 0 },
		{ "{" T("\xc0\x80", "I32", "[1]", 0, 4) "}", "not UTF-8", 0 },
		{ "{" T("\xed\xa0\x80", "I32", "[1]", 0, 4) "}", "not UTF-8", 0 },
		{ "{" T("\xf4\x90\x80\x80", "I32", "[1]", 0, 4) "}", "not UTF-8", 0 },
		{ "{" T("\xe2\x82", "I32", "[1]", 0, 4) "}", "not UTF-8", 0 },
		{ "{\"__metadata__\":{\"a\":1}," X "}", "more than strings", 0 },
		{ "{\"__metadata__\":{\"a\":{}}," X "}", "more than strings", 0 },
		{ "{\"__metadata__\":[]," X "}", "is no object", 0 },
		{ "{\"__metadata__\":{\"a\":\"\xff\"}," X "}", "UTF-8", 0 },
		{ "{\"__metadata__\":{\"a\":\"b\"," X "}", "more than strings", 0 },
		{ "{\"__metadata__\":{\"a\":\"b\" \"c\"}," X "}", "does not end", 0 },
		{ "{\"__metadata__\":{},\"__metadata__\":{}," X "}", "__metadata__ twice", 0 },
		{ KEYS(D "," S), "a key is lacking", 0 }, { KEYS(S "," O), "a key is lacking", 0 },
		{ KEYS(D "," O), "a key is lacking", 0 }, { KEYS(D "," D "," S "," O), "second key", 0 },
		{ KEYS(D "," S "," O ",\"more\":[]"), "unknown or a second key", 0 },
		{ KEYS("\"dtype\\u0000\":\"I32\"," S "," O), "unknown", 0 },
		{ KEYS(D S "," O), "lacking", 0 }, { KEYS(D "," S "," O ","), "no object", 0 },
		{ KEYS("\"dtype\":I32," S "," O), "no string", 0 },
		{ KEYS("\"dtype\":\"i32\"," S "," O), "there is no dtype i32", HOP_ETYPE },
		{ KEYS("\"dtype\":\"\"," S "," O), "there is no dtype", HOP_ETYPE },
		{ KEYS(D ",\"shape\":1," O), "shape is no list", 0 },
		{ KEYS(D ",\"shape\":[-1]," O), "no number", 0 },
		{ KEYS(D ",\"shape\":[1.0]," O), "does not end", 0 },
		{ KEYS(D ",\"shape\":[01]," O), "no number", 0 },
		{ KEYS(D ",\"shape\":[1,]," O), "no number", 0 },
		{ KEYS(D ",\"shape\":[[1]]," O), "no number", 0 },
		{ KEYS(D ",\"shape\":[1," O), "no number", 0 },
		{ KEYS(D ",\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]," O), "more axes", 0 },
		{ KEYS(D ",\"shape\":[281474976710657]," O), "too large", 0 },
		{ KEYS(D ",\"shape\":[18446744073709551617]," O), "too large", 0 },
		{ KEYS(D ",\"shape\":[4294967296,4294967296]," O), "more elements", 0 },
		{ KEYS(D ",\"shape\":[4294967296,4294967296,0]," O), "more elements", 0 },
		{ KEYS(D ",\"shape\":[2]," O), "needs 8 bytes, it has 4", 0 },
		{ KEYS("\"dtype\":\"F4\",\"shape\":[7]," O), "needs 3 bytes, it has 4", 0 },
		{ KEYS(D "," S ",\"data_offsets\":[4,0]"), "no two numbers in order", 0 },
		{ KEYS(D "," S ",\"data_offsets\":[0]"), "no two numbers", 0 },
		{ KEYS(D "," S ",\"data_offsets\":[0,4,8]"), "no two numbers", 0 },
		{ KEYS(D "," S ",\"data_offsets\":[18446744073709551615,3]"), "no two numbers", 0 },
		{ KEYS(D "," S ",\"data_offsets\":[1,5]"), "bytes before it", 0 },
		{ KEYS(D "," S ",\"data_offsets\":[18446744073709551611,18446744073709551615]"), "before", 0 },
		{ KEYS(D ",\"shape\":[2],\"data_offsets\":[0,8]"), "past the end of the file", 0 },
		{ "{" X "," T("y", "I32", "[1]", 0, 4) "}", "overlaps with another", 0 },
		{ "{" X "," T("y", "BOOL", "[2]", 2, 4) "}", "overlaps with another", 0 },
		{ "{" X "," T("y", "BOOL", "[1]", 5, 6) "}", "bytes before it", 0 },
		{ "{" T("x", "BOOL", "[3]", 0, 3) "}", "at its end", 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
		size_t n;
		char *s = build(c[i].s, strlen(c[i].s), 4, &n);
		hop_status st = take_all(s, n), want = !i ? HOP_OK : c[i].n ? HOP_ETYPE : HOP_EPARSE;
		if (st != want || (i && !strstr(hop_message(ctx), c[i].words)))
			fail_msg("%s: %d: %s lacks: %s", c[i].s, st, hop_message(ctx), c[i].words);
		free(s);
	}
#undef X
#undef KEYS
#undef D
#undef S
#undef O
}

/* A header that is long, or deep, or says that it is: refused without reading it all. */
static void large_headers(void **state)
{
	enum { MANY = 1 << 20 };
	char *deep = malloc(MANY), *s;
	size_t n;
	(void)state;
	assert_non_null(deep);
	memset(deep, '{', MANY);
	s = build(deep, MANY, 0, &n);
	refused(s, n, "cut off");
	free(s);
	memset(deep, '[', MANY);
	memcpy(deep, "{\"x\":", 5);
	s = build(deep, MANY, 0, &n);
	refused(s, n, "no object");
	for (int k = 0; k < 8; k++) {
		memset(s, 0, 8);
		s[k] = (char)0x80;
		refused(s, n, k < 2 ? "no object" : "header is cut off");
	}
	memset(s, 0xff, 8);
	refused(s, n, "header is cut off");
	free(s);
	free(deep);
}

static void saved(void **state)
{
	(void)state;
	round_trip("x.safetensors");
}

/* ---- structs ---- */

#define LAYER(has) has(LEAF, w, "f32[d#, d#+1]") has(LEAF, b, "f32[d#+1]")
HOP_STRUCT(layer, LAYER);
#define NET(has) has(NODES, layer, 2, layer) has(LEAF, any, NULL)
HOP_STRUCT(net, NET);

static void structs(void **state)
{
	static const hop_named_size sizes[] = { { "d0", 2 }, { "d1", 3 }, { "d2", 1 }, { NULL, 0 } };
	struct net_arrays a, b;
	(void)state;
	assert_int_equal(hop_tree_new(ctx, &layer_tree, sizes, &a.layer[0]), HOP_EVALUE);
	a = (struct net_arrays){ 0 };
	said(hop_tree_save(ctx, &net_tree, &a, "x.npz"), HOP_EUSE, "layer[0].w is missing");
	a.layer[0].w = array(HOP_f32, 2, (int64_t[]){ 2, 3 }, (float[]){ 1, 2, 3, 4, 5, 6 });
	a.layer[0].b = array(HOP_f32, 1, (int64_t[]){ 3 }, (float[]){ 7, 8, 9 });
	a.layer[1].w = array(HOP_f32, 2, (int64_t[]){ 3, 1 }, (float[]){ 1, 2, 3 });
	a.layer[1].b = array(HOP_f32, 1, (int64_t[]){ 1 }, (float[]){ 4 });
	a.any = array(HOP_i64, 0, NULL, &(int64_t){ 5 });
	for (int k = 0; k < 2; k++) {
		char path[120];
		snprintf(path, sizeof path, "%s", in_folder(k ? "net.npz" : "net.safetensors"));
		if (hop_tree_save(ctx, &net_tree, &a, path) ||
		    hop_tree_load(ctx, &net_tree, k ? sizes : NULL, path, NULL, &b))
			fail_msg("%s", hop_message(ctx));
		for (int i = 0; i < net_tree.count; i++)
			same_array(((hop_array **)&a)[i], ((hop_array **)&b)[i]);
		hop_tree_release(&net_tree, &b);
		said(hop_tree_load(ctx, &net_tree, HOP_SIZES({ "d1", 4 }), path, NULL, &b), HOP_ESHAPE,
		     "layer[0].w is f32[2, 3], it should be f32[d0, 4]");
		assert_null(b.layer[0].w);
		said(hop_tree_load(ctx, &layer_tree, NULL, path, NULL, &b.layer[0]), HOP_EVALUE, "in none");
		unlink(path);
	}
	hop_tree_release(&net_tree, &a);
}

/* Files that are not of the struct; the message says all that is wrong with their names. */
static void wrong_structs(void **state)
{
	static const struct { const char *head; size_t n; hop_status st; const char *words; } c[] = {
		{ "{" T("layer[0].w", "F32", "[1,1]", 0, 4) "," T("layer[1].w", "F32", "[1,1]", 4, 8) ","
		  T("w", "F32", "[]", 8, 12) "," T("any", "F32", "[]", 12, 16) ","
		  T("z", "F32", "[]", 16, 20) "}", 20, HOP_ETYPE,
		  "it lacks layer[0].b, layer[1].b; the struct does not have w, z" },
		{ "{" T("layer[0].w", "F32", "[1,1]", 0, 4) "," T("layer[0].b", "F32", "[1]", 4, 8) ","
		  T("layer[1].w", "F32", "[1,1]", 8, 12) "," T("layer[1].b", "F32", "[1]", 12, 16) "}", 16,
		  HOP_ETYPE, "it lacks any" },
		{ "{" T("layer[0].w", "F32", "[1,2]", 0, 8) "," T("layer[0].b", "F32", "[2]", 8, 16) ","
		  T("layer[1].w", "F32", "[1,1]", 16, 20) "," T("layer[1].b", "F32", "[1]", 20, 24) ","
		  T("any", "BOOL", "[]", 24, 25) "}", 25, HOP_ESHAPE,
		  "layer[1].w is f32[1, 1], it should be f32[d1, d2]\n  note: layer[0].w has d1 = 2" },
		{ "{" T("layer[0].w", "F32", "[1,1]", 0, 4) "," T("layer[0].b", "I32", "[1]", 4, 8) ","
		  T("layer[1].w", "F32", "[1,1]", 8, 12) "," T("layer[1].b", "F32", "[1]", 12, 16) ","
		  T("any", "BOOL", "[]", 16, 17) "}", 17, HOP_ETYPE,
		  "layer[0].b is i32[1], it should be f32[d1]" },
		{ "{" T("layer[0].w", "F32", "[1,1]", 0, 4) "," T("layer[0].b", "F32", "[]", 4, 8) ","
		  T("layer[1].w", "F32", "[1,1]", 8, 12) "," T("layer[1].b", "F32", "[1]", 12, 16) ","
		  T("any", "BOOL", "[]", 16, 17) "}", 17, HOP_ESHAPE,
		  "layer[0].b is f32, it should be f32[d1]" },
		{ "{" T("layer[0].w", "F32", "[1,1]", 0, 4) "," T("layer[0].b", "F32", "[1]", 4, 8) ","
		  T("layer[1].w", "F32", "[1,1]", 8, 12) "," T("layer[1].b", "F32", "[1]", 12, 16) ","
		  T("any", "U8", "[]", 16, 17) "}", 17, HOP_ETYPE, "any: dtype U8" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
		struct net_arrays a;
		hop_file *f;
		size_t n;
		char *s = build(c[i].head, strlen(c[i].head), c[i].n, &n);
		if (open_bytes(s, n, &f))
			fail_msg("%s", hop_message(ctx));
		said(hop_tree_from(ctx, &net_tree, NULL, f, &a), c[i].st, c[i].words);
		for (int k = 0; k < net_tree.count; k++)
			assert_null(((hop_array **)&a)[k]);
		hop_file_close(f);
		free(s);
	}
	hop_tree bad = { 2, "a", 0, NULL };
	struct net_arrays a = { 0 };
	said(hop_tree_save(ctx, NULL, &a, "x.npz"), HOP_EUSE, "no tree");
	said(hop_tree_save(ctx, &bad, &a, "x.npz"), HOP_EUSE, "names 1 values");
	assert_int_equal(hop_tree_save(ctx, &net_tree, NULL, "x.npz"), HOP_EUSE);
	said(hop_tree_load(ctx, &net_tree, NULL, "/nowhere.npz", NULL, &a), HOP_EIO, "No such file");
	a.layer[0].w = array(HOP_f64, 0, NULL, NULL);
	for (int i = 1; i < net_tree.count; i++)
		((hop_array **)&a)[i] = hop_array_retain(a.layer[0].w);
	said(hop_tree_save(ctx, &net_tree, &a, "x.npz"), HOP_ETYPE,
	     "tree_save: layer[0].w is f64, it should be f32[d0, d1]");
	hop_tree_release(&net_tree, &a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand), cmocka_unit_test(wrong_headers),
		cmocka_unit_test(large_headers), cmocka_unit_test(saved), cmocka_unit_test(structs),
		cmocka_unit_test(wrong_structs),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}

#undef T
#undef LAYER
#undef NET
