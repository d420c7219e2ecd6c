/* The measured ratios, and the front of the search. */
function ratiosView(host, measured) {
  if (!measured) return;
  const names = Object.keys(measured.rows[0].ratios);
  const every = measured.rows.flatMap((row) => names.flatMap((name) => row.ratios[name].filter((one) => one !== null)));
  const [low, high] = [Math.min(0.9, ...every), Math.max(1.1, ...every)];
  const x = (value) => 170 + ((value - low) / (high - low)) * 400;
  const marks = [make("line", { class: "axis", x1: x(1), x2: x(1), y1: 0, y2: 26 * names.length * measured.rows.length })];
  names.forEach((name, block) =>
    measured.rows.forEach((row, index) => {
      const y = 26 * (block * measured.rows.length + index) + 14;
      const [median, from, to] = row.ratios[name];
      const ink = index ? designColour(index - 1) : colour("--faint");
      const words = `${row.library}, ${name}: ${median.toFixed(2)}${from === null ? "" : ` (${from.toFixed(2)}-${to.toFixed(2)})`}`;
      marks.push(make("text", { x: 160, y: y + 4, "text-anchor": "end" }, `${index ? "" : `${name}  `}${row.library}`));
      if (from !== null) marks.push(make("line", { x1: x(from), x2: x(to), y1: y, y2: y, style: `stroke:${ink};stroke-width:4;opacity:.5` }));
      marks.push(make("circle", { class: "ratio", cx: x(median), cy: y, r: 5, style: `fill:${ink}` }, make("title", {}, words)), make("text", { x: 580, y: y + 4 }, median.toFixed(2)));
    }),
  );
  host.append(make("h3", {}, `Measured: the program under each malloc, to ${measured.reference}; less is better`), make("svg", { viewBox: `0 0 640 ${26 * names.length * measured.rows.length}`, role: "img", "aria-label": `Ratios to ${measured.reference}, medians of ${measured.rounds} rounds and 95 % intervals` }, ...marks));
}

function searchView(host, search) {
  if (!search) {
    host.append(make("p", {}, "No search is part of this report. `heapsmith forge` searches, and its report has the front of all designs that none beats."));
    return;
  }
  const axes = { x: search.objectives[0], y: search.objectives[1] };
  const told = make("p", { class: "told", "aria-live": "polite" }, "Hover or focus a point for its design; click it, or press Enter, to download its TOML.");
  const place = make("div");
  const words = (one) => `${one.hash}${one.chosen ? ", the choice" : ""}: ${search.objectives.map((name) => `${name} ${one.ratios[name].toFixed(3)}`).join(", ")} of the base's; ${one.classes} classes${one.p999_ns ? `; p99.9 ${say.time(one.p999_ns)}` : ""}.`;
  function download(one) {
    const link = make("a", { href: URL.createObjectURL(new Blob([one.toml], { type: "application/toml" })), download: `design-${one.hash}.toml` });
    link.click();
    URL.revokeObjectURL(link.href);
  }
  function draw() {
    const scale = (name, from, length) => {
      const values = search.front.map((one) => one.ratios[name]).concat(1);
      const [least, most] = [Math.min(...values), Math.max(...values)];
      return (value) => from + ((value - least) / Math.max(1e-9, most - least)) * length;
    };
    const [x, y] = [scale(axes.x, 60, 480), scale(axes.y, 290, -270)];
    const marks = [
      make("line", { class: "axis", x1: x(1), x2: x(1), y1: 10, y2: 300 }),
      make("line", { class: "axis", x1: 50, x2: 560, y1: y(1), y2: y(1) }),
      make("text", { x: x(1) + 4, y: y(1) - 4 }, "base"),
      make("text", { x: 300, y: 324, "text-anchor": "middle" }, `${axes.x}, to the base's`),
      make("text", { x: 14, y: 150, transform: "rotate(-90 14 150)", "text-anchor": "middle" }, `${axes.y}, to the base's`),
    ];
    for (const one of search.front) {
      const tell = () => (told.textContent = words(one));
      const point = make("circle", { class: "member", cx: x(one.ratios[axes.x]), cy: y(one.ratios[axes.y]), r: one.chosen ? 8 : 4.5, tabindex: 0, role: "button", "aria-label": words(one), style: `fill:${one.chosen ? colour("--mark") : colour("--c0")};cursor:pointer`, onmouseenter: tell, onfocus: tell, onclick: () => download(one), onkeydown: (event) => event.key === "Enter" && download(one) });
      marks.push(point);
    }
    place.replaceChildren(make("svg", { viewBox: "0 0 580 330", role: "group", "aria-label": `The front: ${search.front.length} designs` }, ...marks));
  }
  const choose = (axis) =>
    make("label", {}, `${axis}:`, make("select", { onchange: (event) => ((axes[axis] = event.target.value), draw()) }, ...search.objectives.map((name) => make("option", { selected: name === axes[axis] }, name))));
  host.append(make("p", { class: "controls" }, choose("x"), choose("y")), place, told);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
  const percent = (value) => `${value > 1 ? "+" : ""}${(100 * (value - 1)).toFixed(1)} %`;
  if (search.worth.length)
    host.append(
      table("What each choice is worth: the chosen design with the base's value in its place", [
        { name: "choice", text: true, value: (row) => row.fields.join(" and ") },
        { name: "chosen", text: true, value: (row) => row.chosen },
        { name: "base", text: true, value: (row) => row.base },
        ...search.objectives.map((name) => ({ name, value: (row) => row.without[name] || 0, words: (row) => (row.without[name] ? percent(row.without[name]) : "-") })),
      ], search.worth, 0, false),
    );
  host.append(table("Why this design", [{ name: "field", text: true, value: (row) => row.field }, { name: "chosen", text: true, value: (row) => row.chosen }, { name: "why", text: true, value: (row) => row.why }], search.reasons, 0, false));
}
