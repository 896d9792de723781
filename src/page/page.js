/* page.js -- shows the graphs that stand in this page as JSON. Bodies are drawn when they are
 * unfolded, so that a page opens as fast as its outermost graph is short. It asks no network and
 * keeps nothing. What graphs are is in model.js, which stands before it; what a person does with
 * them is in use.js, behind it. */
"use strict";
const ROWS = 300;                                                   /* that are drawn at once */

function el(tag, cls, ...kids)
{
	const e = document.createElement(tag);
	if (cls)
		e.className = cls;
	e.append(...kids);
	return e;
}

/* ---- the frame ---- */

const stageBar = el("div", "stages"), outline = el("nav", "outline"), view = el("main", "view");
const info = el("aside", "info"), query = el("input", "query"), found = el("div", "found");
const note = el("span", "note"), crumbs = el("div", "crumbs");
let stage = 0, rows = new Map(), picked = null, help = null;

function button(text, title, act)
{
	const b = el("button", "", text);
	b.title = title;
	b.onclick = act;
	return b;
}

function frame()
{
	const title = el("h1", "", D.title.slice(D.title.lastIndexOf("/") + 1));
	const top = el("header", "", title, note);
	title.title = D.title;
	query.type = "search";
	query.placeholder = "search: op, region, type, line   ( / )";
	query.setAttribute("aria-label", "search");
	const types = button("types", "types at every operand ( t )", () => toggle("types"));
	const marks = button("changes", "mark what the pass changed ( c )", () => toggle("marks"));
	const theme = button("\u25d0", "light or dark", () => {
		const dark = matchMedia("(prefers-color-scheme: dark)").matches;
		const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
		document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
	});
	top.append(el("div", "box", query, found), types, marks, theme,
	           button("?", "keys ( ? )", showHelp));
	view.tabIndex = -1;
	outline.setAttribute("aria-label", "regions");
	stageBar.setAttribute("role", "tablist");
	document.body.append(top, stageBar, el("div", "columns", outline,
	                     el("div", "middle", crumbs, view), info));
	document.body.classList.add("marks");
}

function toggle(name)
{
	document.body.classList.toggle(name);
	drawArcs();
}

function showHelp()
{
	if (help) {
		help.remove();
		help = null;
		return;
	}
	const dl = el("dl", "");
	for (const [k, t] of [["\u2193 \u2191  or  j k", "next, previous line"],
		["\u2192  or  Enter", "unfold"], ["\u2190", "fold, or go to what it is in"],
		["d  u", "go to definition, next use"],
		["/", "search; Enter for the next that was found"], ["[  ]", "stage before, after"],
		["t  c", "types at operands, changes"], ["Esc", "let go of everything"]])
		dl.append(el("dt", "", k), el("dd", "", t));
	help = el("div", "help", el("h2", "", "Keys"), dl);
	help.onclick = showHelp;
	document.body.append(help);
}

/* ---- stages ---- */

function drawStages()
{
	const total = D.stage.map(s => {
		let n = 0;
		for (const g of reach(s.g))
			n += D.graph[g].node.length;
		return n;
	});
	stageBar.replaceChildren(...D.stage.map((s, i) => {
		const b = el("button", "stage", el("b", "", s.name));
		const c = i ? change(D.stage[i - 1].g, s.g) : null;
		const sum = el("span", "", `${total[i]} nodes`);
		if (c && (c.made || c.gone))
			sum.append(" ", el("ins", "", "+" + c.made), " ", el("del", "", "\u2212" + c.gone));
		b.append(sum);
		if (c && !c.made && !c.gone && D.stage[i - 1].g === s.g)
			b.classList.add("same");
		b.title = s.help + (b.classList.contains("same") ? " (changed nothing)" : "");
		b.setAttribute("role", "tab");
		b.onclick = () => setStage(i);
		return b;
	}));
}

/* What is unfolded stays so where the other stage has the same: by names, not by numbers. */
function setStage(i)
{
	if (i < 0 || i >= D.stage.length)
		return;
	const open = [...rows.values()].filter(r => r.open).map(r => steps(r.path));
	stage = i;
	picked = null;
	[...stageBar.children].forEach((b, k) => b.setAttribute("aria-selected", k === i));
	rows = new Map();
	view.replaceChildren(drawGraph(D.stage[i].g, "", i ? D.stage[i - 1].g : -1, []));
	for (const path of open) {
		const at = retrace(path);
		if (at)
			unfold(at);
	}
	drawOutline();
	showCrumbs("");
	showInfo();
}

/* A path is "node.body/node.body..": which node of a graph, which of its bodies. */
function parse(path)
{
	return path ? path.split("/").map(s => s.split(".").map(Number)) : [];
}

function graphAt(path)
{
	let g = D.stage[stage].g;
	for (const [n, b] of parse(path))
		if (b !== undefined && !isNaN(b))
			g = subs(D.graph[g].node[n])[b][1];
	return g;
}

