/* The address map: what each part of a heap's address space held over the trace; the blocks that pin it. */
function addressMaps(host) {
  const HEIGHT = 380;
  const cursor = { design: 0, row: 0 };
  const told = make("p", { class: "told", "aria-live": "polite" });
  const grid = make("div", { class: "pair" });
  let maps = [];
  host.append(
    key([["rgb(var(--live))", "blocks of the program"], ["rgb(var(--idle))", "idle in fronts and transfer cache"], ["rgb(var(--free))", "committed and free"], ["rgb(var(--gone))", "not committed"]]),
    grid,
    told,
    make("p", { class: "note" }, "From left to right: the trace. From top to bottom: the slab span by address, then the run span (below the line). Blocks with a mapping of their own are left out: they pin nothing. Click a place, or move with the arrow keys, to see whose blocks pin it."),
  );

  const stops = () => state.trace.stops.length;
  function paint(design, context, width, height) {
    const { map } = design;
    const [live, idle, free, gone] = ["--live", "--idle", "--free", "--gone"].map((name) => colour(name).split(",").map(Number));
    const image = new ImageData(stops(), map.columns);
    for (let stop = 0; stop < stops(); stop++)
      for (let row = 0; row < map.columns; row++) {
        const at = stop * map.columns + row;
        const [a, b] = [map.live[at] / 255, map.idle[at] / 255];
        const c = Math.max(0, map.committed[at] / 255 - a - b);
        const d = Math.max(0, 1 - a - b - c);
        for (let part = 0; part < 3; part++) image.data[4 * (row * stops() + stop) + part] = a * live[part] + b * idle[part] + c * free[part] + d * gone[part];
        image.data[4 * (row * stops() + stop) + 3] = 255;
      }
    const plain = new OffscreenCanvas(stops(), map.columns);
    plain.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(plain, 0, 0, width, height);
  }
  function draw(index, context, width, height) {
    const design = state.trace.designs[index];
    if (!design) return;
    paint(design, context, width, height);
    const { map } = design;
    const step = [width / stops(), height / map.columns];
    context.fillStyle = colour("--ink");
    const runs = Math.round(map.slab_bytes / map.column_bytes);
    if (runs < map.columns) context.fillRect(0, runs * step[1], width, 1);
    context.strokeStyle = colour("--mark");
    context.lineWidth = 2;
    context.strokeRect(state.stop * step[0], 0, Math.max(2, step[0]), height);
    if (index === cursor.design) context.strokeRect(state.stop * step[0] - 2, cursor.row * step[1] - 2, Math.max(2, step[0]) + 4, Math.max(2, step[1]) + 4);
  }
  function words() {
    const design = state.trace.designs[cursor.design];
    const { map } = design;
    const at = state.stop * map.columns + cursor.row;
    const begin = cursor.row * map.column_bytes;
    const isRun = begin >= map.slab_bytes;
    const offset = isRun ? begin - map.slab_bytes : begin;
    const part = (name) => say.bytes((map[name][at] / 255) * map.column_bytes);
    const place = `${design.name}, ${isRun ? "run" : "slab"} span from ${say.bytes(offset)} (${say.bytes(map.column_bytes)}), after ${momentWords()}`;
    if (!map.committed[at]) return `${place}: not committed.`;
    const what = `${place}: about ${part("live")} in blocks of the program, ${part("idle")} idle, ${part("committed")} committed.`;
    if (!map.blocks[at]) return map.live[at] ? `${what} No block begins here: one from before reaches in.` : `${what} No block pins it.`;
    const born = map.born[at];
    const now = state.trace.time.events[pixelOfStop(state.stop)];
    const by = map.site ? ` by ${state.trace.sites[map.site[at]]}` : "";
    return `${what} ${say.count(map.blocks[at])} block${map.blocks[at] === 1 ? "" : "s"} begin${map.blocks[at] === 1 ? "s" : ""} here. The oldest: block ${map.block[at]}, ${say.bytes(map.size[at])}, born at event ${say.count(born)}${by}, ${say.count(now - born)} events ago.`;
  }
  function show() {
    told.textContent = words();
    maps.forEach((one) => one.redraw());
    maps[cursor.design].setAttribute("aria-label", `Address map. ${told.textContent}`);
  }
  function move(index, stop, row) {
    cursor.design = index;
    cursor.row = Math.max(0, Math.min(state.trace.designs[index].map.columns - 1, row));
    setMoment(stop);
  }
  watchers.trace.push(() => {
    Object.assign(cursor, { design: 0, row: 0 });
    grid.replaceChildren();
    maps = state.trace.designs.map((design, index) => {
      const { map } = design;
      const cell = make("div", {}, make("h3", {}, `${design.name}: ${say.bytes(map.columns * map.column_bytes)} of addresses, ${say.bytes(map.column_bytes)} a row`));
      grid.append(cell);
      const found = canvas(cell, HEIGHT, `Address map of ${design.name}`, (...drawing) => draw(index, ...drawing));
      found.addEventListener("click", (event) => move(index, Math.floor((event.offsetX / found.clientWidth) * stops()), Math.floor((event.offsetY / HEIGHT) * map.columns)));
      found.addEventListener("keydown", (event) => {
        const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], PageUp: [0, -20], PageDown: [0, 20] }[event.key];
        if (!by) return;
        event.preventDefault();
        move(index, state.stop + by[0], cursor.row + by[1]);
      });
      return found;
    });
  });
  watchers.moment.push(show);
}
