/* Call sites: a flame graph of paths with zoom and search, as a tree and a table too, and leaks. */
function sitesView(host) {
  const measure = make("select", { onchange: () => draw() });
  const search = make("input", { type: "search", "aria-label": "search for functions", placeholder: "function, file or module", oninput: () => draw() });
  const said = make("p", { class: "told", role: "status" });
  const flame = make("div", { class: "flame", role: "group" });
  const tree = make("details", { ontoggle: () => drawTree() }, make("summary", {}, "As a tree"));
  const sites = make("div");
  const lost = make("div");
  const views = [make("p", { class: "controls" }, make("label", {}, "bytes:", measure), make("label", {}, "find:", search)), said, make("div", { class: "flames", tabindex: 0, role: "region", "aria-label": "call paths" }, flame), tree, sites, lost];
  let zoomed = [];

  /* What can be measured: its words, and the bytes of each path. */
  function measures() {
    const { paths: of, designs } = state.trace;
    const count = of.paths.length;
    const when = { peak: "at the peak of the live bytes", after: "at the worst moment after it", end: "at the end" };
    return [
      { words: "live at the chosen moment, recorded", bytes: (path) => of.live[state.stop * count + path] },
      { words: "allocated in the whole trace, recorded", bytes: (path) => of.allocated[path] },
      ...designs.flatMap((design, d) => of.moments.map((moment, m) => ({ words: `pinned under ${design.name} ${when[moment]}, predicted`, bytes: (path) => of.pinned[(d * of.moments.length + m) * count + path] }))),
    ];
  }
  const now = () => measures()[Number(measure.value) || 0];
  const matches = (name) => search.value !== "" && name.toLowerCase().includes(search.value.toLowerCase());

  /* The tree of all paths: {name, bytes, children}. */
  function rooted() {
    const { names, paths } = state.trace.paths;
    const { bytes } = now();
    const root = { name: "all", bytes: 0, children: new Map() };
    paths.forEach((path, index) => {
      const own = bytes(index);
      if (!own) return;
      let node = root;
      node.bytes += own;
      for (const spot of path) {
        if (!node.children.has(spot)) node.children.set(spot, { name: names[spot], spot, bytes: 0, children: new Map() });
        node = node.children.get(spot);
        node.bytes += own;
      }
    });
    return root;
  }
  const ordered = (node) => [...node.children.values()].sort((a, b) => b.bytes - a.bytes);

  function draw() {
    if (!state.trace.paths) return;
    const root = rooted();
    const spine = [root];
    for (const spot of zoomed) {
      const child = spine.at(-1).children.get(spot);
      if (!child) break;
      spine.push(child);
    }
    zoomed = spine.slice(1).map((node) => node.spot);
    const marks = [];
    let depth = 0;
    function frame(node, left, width, row, trail) {
      if (width < 0.15) return;
      depth = Math.max(depth, row);
      const words = `${node.name}: ${say.bytes(node.bytes)}, ${say.share(node.bytes, root.bytes)}`;
      const zoom = () => {
        zoomed = trail;
        draw();
        flame.querySelector(".zoomed").focus();
      };
      const shown = `${row < spine.length ? "above " : ""}${node === spine.at(-1) ? "zoomed " : ""}${matches(node.name) ? "found" : ""}`;
      marks.push(make("button", { type: "button", class: shown, title: words, "aria-label": words, style: `left:${left}%;width:${width}%;top:${1.35 * row}rem`, onclick: zoom }, width > 3 ? node.name : ""));
      if (row + 1 < spine.length) return frame(spine[row + 1], 0, 100, row + 1, zoomed.slice(0, row + 1));
      let begun = left;
      for (const child of ordered(node)) {
        const part = (width * child.bytes) / Math.max(1, node.bytes);
        frame(child, begun, part, row + 1, [...trail, child.spot]);
        begun += part;
      }
    }
    frame(root, 0, 100, 0, []);
    flame.replaceChildren(...marks);
    flame.style.height = `${1.35 * (depth + 1)}rem`;
    flame.setAttribute("aria-label", `Flame graph of call paths: bytes ${now().words}`);
    const { names, paths } = state.trace.paths;
    let found = 0;
    paths.forEach((path, index) => (found += path.some((spot) => matches(names[spot])) ? now().bytes(index) : 0));
    const whole = `${say.bytes(root.bytes)} ${now().words}${Number(measure.value) === 0 ? ` (${momentWords()})` : ""}.`;
    said.textContent = search.value ? `${whole} Paths with "${search.value}": ${say.bytes(found)}, ${say.share(found, root.bytes)}.` : whole;
    if (tree.open) drawTree();
    drawSites();
  }

  function branch(node, whole) {
    const words = `${node.name}: ${say.bytes(node.bytes)}, ${say.share(node.bytes, whole)}`;
    if (!node.children.size) return make("p", { class: "leaf" }, words);
    const inner = make("details", { ontoggle: () => inner.open && inner.children.length === 1 && inner.append(...ordered(node).map((child) => branch(child, whole))) }, make("summary", {}, words));
    return inner;
  }
  function drawTree() {
    const root = rooted();
    tree.replaceChildren(tree.firstElementChild, ...(tree.open ? ordered(root).map((child) => branch(child, root.bytes)) : []));
  }

  function drawSites() {
    const { names, paths, live, allocated, requests, pinned, moments } = state.trace.paths;
    const count = paths.length;
    const rows = new Map();
    paths.forEach((path, index) => {
      const name = names[path.at(-1)];
      if (!rows.has(name)) rows.set(name, { name, live: 0, allocated: 0, requests: 0, pinned: state.trace.designs.map(() => 0) });
      const row = rows.get(name);
      row.live += live[state.stop * count + index];
      row.allocated += allocated[index];
      row.requests += requests[index];
      state.trace.designs.forEach((_, d) => (row.pinned[d] += pinned[(d * moments.length + moments.indexOf("after")) * count + index]));
    });
    const columns = [
      { name: "site", text: true, value: (row) => row.name },
      { name: "live at the moment", value: (row) => row.live, words: (row) => say.bytes(row.live) },
      { name: "allocated", value: (row) => row.allocated, words: (row) => say.bytes(row.allocated) },
      { name: "requests", value: (row) => row.requests, words: (row) => say.count(row.requests) },
      ...state.trace.designs.map((design, d) => ({ name: `pinned after the peak, ${design.name}`, value: (row) => row.pinned[d], words: (row) => say.bytes(row.pinned[d]) })),
    ];
    sites.replaceChildren(table(`Sites: live bytes after ${momentWords()}, recorded; pinned bytes, predicted`, columns, [...rows.values()], 1));
  }

  function drawLeaks() {
    const { leaks } = state.trace.paths;
    const meaning = { grows: "grows to the end", once: "came once", start: "of the start" };
    const columns = [
      { name: "site", text: true, value: (row) => row.name },
      { name: "kind", text: true, value: (row) => meaning[row.kind] },
      { name: "blocks", value: (row) => row.blocks, words: (row) => say.count(row.blocks) },
      { name: "bytes", value: (row) => row.bytes, words: (row) => say.bytes(row.bytes) },
      { name: "first event", value: (row) => row.first, words: (row) => say.count(row.first) },
      { name: "last event", value: (row) => row.last, words: (row) => say.count(row.last) },
    ];
    const caption = "Blocks that were never freed, recorded";
    lost.replaceChildren(leaks.length ? table(caption, columns, leaks, 3) : make("p", {}, "Every block was freed."), make("p", { class: "note" }, "A site grows to the end if it left blocks in all parts of the trace. A cache without bound and a leak look alike."));
  }

  watchers.trace.push(() => {
    zoomed = [];
    if (!state.trace.paths) {
      host.replaceChildren(make("p", {}, "This trace has no call stacks. Record it with: heapsmith record --stacks -- CMD"));
      return;
    }
    const { cut, least, reasons } = state.trace.paths;
    const notes = [...(cut ? [`${say.count(cut)} paths end as "smaller paths" where those that go on have less than ${100 * least} % of every figure.`] : []), ...reasons];
    host.replaceChildren(...views, make("p", { class: "note" }, notes.join(" ")));
    measure.replaceChildren(...measures().map((one, index) => make("option", { value: index }, one.words)));
    drawLeaks();
  });
  watchers.moment.push(draw);
}