function steps(path)
{
	let g = D.stage[stage].g;
	return parse(path).map(([n, b]) => {
		const name = nameOf(g, n), list = D.graph[g].node;
		let k = 0;
		for (let i = 0; i < n; i++)
			k += nameOf(g, i) === name;
		if (!isNaN(b))
			g = subs(list[n])[b][1];
		return [name, k, b];
	});
}

function retrace(path)
{
	let g = D.stage[stage].g, out = [];
	for (const [name, k, b] of path) {
		let left = k, at = -1;
		D.graph[g].node.some((n, i) => nameOf(g, i) === name && left-- === 0 && (at = i, true));
		if (at < 0 || (!isNaN(b) && !subs(D.graph[g].node[at])[b]))
			return null;
		out.push(isNaN(b) ? at : at + "." + b);
		if (!isNaN(b))
			g = subs(D.graph[g].node[at])[b][1];
	}
	return out.join("/");
}

/* ---- the graph ---- */

function chip(v, g, as)
{
	const c = el("span", "v " + as, "%" + v), t = W[g.type[v]];
	c.dataset.v = v;
	c.title = `%${v} : ${t}`;
	c.append(el("i", "", t));
	return c;
}

/* Nodes from..to of a graph. base: the graph before the pass, -1 = none. */
function drawRows(box, gi, path, base, from)
{
	const g = look(gi), d = base >= 0 && base !== gi ? diff(base, gi) : null;
	const to = Math.min(g.node.length, from + ROWS);
	const ghosts = i => {
		for (const j of d && d.gone.get(i) || [])
			box.append(ghost(D.graph[base].node[j], base, j));
	};
	if (!from)
		ghosts(-1);
	for (let i = from; i < to; i++) {
		const old = d ? d.pair.get(i) : i;
		box.append(drawNode(gi, i, path, base < 0 ? -1 : old === undefined ? -2 :
		                    d ? base : gi, old));
		ghosts(i);
	}
	if (to < g.node.length) {
		const more = button(`${g.node.length - to} more`, "draw more lines", () => {
			more.remove();
			drawRows(box, gi, path, base, to);
			drawArcs();
		});
		more.classList.add("more");
		box.append(more);
		box.more = more;
	} else {
		box.more = null;
		const end = el("div", "row end", el("span", "op", "return"));
		for (const v of g.out)
			end.append(chip(v, g, "use"));
		box.append(end);
	}
}

/* What the pass took away; its text only. */
function ghost(n, gi, i)
{
	const text = `${nameOf(gi, i)} ${n[IN].map(v => "%" + v).join(" ")}  ${W[n[ATTRS]]}`;
	const t = n[TYPES].map(x => W[x]).join(", ");
	return el("div", "row gone", el("span", "mark", "\u2212"), el("s", "", text),
	          el("span", "type", t));
}

function drawGraph(gi, path, base, heads)
{
	const g = look(gi), box = el("div", "g"), head = el("div", "head", ...heads);
	if (W[g.sym])
		head.append(el("span", "sym", `<${W[g.sym]}>`));
	g.in.forEach((t, v) => head.append(chip(v, g, "def")));
	if (!g.in.length)
		head.append(el("span", "none", "no parameters"));
	box.append(head);
	for (const [what, at] of g.check)
		box.append(el("div", "row check", el("span", "op", "check"), W[what],
		              el("span", "loc", place(at))));
	box.path = path;
	box.gi = gi;
	drawRows(box, gi, path, base, 0);
	return box;
}

/* state: the graph before the pass, -1 = there is none, -2 = the node is new */
function drawNode(gi, i, path, state, old)
{
	const g = look(gi), n = g.node[i], my = (path ? path + "/" : "") + i;
	const line = el("div", "row"), node = el("div", "node", line);
	const r = { path: my, line, node, gi, i, state, old, open: false, bodies: null };
	rows.set(my, r);
	line.tabIndex = -1;
	line.row = r;
	line.append(el("span", "mark", state === -2 ? "+" : ""));
	if (state === -2)
		line.classList.add("new");
	const fold = el("span", "fold", subs(n).length ? "\u25b8" : "");
	line.append(fold);
	n[TYPES].forEach((t, k) => line.append(chip(g.out0[i] + k, g, "def")));
	const l = labels(gi)[i];
	line.append(el("span", "op" + (l ? " hop" : ""), opOf(n)));
	if (l && l.name)
		line.append(el("span", "region " + l.kind, nameOf(gi, i)));
	for (const v of n[IN])
		line.append(chip(v, g, "use"));
	if (W[n[ATTRS]])
		line.append(el("span", "attrs", W[n[ATTRS]]));
	line.append(el("span", "type", n[TYPES].map(t => W[t]).join(", ")));
	const at = el("span", "loc", place(n[LOC]));
	if (n[LOC])
		at.title = (lineOf(n[LOC]) || D.file[D.loc[n[LOC] - 1][0]].name).trim();
	line.append(at);
	if (subs(n).length)
		line.setAttribute("aria-expanded", "false");
	return node;
}

