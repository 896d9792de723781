/* model.js -- the graphs of this page: what they are called, where they come from, what a pass
 * changed in them. Draws nothing. */
"use strict";
const D = JSON.parse(document.getElementById("data").textContent), W = D.word;
const OP = 0, IN = 1, TYPES = 2, ATTRS = 3, LOC = 4, SUBS = 5;     /* of a node */

/* ---- graphs ---- */

const subs = n => n[SUBS] || [];
const opOf = n => W[n[OP]];

/* What is known of a graph once it is looked at: out[i] the first result of node i, def[v] the
 * node of a value or -1, type[v], uses[v] the nodes that take it. */
function look(gi)
{
	const g = D.graph[gi];
	if (g.out0)
		return g;
	g.type = g.in.slice();
	g.def = g.in.map(() => -1);
	g.out0 = [];
	g.node.forEach((n, i) => {
		g.out0.push(g.type.length);
		for (const t of n[TYPES]) {
			g.type.push(t);
			g.def.push(i);
		}
	});
	g.uses = g.type.map(() => []);
	g.node.forEach((n, i) => {
		for (const v of new Set(n[IN]))
			g.uses[v].push(i);
	});
	return g;
}

/* The graphs under gi, bodies first, each once. */
function reach(gi, seen = new Set())
{
	if (seen.has(gi))
		return seen;
	for (const n of D.graph[gi].node)
		for (const [, b] of subs(n))
			reach(b, seen);
	return seen.add(gi);
}

const callers = D.graph.map(() => 0);
/* A region keeps its place when it is derived, and loses its name: the place gives it back. */
const regionAt = new Map();
for (const g of D.graph)
	for (const n of g.node)
		for (const [, b] of subs(n)) {
			callers[b]++;
			if (opOf(n) === "call" && D.graph[b].name && n[LOC])
				regionAt.set(n[LOC], D.graph[b].name);
		}

/* What a node is called: {name, no, of, kind}. Regions of one name in a graph are counted. Those
 * that were derived count as what they were derived from: backwards when they take from the last
 * first. */
function labels(gi)
{
	const g = look(gi);
	if (g.label)
		return g.label;
	const groups = new Map();
	g.label = g.node.map((n, i) => {
		if (!subs(n).length)
			return null;
		const own = opOf(n) === "call" ? D.graph[subs(n)[0][1]].name : null;
		const name = own || (opOf(n) === "call" && regionAt.get(n[LOC])) || null;
		const l = { name, no: 0, of: 0, kind: name && !own ? "derived" : "", node: i };
		if (name) {
			const key = own ? name : name + "\n" + n[TYPES].join();
			groups.set(key, (groups.get(key) || []).concat(l));
		}
		return l;
	});
	const most = new Map();
	for (const list of groups.values())
		if (!most.has(list[0].name) || list.length > most.get(list[0].name))
			most.set(list[0].name, list.length);
	const from = l => Math.max(0, ...g.node[l.node][IN].map(v => {
		const d = g.def[v], o = d >= 0 && g.label[d];
		return o && o.name === l.name && o.kind !== "reverse" && o.no || 0;
	}));
	for (const list of groups.values()) {
		const n = list.length, all = most.get(list[0].name);
		const back = list[0].kind && from(list[0]) > (n > 1 ? from(list[n - 1]) : 0);
		list.forEach((l, k) => {
			l.of = all;
			l.no = n === all ? (back ? n - k : k + 1) : back ? from(l) : n > 1 ? k + 1 : 0;
			if (back)
				l.kind = "reverse";
		});
	}
	return g.label;
}

function nameOf(gi, i)
{
	const l = labels(gi)[i], n = D.graph[gi].node[i];
	if (!l || !l.name)
		return opOf(n);
	return l.name + (l.of > 1 && l.no ? ` ${l.no}/${l.of}` : "") +
	       (l.kind === "reverse" ? " \u00b7 reverse" : "");
}

/* ---- places ---- */

function place(at)
{
	if (!at)
		return "";
	const [f, line] = D.loc[at - 1], name = D.file[f].name;
	return `${name.slice(name.lastIndexOf("/") + 1)}:${line}`;
}

function lineOf(at)
{
	const [f, line] = D.loc[at - 1];
	return D.file[f].line[line];
}

/* ---- what a pass changed ---- */

const weak = n => n[OP] + "|" + n[ATTRS] + "|" + n[TYPES].join() + "|" + subs(n).length;
const diffs = new Map();

/* Nodes of a and b that are alike are paired in order; what is left was taken away or added. */
function diff(a, b)
{
	const key = a + "," + b;
	if (diffs.has(key))
		return diffs.get(key);
	const A = D.graph[a].node, B = D.graph[b].node, queue = new Map();
	const d = { pair: new Map(), gone: new Map() };
	diffs.set(key, d);
	A.forEach((n, i) => {
		const k = weak(n);
		queue.has(k) ? queue.get(k).push(i) : queue.set(k, [i]);
	});
	for (const q of queue.values())
		q.reverse();
	B.forEach((n, i) => {
		const q = queue.get(weak(n));
		if (q && q.length)
			d.pair.set(i, q.pop());
	});
	const at = new Map([...d.pair].map(([i, j]) => [j, i]));
	let last = -1;
	A.forEach((n, j) => {
		if (at.has(j)) {
			last = at.get(j);
		} else {
			d.gone.set(last, (d.gone.get(last) || []).concat(j));
		}
	});
	return d;
}

/* All that changed between two graphs: each pair of bodies once, and of what came or went as a whole
 * the bodies that the other graph does not hold. */
function change(a, b)
{
	const sum = { gone: 0, made: 0 }, seen = new Set();
	const was = new Set(reach(a)), is = new Set(reach(b));
	const whole = (n, known) => {
		let k = 1;
		for (const [, g] of subs(n))
			for (const x of reach(g))
				if (!known.has(x)) {
					known.add(x);
					k += D.graph[x].node.length;
				}
		return k;
	};
	const pair = (x, y) => {
		if (x === y || seen.has(x + "," + y))
			return;
		seen.add(x + "," + y);
		const d = diff(x, y), A = D.graph[x].node, B = D.graph[y].node;
		B.forEach((n, i) => {
			if (!d.pair.has(i))
				sum.made += whole(n, was);
		});
		for (const list of d.gone.values())
			for (const j of list)
				sum.gone += whole(A[j], is);
		for (const [i, j] of d.pair)
			subs(B[i]).forEach(([, to], k) => pair(subs(A[j])[k][1], to));
	};
	pair(a, b);
	return sum;
}
