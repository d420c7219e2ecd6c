/* At the chosen moment: what the bytes are for, and the size classes. */
function bytesView(host) {
  const place = make("div", { class: "pair" });
  host.append(place);
  const shares = (design) => {
    const size = design.items.length;
    return design.items.map((item, index) => [item, design.ledgers[state.stop * size + index]]).filter(([, bytes]) => bytes > 0);
  };
  watchers.moment.push(() => {
    const sums = state.trace.designs.map((design) => shares(design).reduce((sum, [, bytes]) => sum + bytes, 0));
    const most = Math.max(1, ...sums);
    place.replaceChildren(
      ...state.trace.designs.map((design, index) => {
        const rows = shares(design);
        const height = 24 * (rows.length + 1);
        let begun = 0;
        const bars = rows.flatMap(([item, bytes], row) => {
          const [x, width] = [130 + (330 * begun) / most, (330 * bytes) / most];
          begun += bytes;
          const words = `${say.bytes(bytes)}, ${say.share(bytes, sums[index])}`;
          const inside = x + width > 330 && width > 130;
          const before = x + width > 330 && !inside;
          return [
            make("rect", { class: "bar", x, y: 24 * row + 5, width: Math.max(1, width), height: 14, style: `fill:${item === "asked" ? colour("--c0") : designColour(index)}` }, make("title", {}, `${item}: ${words}`)),
            make("text", { x: 122, y: 24 * row + 16, "text-anchor": "end" }, item),
            make("text", { x: before ? x - 5 : x + width + (inside ? -5 : 5), y: 24 * row + 16, "text-anchor": inside || before ? "end" : "start", style: inside ? "fill:var(--card)" : null }, words),
          ];
        });
        bars.push(make("text", { x: 122, y: height - 8, "text-anchor": "end" }, "committed"), make("text", { x: 130, y: height - 8 }, say.bytes(sums[index])));
        const label = `${design.name} after ${momentWords()}: ${rows.map(([item, bytes]) => `${item} ${say.bytes(bytes)}`).join(", ")}`;
        return make("div", {}, make("h3", {}, `${design.name}, after ${momentWords()}`), make("svg", { viewBox: `0 0 470 ${height}`, role: "img", "aria-label": label }, ...bars));
      }),
    );
  });
}

function classesView(host) {
  const place = make("div");
  host.append(place, make("p", { class: "note" }, "Blocks and bytes are those at the chosen moment; hits and misses of fronts are those of the whole trace. Waste: bytes of live blocks beyond the request."));
  const columns = [
    { name: "block", value: (row) => row.size, words: (row) => say.bytes(row.size) },
    { name: "live", value: (row) => row.live, words: (row) => say.count(row.live) },
    { name: "asked", value: (row) => row.asked, words: (row) => say.bytes(row.asked) },
    { name: "waste", value: (row) => row.waste, words: (row) => `${say.bytes(row.waste)}, ${say.share(row.waste, row.live * row.size)}` },
    { name: "idle", value: (row) => row.idle, words: (row) => say.bytes(row.idle) },
    { name: "hits", value: (row) => row.hits, words: (row) => say.count(row.hits) },
    { name: "misses", value: (row) => row.misses, words: (row) => `${say.count(row.misses)}, ${say.share(row.misses, row.hits + row.misses)}` },
    { name: "slabs at the end", value: (row) => row.slabs, words: (row) => say.count(row.slabs) },
  ];
  watchers.moment.push(() => {
    place.replaceChildren(
      ...state.trace.designs.map((design) => {
        const of = design.classes;
        const rows = of.sizes.map((size, cls) => {
          const at = state.stop * of.sizes.length + cls;
          return { size, live: of.live[at], asked: of.asked[at], waste: of.live[at] * size - of.asked[at], idle: of.idle[at] * size, hits: of.hits[cls], misses: of.misses[cls], slabs: of.slabs[cls] };
        });
        return table(`${design.name}, after ${momentWords()}`, columns, rows, 2);
      }),
    );
  });
}
