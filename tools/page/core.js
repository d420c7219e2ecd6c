/* Data, words, elements, colours, canvases, and the state that the views share. */
const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f8: Float64Array };

/* The object of payload.py, with its arrays. */
async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = await new Response(stream).arrayBuffer();
  const head = Number(new DataView(bytes).getBigUint64(0, true));
  const hydrate = (name, value) => {
    if (value && value.array) {
      const [kind, offset, length] = value.array;
      return new KINDS[kind](bytes, 8 + head + offset, length);
    }
    return value;
  };
  return JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, head)), hydrate);
}

const say = {
  bytes(n) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    for (; Math.abs(n) >= 1024 && unit < 4; unit++) n /= 1024;
    return `${unit && Math.abs(n) < 100 ? n.toFixed(1) : Math.round(n)} ${units[unit]}`;
  },
  count: (n) => Math.round(n).toLocaleString("en"),
  time(ns) {
    for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]]) if (ns >= size) return `${(ns / size).toPrecision(3)} ${unit}`;
    return `${Math.round(ns)} ns`;
  },
  share: (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)} %` : "-"),
  /* A bucket of powers of two: 2^(k-1) .. 2^k - 1. */
  bucket: (k) => (k < 2 ? `${k}` : `${2 ** (k - 1)}`),
};

/* An element: attributes, listeners (on...), children. */
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "circle", "line", "path", "text", "title"].includes(tag);
  const found = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) found.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) found.setAttribute(name, value === true ? "" : value);
  }
  found.append(...children.filter((child) => child !== null && child !== undefined));
  return found;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const designColour = (index) => colour(`--c${1 + (index % 5)}`);

const state = { data: null, trace: null, stop: 0, from: 0, to: 0, byTime: false };
const watchers = { trace: [], moment: [], zoom: [] };
function changed(what) {
  watchers[what].forEach((redraw) => redraw());
}
function announce(text) {
  document.getElementById("said").textContent = text;
}

/* The place of a pixel on the axis that is shown, and its words. */
const axisOf = (pixel) => (state.byTime ? state.trace.time.time_ns : state.trace.time.events)[pixel];
const axisWords = (value) => (state.byTime ? say.time(value) : say.count(value));
const pixelOfStop = (stop) => state.trace.stops[stop];
function momentWords() {
  const { events, time_ns } = state.trace.time;
  const pixel = pixelOfStop(state.stop);
  return `event ${say.count(events[pixel])}, ${say.time(time_ns[pixel])}`;
}
function setMoment(stop) {
  state.stop = Math.max(0, Math.min(state.trace.stops.length - 1, stop));
  changed("moment");
}
function nearestStop(pixel) {
  let best = 0;
  state.trace.stops.forEach((of, stop) => {
    if (Math.abs(of - pixel) < Math.abs(state.trace.stops[best] - pixel)) best = stop;
  });
  return best;
}

/* A canvas of this height that calls draw(context, width, height) when it must be drawn anew. */
function canvas(host, height, label, draw) {
  const found = make("canvas", { role: "img", tabindex: 0, "aria-label": label, style: `height:${height}px` });
  host.append(found);
  const redraw = () => {
    const width = found.clientWidth;
    if (!width) return;
    const scale = window.devicePixelRatio || 1;
    found.width = Math.round(width * scale);
    found.height = Math.round(height * scale);
    const context = found.getContext("2d");
    context.scale(scale, scale);
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    draw(context, width, height);
  };
  new ResizeObserver(redraw).observe(found);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  found.redraw = redraw;
  return found;
}

/* A key of colours. */
function key(entries) {
  return make("p", {}, ...entries.map(([ink, words]) => make("span", { class: "key" }, make("i", { style: `background:${ink}` }), words)));
}

/* Round steps for an axis from 0 to `most`: 1, 2 or 5 times a power of the base. */
function steps(most, count, binary) {
  const unit = binary ? 1024 ** Math.floor(Math.log(Math.max(1, most)) / Math.log(1024)) : 1;
  const raw = most / unit / count;
  const power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map((times) => times * power).find((one) => one >= raw) * unit;
  const found = [];
  for (let value = 0; value <= most * 1.0001; value += step) found.push(value);
  return found;
}

/* A table whose columns sort: [{name, text, value(row), words(row)}]. */
function table(caption, columns, rows, sorted = 0, falling = true) {
  const body = make("tbody");
  const heads = columns.map((column, index) =>
    make(
      "th",
      { class: column.text ? "text" : null, scope: "col" },
      make("button", { type: "button", onclick: () => sort(index, index === sorted ? !falling : !column.text) }, column.name),
    ),
  );
  function sort(index, down) {
    [sorted, falling] = [index, down];
    const value = columns[index].value;
    const order = [...rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
    heads.forEach((head, at) => head.setAttribute("aria-sort", at !== index ? "none" : down ? "descending" : "ascending"));
    body.replaceChildren(
      ...order.map((row) =>
        make("tr", {}, ...columns.map((column) => make("td", { class: column.text ? "text" : null }, (column.words || column.value)(row)))),
      ),
    );
  }
  sort(sorted, falling);
  const whole = make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...heads)), body);
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, whole);
}
