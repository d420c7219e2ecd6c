/* The order of events: unpack the data, make the views, show the first trace at its peak. */
async function main() {
  state.data = await unpack(document.getElementById("data").textContent);
  const part = (name) => document.querySelector(`#${name} > div`);
  document.getElementById("views").hidden = false;
  const moment = make("input", { type: "range", min: 0, step: 1, "aria-label": "moment", oninput: () => setMoment(Number(moment.value)) });
  const when = make("output");
  const traces = make("select", { onchange: () => choose(Number(traces.value)) }, ...state.data.traces.map((trace, index) => make("option", { value: index }, trace.name)));
  document.getElementById("controls").append(
    state.data.traces.length > 1 ? make("label", {}, "trace:", traces) : "",
    make("label", {}, "moment:", moment, when),
  );
  watchers.moment.push(() => {
    moment.value = state.stop;
    when.textContent = momentWords();
  });
  timeline(part("timeline"));
  if (part("resident")) residentView(part("resident"));
  addressMaps(part("map"));
  bytesView(part("bytes"));
  classesView(part("classes"));
  sitesView(part("sites"));
  livesView(part("lives"));
  ratiosView(document.getElementById("ratios"), state.data.measured);
  searchView(part("search"), state.data.search);

  function choose(index) {
    state.trace = state.data.traces[index];
    moment.max = state.trace.stops.length - 1;
    state.stop = nearestStop(state.trace.time.events.findIndex((last) => last >= state.trace.peak));
    changed("trace");
    changed("moment");
  }
  choose(0);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => changed("trace") || changed("moment"));
  document.documentElement.dataset.ready = "yes";
}
main();