function drawBodies(r)
{
	const n = D.graph[r.gi].node[r.i];
	const was = r.state >= 0 ? subs(D.graph[r.state].node[r.old]) : null;
	r.bodies = el("div", "bodies");
	subs(n).forEach(([field, gi], k) => {
		const heads = [el("b", "", W[field])];
		if (D.graph[gi].name && opOf(n) !== "call")
			heads.push(el("span", "region", D.graph[gi].name));
		if (callers[gi] > 1)
			heads.push(el("span", "shared", "shared"));
		r.bodies.append(drawGraph(gi, r.path + "." + k, was && was[k] ? was[k][1] : -1, heads));
	});
	r.node.append(r.bodies);
}

/* ---- folding ---- */

function setOpen(r, open)
{
	if (!subs(D.graph[r.gi].node[r.i]).length || r.open === open)
		return;
	if (open && !r.bodies)
		drawBodies(r);
	r.open = open;
	r.node.classList.toggle("open", open);
	r.bodies.hidden = !open;
	r.line.setAttribute("aria-expanded", open);
	drawArcs();
}

/* The row of a path, drawn and with all that it is in unfolded. */
function reveal(path)
{
	const list = parse(path);
	let at = "", r = null, box = view.firstChild;
	for (let k = 0; k < list.length; k++) {
		const [n, b] = list[k], my = (at ? at + "/" : "") + n;
		while (!rows.has(my) && box.more)
			box.more.click();
		r = rows.get(my);
		if (!r)
			return null;
		if (k + 1 < list.length) {
			setOpen(r, true);
			box = r.bodies.children[b];
		}
		at = my + (isNaN(b) ? "" : "." + b);
	}
	return r;
}

function unfold(path)
{
	const r = reveal(path);
	if (r)
		setOpen(r, true);
	return r;
}

function go(path, open)
{
	const r = open ? unfold(path) : reveal(path);
	if (!r)
		return;
	r.line.scrollIntoView({ block: open ? "start" : "center" });
	focus(r);
	r.line.classList.remove("flash");
	void r.line.offsetWidth;
	r.line.classList.add("flash");
}

function focus(r)
{
	const last = view.querySelector(".row.at");
	if (last)
		last.classList.remove("at");
	r.line.classList.add("at");
	r.line.focus({ preventScroll: true });
	showCrumbs(r.path);
	showInfo(r);
}

/* What a line is in, from the outside. */
function showCrumbs(path)
{
	const list = parse(path);
	let g = D.stage[stage].g, at = "";
	crumbs.replaceChildren(button("@" + D.name, "the outermost graph", () => {
		view.scrollTop = 0;
		showCrumbs("");
	}));
	list.forEach(([n, b], k) => {
		const my = at += (at ? "/" : "") + n;
		const inner = !isNaN(b), body = inner ? subs(D.graph[g].node[n]) : [];
		const text = nameOf(g, n) + (body.length > 1 ? "." + W[body[b][0]] : "");
		crumbs.append(" \u203a ", k + 1 < list.length ? button(text, "go there", () => go(my, false))
		                                              : el("b", "", text));
		if (inner) {
			g = body[b][1];
			at += "." + b;
		}
	});
}

/* ---- regions, on the left ---- */

function outlineItems(gi, path)
{
	const out = [];
	D.graph[gi].node.forEach((n, i) => {
		if (subs(n).length)
			out.push({ gi, i, path: (path ? path + "/" : "") + i });
	});
	return out;
}

function inside(it)
{
	const n = D.graph[it.gi].node[it.i], out = [];
	subs(n).forEach(([field, g], k) => {
		for (const x of outlineItems(g, it.path + "." + k))
			out.push(subs(n).length > 1 ? { ...x, field: W[field] } : x);
	});
	return out;
}

function drawItem(it)
{
	const l = labels(it.gi)[it.i], n = D.graph[it.gi].node[it.i];
	const li = el("li", ""), b = el("button", l.name ? "named" : "", nameOf(it.gi, it.i));
	const kids = inside(it);
	if (it.field)
		b.prepend(el("small", "", it.field + " "));
	if (l.kind === "reverse")
		b.classList.add("reverse");
	if (!l.name)
		b.append(el("small", "", " " + place(n[LOC])));
	b.title = "go there, and show what is in it";
	li.append(el("span", "fold", kids.length ? "\u25b8" : ""), b);
	let list = null;
	b.onclick = () => {
		if (kids.length && !list) {
			list = el("ul", "", ...kids.map(drawItem));
			li.append(list);
		} else if (list) {
			list.hidden = !list.hidden;
		}
		li.classList.toggle("open", !!list && !list.hidden);
		b.setAttribute("aria-expanded", !!list && !list.hidden);
		go(it.path, true);
	};
	return li;
}

function drawOutline()
{
	const items = outlineItems(D.stage[stage].g, "");
	const most = 500, ul = el("ul", "", ...items.slice(0, most).map(drawItem));
	if (items.length > most)
		ul.append(el("li", "none", `${items.length - most} more: use the search`));
	outline.replaceChildren(el("h2", "", "regions"), items.length ? ul :
	                        el("p", "none", "no node of this graph has bodies"));
}
