/* use.js -- what is done with the graphs that page.js has drawn: values and where they go, details,
 * search, mouse and keys. Its end starts the page. */

/* ---- values: where they are made and used ---- */

/* Which operand of the node arrives as parameter 0 of its bodies; -1 = it is not so simple. */
function shift(n, g)
{
	const k = { call: 0, while: 0, map: 0, cond: 1, switch: 1 }[opOf(n)];
	return k !== undefined ? k : opOf(n) === "scan" ? n[IN].length - g.in.length : -1;
}

function boxAt(path)
{
	return path ? rows.get(path.slice(0, path.lastIndexOf("."))).bodies
	                  .children[+path.slice(path.lastIndexOf(".") + 1)] : view.firstChild;
}

function paint(box, v, cls)
{
	for (const c of box.querySelectorAll(`.v[data-v="${v}"]`))
		if (c.closest(".g") === box)
			c.classList.add(cls);
}

/* The same value under the names it has in unfolded bodies, and in what is around. */
function follow(path, v, dir)
{
	const box = boxAt(path), g = look(box.gi);
	if (dir <= 0 && path && v < g.in.length) {
		const up = rows.get(path.slice(0, path.lastIndexOf("."))), n = D.graph[up.gi].node[up.i];
		const k = shift(n, g);
		if (k >= 0 && n[IN][v + k] !== undefined) {
			const around = up.path.includes("/") ? up.path.slice(0, up.path.lastIndexOf("/")) : "";
			paint(boxAt(around), n[IN][v + k], "also");
			follow(around, n[IN][v + k], -1);
		}
	}
	for (const i of dir >= 0 ? g.uses[v] : []) {
		const r = rows.get((path ? path + "/" : "") + i), n = g.node[i];
		if (!r || !r.open)
			continue;
		subs(n).forEach(([, b], k) => {
			const s = shift(n, look(b));
			n[IN].forEach((x, j) => {
				if (x === v && s >= 0 && j >= s && j - s < D.graph[b].in.length) {
					paint(r.bodies.children[k], j - s, "also");
					follow(r.path + "." + k, j - s, 1);
				}
			});
		});
	}
}

function pick(path, v)
{
	unpick();
	picked = { path, v };
	drawArcs();
	showInfo();
}

function unpick()
{
	picked = null;
	drawArcs();
}

const SVG = "http://www.w3.org/2000/svg";

/* Lines in the margin from the definition to each use, the type beside the first. */
function drawArcs()
{
	for (const s of view.querySelectorAll("svg.arcs"))
		s.remove();
	for (const c of view.querySelectorAll(".sel, .also"))
		c.classList.remove("sel", "also");
	if (!picked || !view.firstChild)
		return;
	const box = boxAt(picked.path), top = box.getBoundingClientRect().top;
	paint(box, picked.v, "sel");
	follow(picked.path, picked.v, 0);
	const y = e => (e.getBoundingClientRect().top + e.getBoundingClientRect().bottom) / 2 - top;
	const own = [...box.querySelectorAll(".v.sel")].filter(c => c.closest(".g") === box);
	const from = own.find(c => c.classList.contains("def"));
	const to = own.filter(c => c.classList.contains("use") && c.offsetParent);
	if (!from || !to.length)
		return;
	const svg = document.createElementNS(SVG, "svg");
	svg.setAttribute("class", "arcs");
	svg.setAttribute("height", box.offsetHeight);
	const y0 = y(from);
	for (const c of to) {
		const p = document.createElementNS(SVG, "path"), y1 = y(c);
		p.setAttribute("d", `M14 ${y0} C4 ${y0} 4 ${y0} 4 ${(y0 + y1) / 2} S4 ${y1} 14 ${y1}`);
		svg.append(p);
	}
	box.append(svg);
}

/* ---- details, on the right ---- */

function places(at)
{
	const out = [];
	for (let first = true; at; at = D.loc[at - 1][2], first = false) {
		const [f, line] = D.loc[at - 1];
		out.push(el("p", "where", first ? "" : "in ", `${D.file[f].name}:${line}`));
		if (lineOf(at) !== undefined)
			out.push(el("pre", "", lineOf(at).trim()));
	}
	return out;
}

function link(path, v)
{
	const gi = graphAt(path), g = look(gi), i = g.def[v];
	const b = button(`%${v}`, "go to its definition", () => {
		if (i >= 0)
			go((path ? path + "/" : "") + i, false);
		pick(path, v);
	});
	return el("li", "", b, " ", el("code", "", W[g.type[v]]), i < 0 ? " parameter" : "");
}

