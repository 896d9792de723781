/* lex.c -- text to tokens, one at a time, from any bytes. Never allocates and never
 * reports: a bad token carries its reason. */
#include "text/lex.h"

#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word(char c) { return is_alpha(c) || is_digit(c); }

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static char peek(const hop_lex *l, size_t k)
{
	return (size_t)(l->end - l->p) > k ? l->p[k] : '\0';
}

static void skip(hop_lex *l)
{
	for (; l->p < l->end; l->p++) {
		char c = *l->p;
		if (c == '\n')
			l->line++;
		else if (c == '#')
			while (l->end - l->p > 1 && l->p[1] != '\n')
				l->p++;
		else if (c != ' ' && c != '\t' && c != '\r')
			break;
	}
}

static void word(hop_lex *l, hop_tok_kind k, int sigil, bool dots)
{
	l->p += sigil;
	l->tok.s = l->p;
	while (is_word(peek(l, 0)) || (dots && peek(l, 0) == '.'))
		l->p++;
	l->tok.n = (size_t)(l->p - l->tok.s);
	l->tok.kind = k;
}

static void bad(hop_lex *l, const char *what)
{
	l->tok.kind = HOP_T_BAD;
	l->tok.what = what;
	if (l->p == l->tok.at && l->p < l->end)
		l->p++;
}

static void bits(hop_lex *l)
{
	uint64_t v = 0;
	int n = 0;
	l->p += 2;
	for (; hex_digit(peek(l, 0)) >= 0; l->p++, n++)
		v = v << 4 | (uint64_t)hex_digit(*l->p);
	if (n < 1 || n > 16 || is_word(peek(l, 0))) {
		bad(l, "a 0x number has 1 to 16 hexadecimal digits");
		return;
	}
	l->tok.kind = HOP_T_BITS;
	l->tok.i = v;
}

static void number(hop_lex *l)
{
	uint64_t v = 0;
	bool fits = true, real = false;
	for (; is_digit(peek(l, 0)); l->p++) {
		fits = fits && !__builtin_mul_overflow(v, (uint64_t)10, &v) &&
		       !__builtin_add_overflow(v, (uint64_t)(*l->p - '0'), &v);
	}
	if (peek(l, 0) == '.' && is_digit(peek(l, 1))) {
		real = true;
		for (l->p++; is_digit(peek(l, 0)); l->p++)
			;
	}
	if (peek(l, 0) == 'e' || peek(l, 0) == 'E') {
		size_t k = peek(l, 1) == '+' || peek(l, 1) == '-' ? 2 : 1;
		if (is_digit(peek(l, k))) {
			real = true;
			for (l->p += k; is_digit(peek(l, 0)); l->p++)
				;
		}
	}
	l->tok.s = l->tok.at;
	l->tok.n = (size_t)(l->p - l->tok.at);
	if (is_word(peek(l, 0)))
		bad(l, "a number ends in a letter");
	else if (real)
		l->tok.kind = HOP_T_FLOAT;
	else if (!fits)
		bad(l, "this number does not fit in 64 bits");
	else {
		l->tok.kind = HOP_T_INT;
		l->tok.i = v;
	}
}

static void string(hop_lex *l)
{
	l->tok.s = ++l->p;
	for (; l->p < l->end && *l->p != '"'; l->p++) {
		if (*l->p == '\n')
			break;
		if (*l->p == '\\' && l->end - l->p > 1 && l->p[1] != '\n')
			l->p++;
	}
	l->tok.n = (size_t)(l->p - l->tok.s);
	if (l->p == l->end || *l->p != '"') {
		bad(l, "this string has no end on its line");
		return;
	}
	l->p++;
	l->tok.kind = HOP_T_STR;
}

void hop_lex_next(hop_lex *l)
{
	skip(l);
	l->tok = (hop_tok){ .kind = HOP_T_END, .at = l->p, .line = l->line };
	if (l->p == l->end)
		return;
	char c = *l->p, d = peek(l, 1);
	if (is_alpha(c))
		word(l, HOP_T_IDENT, 0, false);
	else if (c == '%' && is_word(d))
		word(l, HOP_T_VALUE, 1, false);
	else if (c == '@' && is_word(d))
		word(l, HOP_T_GRAPH, 1, true);
	else if (c == '$' && is_digit(d))
		word(l, HOP_T_DATA, 1, false);
	else if (c == '0' && d == 'x')
		bits(l);
	else if (is_digit(c))
		number(l);
	else if (c == '"')
		string(l);
	else if (c == '-' && d == '>') {
		l->tok.kind = HOP_T_ARROW;
		l->p += 2;
	} else if (c == '=' && d == '=') {
		l->tok.kind = HOP_T_EQ;
		l->p += 2;
	} else if (c == '<' && d == '=') {
		l->tok.kind = HOP_T_LE;
		l->p += 2;
	} else if (c == '.' && d == '.') {
		l->tok.kind = HOP_T_DOTS;
		l->p += 2;
	} else if (c && strchr("()[]{}<>:,=+-*/%", c)) {
		l->tok.kind = HOP_T_CHAR;
		l->tok.c = c;
		l->p++;
	} else
		bad(l, "this character has no meaning here");
}

void hop_lex_init(hop_lex *l, const char *text, size_t n)
{
	*l = (hop_lex){ .text = text, .end = text + n, .p = text, .line = 1 };
	hop_lex_next(l);
}

void hop_lex_split(hop_lex *l)
{
	l->p = l->tok.at + 1;
	l->tok.kind = HOP_T_CHAR;
	l->tok.c = '%';
}

bool hop_lex_unescape(const hop_tok *t, char *out, size_t *out_n)
{
	size_t n = 0;
	for (size_t i = 0; i < t->n; i++) {
		char c = t->s[i];
		if (c != '\\') {
			out[n++] = c;
			continue;
		}
		c = ++i < t->n ? t->s[i] : '\0';
		if (c == 'n')
			out[n++] = '\n';
		else if (c == 't')
			out[n++] = '\t';
		else if (c == '\\' || c == '"')
			out[n++] = c;
		else if (c == 'x' && t->n - i > 2 && hex_digit(t->s[i + 1]) >= 0 &&
		         hex_digit(t->s[i + 2]) >= 0) {
			out[n++] = (char)(hex_digit(t->s[i + 1]) << 4 | hex_digit(t->s[i + 2]));
			i += 2;
		} else
			return false;
	}
	*out_n = n;
	return true;
}
