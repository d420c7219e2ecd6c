/* Sizes against lifetimes, threads that free for others, and misses by cache size. */
function livesView(host) {
  const place = make("div", { class: "pair" });
  host.append(place);
  const shade = (part) => `rgba(${colour("--live")}, ${part > 0 ? 0.12 + 0.88 * part : 0})`;

  function heat(title, note, columns, rows, value, column, row, words) {
    let most = 0;
    for (const x of columns) for (const y of rows) most = Math.max(most, value(x, y));
    const [width, height] = [380 / columns.length, Math.min(26, 380 / rows.length)];
    const marks = [];
    rows.forEach((y, j) => {
      if (j % Math.ceil(rows.length / 20) === 0) marks.push(make("text", { x: 86, y: height * (j + 0.5) + 4, "text-anchor": "end" }, row(y)));
      columns.forEach((x, i) => {
        const count = value(x, y);
        if (count) marks.push(make("rect", { class: "cell", x: 92 + width * i, y: height * j, width: Math.max(1, width - 1), height: Math.max(1, height - 1), style: `fill:${shade(Math.log1p(count) / Math.log1p(most))}` }, make("title", {}, words(x, y, count))));
      });
    });
    columns.forEach((x, i) => {
      if (i % Math.ceil(columns.length / 7) === 0) marks.push(make("text", { x: 92 + width * (i + 0.5), y: height * rows.length + 16, "text-anchor": "middle" }, column(x)));
    });
    const label = `${title}. ${note}`;
    return make("div", {}, make("h3", {}, title), make("svg", { viewBox: `0 0 480 ${height * rows.length + 24}`, role: "img", "aria-label": label }, ...marks), make("p", { class: "note" }, note));
  }
  function lifetimes() {
    const { lifetimes: of, buckets, never } = state.trace;
    const used = { sizes: [], lives: [] };
    for (let k = 0; k < buckets; k++) {
      let [bySize, byLife] = [never[k] || 0, 0];
      for (let l = 0; l < buckets; l++) [bySize, byLife] = [bySize + of[k * buckets + l], byLife + of[l * buckets + k]];
      if (bySize) used.sizes.push(k);
      if (byLife) used.lives.push(k);
    }
    const value = (life, size) => (life < 0 ? never[size] || 0 : of[size * buckets + life]);
    const lives = [...used.lives, -1];
    const life = (k) => (k < 0 ? "never" : say.bucket(k));
    return heat(
      "Sizes (down) and lifetimes (right)",
      "Lifetimes are events between birth and free, sizes bytes, both from powers of two on; log scale; never: live at the end.",
      lives,
      used.sizes,
      value,
      life,
      (k) => say.bytes(Number(say.bucket(k))),
      (x, y, count) => `${say.count(count)} blocks of ${say.bucket(y)} bytes and more, ${x < 0 ? "never freed" : `freed after ${say.bucket(x)} events and more`}`,
    );
  }
  function threads() {
    const { threads: count, all_threads: all, passed } = state.trace;
    if (count < 2) return null;
    const every = [...Array(count).keys()];
    const name = (t) => (t === count - 1 && all > count ? `${t}+` : `${t}`);
    return heat("Threads: who allocates (down), who frees (right)", `Blocks by the threads of birth and free, of ${all} threads.`, every, every, (x, y) => passed[y * count + x], name, name, (x, y, blocks) => `thread ${name(y)} allocated, thread ${name(x)} freed: ${say.count(blocks)} blocks`);
  }
  function misses() {
    const { reuse } = state.trace;
    if (!reuse) return null;
    const [width, height] = [380, 220];
    const x = (index) => 50 + (index / (reuse.cache_bytes.length - 1)) * width;
    const most = Math.max(1e-9, ...reuse.rows.flatMap((row) => row.miss_ratios));
    const y = (ratio) => 8 + (1 - ratio / most) * height;
    const marks = steps(most, 4, false).map((value) => make("g", {}, make("line", { class: "axis", x1: 50, x2: 50 + width, y1: y(value), y2: y(value) }), make("text", { x: 44, y: y(value) + 4, "text-anchor": "end" }, `${(100 * value).toFixed(most < 0.05 ? 1 : 0)} %`)));
    reuse.rows.forEach((row, index) => marks.push(make("path", { class: "curve", fill: "none", "stroke-width": 2, style: `stroke:${designColour(index)}`, d: row.miss_ratios.map((ratio, at) => `${at ? "L" : "M"}${x(at)},${y(ratio)}`).join("") }, make("title", {}, row.design))));
    reuse.cache_bytes.forEach((bytes, index) => index % 4 === 0 && marks.push(make("text", { x: x(index), y: height + 26, "text-anchor": "middle" }, say.bytes(bytes))));
    return make("div", {}, make("h3", {}, "Misses by cache size, predicted"), key(reuse.rows.map((row, index) => [designColour(index), row.design])), make("svg", { viewBox: "0 0 450 252", role: "img", "aria-label": "Miss ratio of caches from 4 KiB to 1 GiB" }, ...marks), make("p", { class: "note" }, "Of a fully associative cache that all threads share: touches of heap and program."));
  }
  watchers.trace.push(() => place.replaceChildren(...[lifetimes(), threads(), misses()].filter((view) => view)));
}