function valueInfo(path, v)
{
	const gi = graphAt(path), g = look(gi), i = g.def[v], base = path ? path + "/" : "";
	const out = [el("h2", "", `%${v}`), el("p", "", el("code", "big", W[g.type[v]]))];
	if (i < 0)
		out.push(el("p", "", `parameter ${v}`));
	else
		out.push(el("p", "", "made by ", button(nameOf(gi, i), "go there",
		                                        () => go(base + i, false))), ...places(g.node[i][LOC]));
	const ul = el("ul", "");
	for (const u of g.uses[v])
		ul.append(el("li", "", button(nameOf(gi, u), "go there", () => go(base + u, false)), " ",
		             el("small", "", place(g.node[u][LOC]))));
	const ends = g.out.map((x, k) => x === v ? k : -1).filter(k => k >= 0);
	for (const k of ends)
		ul.append(el("li", "", `result ${k} of the graph`));
	const times = g.uses[v].length + ends.length;
	out.push(el("h3", "", times === 1 ? "used once" : `used ${times} times`), ul);
	return out;
}

function nodeInfo(r)
{
	const g = look(r.gi), n = g.node[r.i];
	const around = r.path.includes("/") ? r.path.slice(0, r.path.lastIndexOf("/")) : "";
	const out = [el("h2", "", nameOf(r.gi, r.i)), ...places(n[LOC])];
	const list = (title, vs) => vs.length ? [el("h3", "", title),
		el("ul", "", ...vs.map(v => link(around, v)))] : [];
	out.push(...list("results", n[TYPES].map((t, k) => g.out0[r.i] + k)),
	         ...list("operands", n[IN]));
	if (W[n[ATTRS]])
		out.push(el("h3", "", "attributes"), el("pre", "", W[n[ATTRS]].replace(/, (?=\w+ = )/g, "\n")));
	for (const [field, b] of subs(n)) {
		let k = 0;
		for (const x of reach(b))
			k += D.graph[x].node.length;
		out.push(el("p", "", el("b", "", W[field]), ` ${k} nodes` +
		            (callers[b] > 1 ? `, held by ${callers[b]} nodes of the page` : "")));
	}
	return out;
}

function showInfo(r)
{
	if (picked)
		info.replaceChildren(...valueInfo(picked.path, picked.v));
	else if (r)
		info.replaceChildren(...nodeInfo(r));
	else
		info.replaceChildren(el("h2", "", D.name), el("p", "", D.stage[stage].help),
		                     el("p", "none", "Click a value to see where it is made and used, " +
		                        "a line for its details."));
}

/* ---- search ---- */

let hits = [], hit = -1;

function matcher(text)
{
	const words = text.toLowerCase().split(/\s+/).filter(Boolean);
	const test = words.map(w => {
		const safe = w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
		return new RegExp((/^\d/.test(w) ? "(^|\\D)" : "") + safe);
	});
	return s => test.every(t => t.test(s));
}

/* Regions under all their names first, then nodes of each graph at the first place it is in. */
function search(text)
{
	const ok = matcher(text), out = [], most = 200, first = new Map([[D.stage[stage].g, ""]]);
	const queue = outlineItems(D.stage[stage].g, "").map(x => ({ ...x, over: "" }));
	for (let k = 0; k < queue.length && k < 5000; k++) {
		const it = queue[k], name = it.over + nameOf(it.gi, it.i);
		if (out.length < most / 2 && labels(it.gi)[it.i].name && ok(name.toLowerCase()))
			out.push({ path: it.path, text: name, open: true });
		subs(D.graph[it.gi].node[it.i]).forEach(([, g], b) => {
			if (!first.has(g))
				first.set(g, it.path + "." + b);
		});
		for (const x of inside(it))
			queue.push({ ...x, over: name + " \u203a " });
	}
	for (const [gi, path] of first) {
		const g = look(gi);
		g.node.forEach((n, i) => {
			if (out.length >= most || (labels(gi)[i] && labels(gi)[i].name))
				return;
			const vs = n[TYPES].map((t, k) => "%" + (g.out0[i] + k)).join(" ");
			const hay = `${vs} ${opOf(n)} ${W[n[ATTRS]]} ${n[TYPES].map(t => W[t]).join(" ")} ` +
			            `${place(n[LOC])} ${n[LOC] && lineOf(n[LOC]) || ""}`;
			if (ok(hay.toLowerCase()))
				out.push({ path: (path ? path + "/" : "") + i, open: false,
				           text: `${vs} = ${opOf(n)}  ${place(n[LOC])}` });
		});
	}
	return out;
}

