/* The bytes over the trace: what was asked for, and what each design had committed and resident. */
function timeline(host) {
  const LEFT = 64, BOTTOM = 22, TOP = 8;
  const legend = make("div");
  const told = make("p", { class: "told" });
  let dragged = null;
  const chart = canvas(host, 300, "", draw);

  const last = () => state.trace.time.events.length - 1;
  const x = (value, width) => {
    const [low, high] = [state.from ? axisOf(state.from - 1) : 0, axisOf(state.to)];
    return LEFT + ((value - low) / Math.max(1, high - low)) * (width - LEFT - 6);
  };
  function pixelAt(place) {
    let best = state.from;
    for (let pixel = state.from; pixel <= state.to; pixel++)
      if (Math.abs(x(axisOf(pixel), chart.clientWidth) - place) < Math.abs(x(axisOf(best), chart.clientWidth) - place)) best = pixel;
    return best;
  }

  function draw(context, width, height) {
    const { asked } = state.trace.time;
    const designs = state.trace.designs;
    let most = 1;
    for (let pixel = state.from; pixel <= state.to; pixel++)
      for (const band of [asked, ...designs.map((design) => design.committed)]) most = Math.max(most, band.high[pixel]);
    designs.forEach((design) => design.resident && design.resident.slice(state.from, state.to + 1).forEach((value) => (most = Math.max(most, value))));
    const y = (value) => TOP + (1 - value / most) * (height - TOP - BOTTOM);
    context.fillStyle = colour("--faint");
    context.strokeStyle = colour("--rule");
    context.textAlign = "right";
    for (const value of steps(most, 5, true)) {
      context.beginPath();
      context.moveTo(LEFT, y(value));
      context.lineTo(width, y(value));
      context.stroke();
      context.fillText(say.bytes(value), LEFT - 6, y(value) + 4);
    }
    context.textAlign = "center";
    for (let tick = 0; tick <= 4; tick++) {
      const pixel = Math.round(state.from + ((state.to - state.from) * tick) / 4);
      const place = x(axisOf(pixel), width);
      context.textAlign = tick === 4 ? "right" : tick ? "center" : "left";
      context.fillText(axisWords(axisOf(pixel)), place, height - 6);
    }
    band(context, asked, colour("--c0"), width, y, true);
    designs.forEach((design, index) => {
      band(context, design.committed, designColour(index), width, y, false);
      if (design.resident) {
        context.setLineDash([4, 3]);
        line(context, design.resident, designColour(index), width, y);
        context.setLineDash([]);
      }
      mark(context, design.peak, designColour(index), width, height);
    });
    mark(context, state.trace.peak, colour("--c0"), width, height);
    const moment = x(axisOf(pixelOfStop(state.stop)), width);
    if (moment >= LEFT) {
      context.fillStyle = colour("--mark");
      context.fillRect(moment - 1, TOP, 2, height - TOP - BOTTOM);
    }
    if (dragged) {
      context.fillStyle = `rgba(${colour("--live")}, .25)`;
      context.fillRect(Math.min(...dragged), TOP, Math.abs(dragged[1] - dragged[0]), height - TOP - BOTTOM);
    }
  }
  function line(context, values, ink, width, y) {
    context.strokeStyle = ink;
    context.beginPath();
    for (let pixel = state.from; pixel <= state.to; pixel++) context.lineTo(x(axisOf(pixel), width), y(values[pixel]));
    context.stroke();
  }
  /* Least to most of each pixel as an area, the most as a line. */
  function band(context, of, ink, width, y, filled) {
    context.fillStyle = ink;
    context.globalAlpha = 0.25;
    context.beginPath();
    for (let pixel = state.from; pixel <= state.to; pixel++) context.lineTo(x(axisOf(pixel), width), y(of.high[pixel]));
    for (let pixel = state.to; pixel >= state.from; pixel--) context.lineTo(x(axisOf(pixel), width), y(filled ? 0 : of.low[pixel]));
    context.fill();
    context.globalAlpha = 1;
    line(context, of.high, ink, width, y);
  }
  function mark(context, event, ink, width, height) {
    const pixel = state.trace.time.events.findIndex((last) => last >= event);
    const place = x(axisOf(pixel), width);
    if (place < LEFT || place > width) return;
    context.fillStyle = ink;
    context.beginPath();
    context.moveTo(place, TOP);
    context.lineTo(place - 5, TOP - 8);
    context.lineTo(place + 5, TOP - 8);
    context.fill();
  }

  function zoom(from, to) {
    const least = Math.min(4, last());
    state.from = Math.max(0, Math.min(from, last() - least));
    state.to = Math.min(last(), Math.max(to, state.from + least));
    changed("zoom");
  }
  function around(factor) {
    const half = ((state.to - state.from) * factor) / 2;
    const middle = Math.min(Math.max(pixelOfStop(state.stop), state.from), state.to);
    zoom(Math.round(middle - half), Math.round(middle + half));
  }
  chart.addEventListener("pointerdown", (event) => {
    dragged = [event.offsetX, event.offsetX];
    chart.setPointerCapture(event.pointerId);
  });
  chart.addEventListener("pointermove", (event) => {
    if (dragged) [dragged[1]] = [event.offsetX];
    if (dragged) chart.redraw();
  });
  chart.addEventListener("pointerup", (event) => {
    const [begin, end] = dragged || [0, 0];
    dragged = null;
    if (Math.abs(end - begin) > 8) zoom(pixelAt(Math.min(begin, end)), pixelAt(Math.max(begin, end)));
    else setMoment(nearestStop(pixelAt(event.offsetX)));
  });
  chart.addEventListener("keydown", (event) => {
    const does = { ArrowLeft: () => setMoment(state.stop - 1), ArrowRight: () => setMoment(state.stop + 1), "+": () => around(0.5), "-": () => around(2), 0: () => zoom(0, last()) }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
    announce(told.textContent);
  });
  const button = (words, does) => make("button", { type: "button", onclick: does }, words);
  host.prepend(legend);
  host.append(
    told,
    make("p", { class: "controls" }, button("Zoom in", () => around(0.5)), button("Zoom out", () => around(2)), button("Whole trace", () => zoom(0, last())), button("Events / time", () => ((state.byTime = !state.byTime), changed("zoom")))),
    make("p", { class: "note" }, "Each point stands for an equal number of events: the line is the most bytes of these events, the area reaches down to the least. Triangles mark the peaks. Drag to zoom, click to choose a moment; with the keyboard: arrows, +, -, 0."),
  );
  function tell() {
    const pixel = pixelOfStop(state.stop);
    const parts = state.trace.designs.map((design) => `${design.name} ${say.bytes(design.committed.last[pixel])} committed${design.resident ? `, ${say.bytes(design.resident[pixel])} resident` : ""}`);
    told.textContent = `After ${momentWords()}: ${say.bytes(state.trace.time.asked.last[pixel])} asked for; ${parts.join("; ")}.`;
    chart.setAttribute("aria-label", `Bytes over the trace. ${told.textContent}`);
    chart.redraw();
  }
  watchers.trace.push(() => {
    zoom(0, last());
    legend.replaceChildren(key([[colour("--c0"), "asked for"], ...state.trace.designs.map((design, index) => [designColour(index), `${design.name}: committed${design.resident ? " (dashes: resident)" : ""}`])]));
  });
  watchers.moment.push(tell);
  watchers.zoom.push(tell);
}
