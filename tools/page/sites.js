/* Call sites: a flame graph of paths, a table of sites, leaks, and blocks that were freed soon. */
function sitesView(host) {
  const measure = make("select", { onchange: () => draw() });
  const graph = flameGraph({
    of: () => state.trace.paths,
    weight: (path) => now().bytes(path),
    part: (node, root) => `${say.bytes(node.weight)}, ${say.share(node.weight, root.weight)}`,
    title: () => `bytes ${now().words}`,
    whole: (root) => `${say.bytes(root.weight)} ${now().words}${Number(measure.value) === 0 ? ` (${momentWords()})` : ""}`,
  });
  const sites = make("div");
  const lost = make("div");
  const soon = make("div");
  const views = [make("p", { class: "controls" }, make("label", {}, "bytes:", measure), make("label", {}, "find:", graph.search)), ...graph.views, sites, lost, soon];

  /* What can be measured: its words, and the bytes of each path. */
  function measures() {
    const { paths: of, designs } = state.trace;
    const count = of.paths.length;
    const when = { peak: "at the peak of the live bytes", after: "at the worst moment after it", end: "at the end" };
    return [
      { words: "live at the chosen moment, recorded", bytes: (path) => of.live[state.stop * count + path] },
      { words: "asked for in the whole trace, recorded", bytes: (path) => of.allocated[path] },
      ...designs.flatMap((design, d) => of.moments.map((moment, m) => ({ words: `pinned under ${design.name} ${when[moment]}, predicted`, bytes: (path) => of.pinned[(d * of.moments.length + m) * count + path] }))),
    ];
  }
  let kinds = [];
  const now = () => kinds[Number(measure.value) || 0];

  function draw() {
    if (!state.trace.paths) return;
    graph.draw();
    drawSites();
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
      { name: "asked for", value: (row) => row.allocated, words: (row) => say.bytes(row.allocated) },
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

  /* Temporary blocks, and those that were freed in the call that asked for them. */
  function drawSoon() {
    const { temporary, scoped } = state.trace.paths;
    const site = { name: "site", text: true, value: (row) => row.name };
    const blocks = { name: "blocks", value: (row) => row.blocks, words: (row) => say.count(row.blocks) };
    const share = { name: "of requests", value: (row) => row.blocks / row.requests, words: (row) => say.share(row.blocks, row.requests) };
    const sizes = (row) => (row.least_bytes === row.most_bytes ? say.count(row.most_bytes) : `${say.count(row.least_bytes)} to ${say.count(row.most_bytes)}, median ${say.count(row.median_bytes)}`);
    const columns = [
      site,
      blocks,
      share,
      { name: "by itself", value: (row) => row.directly, words: (row) => say.count(row.directly) },
      { name: "uncertain", value: (row) => row.uncertain, words: (row) => say.count(row.uncertain) },
      { name: "bytes", value: (row) => row.most_bytes, words: sizes },
      { name: "instead", text: true, value: (row) => (row.instead === "none" ? "-" : row.instead) },
      { name: "mean life", value: (row) => row.life_ns, words: (row) => say.time(row.life_ns) },
    ];
    soon.replaceChildren(
      temporary.length ? table("Temporary blocks, recorded: the next event of a block ended them", [site, blocks, share], temporary, 1) : make("p", {}, "No block was temporary: none was ended by the next event of a block."),
      ...(scoped === null
        ? [make("p", { class: "note" }, "Which blocks were freed in the call that asked for them, a trace tells that was recorded with --frees.")]
        : scoped.length
          ? [table("Freed in the call that asked for them, recorded: candidates for the stack or a buffer, if no later call uses them", columns, scoped, 1)]
          : [make("p", {}, "No block was freed in the call of the function that asked for it.")]),
    );
  }

  watchers.trace.push(() => {
    graph.forget();
    if (!state.trace.paths) {
      host.replaceChildren(make("p", {}, "This trace has no call stacks. Record it with: heapsmith record --stacks -- CMD"));
      return;
    }
    const { cut, least, reasons } = state.trace.paths;
    const notes = [...(cut ? [`${say.count(cut)} paths end as "smaller paths" where those that go on have less than ${100 * least} % of every figure.`] : []), ...reasons];
    host.replaceChildren(...views, make("p", { class: "note" }, notes.join(" ")));
    kinds = measures();
    measure.replaceChildren(...kinds.map((one, index) => make("option", { value: index }, one.words)));
    drawLeaks();
    drawSoon();
  });
  watchers.moment.push(draw);
}