function showHits()
{
	hits = query.value.trim() ? search(query.value) : [];
	hit = -1;
	found.replaceChildren(...hits.slice(0, 40).map((h, k) =>
		button(h.text, "go there", () => toHit(k))));
	if (query.value.trim() && !hits.length)
		found.append(el("p", "none", "nothing found"));
	else if (hits.length > 40)
		found.append(el("p", "none", `${hits.length - 40}${hits.length >= 200 ? " or more" : ""} more`));
	found.hidden = !query.value.trim();
}

function toHit(k)
{
	if (!hits.length)
		return;
	hit = (k + hits.length) % hits.length;
	[...found.children].forEach((b, i) => b.classList.toggle("at", i === hit));
	go(hits[hit].path, hits[hit].open);
}

/* ---- mouse and keys ---- */

view.addEventListener("click", ev => {
	const c = ev.target.closest(".v"), line = ev.target.closest(".row");
	if (c) {
		const at = line && line.row;
		if (at)
			focus(at);
		pick(c.closest(".g").path, +c.dataset.v);
	} else if (line && line.row) {
		unpick();
		focus(line.row);
		setOpen(line.row, !line.row.open);
	}
});

function visible()
{
	return [...view.querySelectorAll(".row")].filter(l => l.row && l.offsetParent);
}

function move(by)
{
	const list = visible(), now = list.indexOf(view.querySelector(".row.at"));
	const next = list[now < 0 ? 0 : Math.max(0, Math.min(list.length - 1, now + by))];
	if (next) {
		unpick();
		focus(next.row);
		next.scrollIntoView({ block: "nearest" });
	}
}

function nextUse(r)
{
	const p = picked || { path: r.path.includes("/") ? r.path.slice(0, r.path.lastIndexOf("/")) : "",
	                      v: look(r.gi).out0[r.i] };
	const g = look(graphAt(p.path)), base = p.path ? p.path + "/" : "";
	const list = g.uses[p.v] || [], k = list.findIndex(u => u > r.i);
	if (!list.length)
		return;
	go(base + list[k < 0 ? 0 : k], false);
	pick(p.path, p.v);
}

function definition(r)
{
	const g = look(r.gi), v = picked ? picked.v : g.node[r.i][IN][0];
	const path = picked ? picked.path : r.path.includes("/") ?
		r.path.slice(0, r.path.lastIndexOf("/")) : "";
	const i = v === undefined ? -1 : look(graphAt(path)).def[v];
	if (i >= 0)
		go((path ? path + "/" : "") + i, false);
	if (v !== undefined)
		pick(path, v);
}

function up(r)
{
	const at = r.path.includes("/") ? r.path.slice(0, r.path.lastIndexOf("/")) : "";
	if (at)
		focus(rows.get(at.slice(0, at.lastIndexOf("."))));
}

const keys = {
	"j": () => move(1), "ArrowDown": () => move(1), "k": () => move(-1), "ArrowUp": () => move(-1),
	"ArrowRight": r => r && setOpen(r, true), "Enter": r => r && setOpen(r, !r.open),
	" ": r => r && setOpen(r, !r.open), "ArrowLeft": r => r && (r.open ? setOpen(r, false) : up(r)),
	"d": r => r && definition(r), "u": r => r && nextUse(r), "/": () => query.focus(),
	"[": () => setStage(stage - 1), "]": () => setStage(stage + 1), "t": () => toggle("types"),
	"c": () => toggle("marks"), "?": showHelp,
	"Escape": () => { if (help) showHelp(); unpick(); showInfo(); },
};

document.addEventListener("keydown", ev => {
	if (ev.ctrlKey || ev.altKey || ev.metaKey)
		return;
	if (ev.target === query) {
		if (ev.key === "Enter")
			toHit(hit + (ev.shiftKey ? -1 : 1));
		if (ev.key === "Escape") {
			query.value = "";
			showHits();
			view.focus();
		}
		return;
	}
	if (ev.target.tagName === "BUTTON" && (ev.key === "Enter" || ev.key === " "))
		return;
	const line = view.querySelector(".row.at");
	if (keys[ev.key]) {
		ev.preventDefault();
		keys[ev.key](line && line.row);
	}
});
query.addEventListener("input", showHits);
document.addEventListener("click", ev => {
	if (!ev.target.closest(".box"))
		found.hidden = true;
});
addEventListener("resize", drawArcs);

frame();
found.hidden = true;
drawStages();
setStage(0);
note.textContent = `@${D.name}`;
document.documentElement.dataset.ready = performance.now().toFixed(1);
