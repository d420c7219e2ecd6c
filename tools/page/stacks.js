/* The page of a table of stacks: a flame graph of one quantity, of a difference in the colours of growth, and a table. */
async function stacksPage() {
  const { names, paths, quantities, usual } = await unpack(document.getElementById("data").textContent);
  const host = document.querySelector("#stacks > div");
  const now = () => quantities[Number(measure.value)];
  const compares = quantities.every((one) => one.before);
  const before = (path) => now().before[path];
  const after = (path) => now().after[path];
  const weight = compares ? (path) => Math.max(before(path), after(path)) : after;
  const said = (value) => (now().unit === "bytes" ? say.bytes(value) : say.count(value));
  const signed = (value) => `${value > 0 ? "+" : ""}${said(value)}`;
  const change = (one) => `${signed(one.after - one.before)}${one.before ? ` (${one.after >= one.before ? "+" : ""}${say.share(one.after - one.before, one.before)})` : ""}`;
  const graph = flameGraph({
    of: () => ({ names, paths }),
    weight,
    sides: compares ? (path) => [before(path), after(path)] : null,
    part: (node, root) => (compares ? `${said(node.before)} before, ${said(node.after)} after, ${change(node)}` : `${said(node.weight)}, ${say.share(node.weight, root.weight)}`),
    title: () => now().about,
    whole: (root) => `${now().about}: ${compares ? `${said(root.before)} before, ${said(root.after)} after, ${change(root)}` : said(root.weight)}`,
  });
  const measure = make("select", { onchange: () => draw() }, ...quantities.map((one, index) => make("option", { value: index, selected: index === usual }, `${one.name}: ${one.about}`)));
  const sites = make("div");

  function drawSites() {
    const rows = new Map();
    paths.forEach((path, index) => {
      if (!weight(index)) return;
      const name = names[path.at(-1)];
      if (!rows.has(name)) rows.set(name, { name, before: 0, after: 0 });
      const row = rows.get(name);
      row.before += compares ? before(index) : 0;
      row.after += after(index);
    });
    const last = { name: compares ? "after" : now().name, value: (row) => row.after, words: (row) => said(row.after) };
    const columns = [{ name: "site", text: true, value: (row) => row.name }, last];
    if (compares) {
      columns.splice(1, 0, { name: "before", value: (row) => row.before, words: (row) => said(row.before) });
      columns.push({ name: "change", value: (row) => Math.abs(row.after - row.before), words: (row) => signed(row.after - row.before) });
    }
    sites.replaceChildren(table(`Sites: ${now().about}`, columns, [...rows.values()], columns.length - 1));
  }
  function draw() {
    graph.draw();
    drawSites();
  }

  const inks = [["rgba(var(--more),.8)", "grew"], ["rgba(var(--less),.8)", "shrank"], ["rgba(var(--free),.35)", "as before"]];
  host.replaceChildren(
    make("p", { class: "controls" }, make("label", {}, "quantity:", measure), make("label", {}, "find:", graph.search)),
    compares ? key(inks) : "",
    compares ? make("p", { class: "note" }, "A frame is as wide as its stacks, each with the larger of its two values. Its colour is the stronger the more of that width came or went.") : "",
    ...graph.views,
    sites,
  );
  draw();
  document.documentElement.dataset.ready = "yes";
}
stacksPage();
