/* What was resident by kind, over time: stacked areas, and the bytes at the chosen look. */
function residentView(host) {
  const LEFT = 64, BOTTOM = 22, TOP = 8;
  const INKS = ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--idle", "--free"];
  const legend = make("div");
  const told = make("p", { class: "told" });
  let at = 0;
  const chart = canvas(host, 240, "", draw);
  host.prepend(legend);
  host.append(told, make("p", { class: "note" }, "Each column is one look at the process, the line the bytes asked for in live blocks. Click to choose a look; with the keyboard: arrows."));

  const kinds = () => state.trace.kinds;
  const ink = (index) => (index < 6 ? colour(INKS[index]) : `rgb(${colour(INKS[index])})`);
  const last = () => kinds().time_ns.length - 1;
  const x = (look, width) => {
    const times = kinds().time_ns;
    return LEFT + ((times[look] - times[0]) / Math.max(1, times[last()] - times[0])) * (width - LEFT - 6);
  };
  const sum = (look, rows) => rows.reduce((bytes, row) => bytes + row.bytes[look], 0);

  function draw(context, width, height) {
    if (!kinds()) return;
    const rows = kinds().rows;
    let most = 1;
    for (let look = 0; look <= last(); look++) most = Math.max(most, sum(look, rows), kinds().live[look]);
    const y = (value) => TOP + (1 - value / most) * (height - TOP - BOTTOM);
    context.fillStyle = colour("--faint");
    context.textAlign = "right";
    for (const value of steps(most, 4, true)) context.fillText(say.bytes(value), LEFT - 6, y(value) + 4);
    context.textAlign = "left";
    context.fillText(time(0), LEFT, height - 6);
    context.textAlign = "right";
    context.fillText(time(last()), width, height - 6);
    rows.forEach((row, index) => {
      context.fillStyle = ink(index);
      context.beginPath();
      edge(context, rows.slice(0, index + 1), width, y, false);
      edge(context, rows.slice(0, index), width, y, true);
      context.fill();
    });
    context.strokeStyle = colour("--ink");
    context.beginPath();
    edge(context, [{ bytes: kinds().live }], width, y, false);
    context.stroke();
    context.fillStyle = colour("--mark");
    context.fillRect(x(at, width) - 1, TOP, 2, height - TOP - BOTTOM);
  }
  /* The upper edge of some kinds: of each look from its time on, until the next one. */
  function edge(context, rows, width, y, back) {
    const points = [];
    for (let look = 0; look <= last(); look++) points.push([x(look, width), y(sum(look, rows))], [look < last() ? x(look + 1, width) : width - 4, y(sum(look, rows))]);
    for (const point of back ? points.reverse() : points) context.lineTo(...point);
  }
  function time(look) {
    const ns = kinds().time_ns[look];
    return ns < 0 ? `-${say.time(-ns)}` : say.time(ns);
  }
  function choose(look) {
    at = Math.max(0, Math.min(last(), look));
    const rows = kinds().rows.filter((row) => row.bytes[at] > 0).map((row) => `${row.name} ${say.bytes(row.bytes[at])}`);
    told.textContent = `At ${time(at)}: ${say.bytes(sum(at, kinds().rows))} resident: ${rows.join(", ")}; live blocks ${say.bytes(kinds().live[at])}.`;
    chart.setAttribute("aria-label", `Resident bytes by kind over time. ${told.textContent}`);
    chart.redraw();
  }
  chart.addEventListener("click", (event) => {
    if (!kinds()) return;
    let best = 0;
    for (let look = 0; look <= last(); look++)
      if (Math.abs(x(look, chart.clientWidth) - event.offsetX) < Math.abs(x(best, chart.clientWidth) - event.offsetX)) best = look;
    choose(best);
  });
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !kinds()) return;
    event.preventDefault();
    choose(at + step);
    announce(told.textContent);
  });
  watchers.trace.push(() => {
    const found = kinds();
    legend.hidden = chart.hidden = !found;
    if (!found) {
      told.textContent = `Nobody looked at the memory of ${state.trace.name}.`;
      return;
    }
    legend.replaceChildren(key([...found.rows.map((row, index) => [ink(index), row.name]), [colour("--ink"), "live blocks"]]));
    choose(found.most);
  });
}
