/* A flame graph of paths with zoom and search, and the same as a tree. */

/* of(): {names, paths}, of each path the numbers of its names, the outermost first. weight(path): its width. sides(path):
   of a difference its values before and after, which colour it. part(node, root): the words of a node, without its name.
   title(): what is shown; whole(root): the same with its sum. */
function flameGraph({ of, weight, sides, part, title, whole }) {
  const search = make("input", { type: "search", "aria-label": "search for functions", placeholder: "function, file or module", oninput: () => paint() });
  const said = make("p", { class: "told", role: "status" });
  const flame = make("div", { class: sides ? "flame compared" : "flame", role: "group" });
  const flames = make("div", { class: "flames", tabindex: 0, role: "region", "aria-label": "call paths" }, flame);
  const tree = make("details", { ontoggle: () => paintTree() }, make("summary", {}, "As a tree"));
  let root = { children: new Map() };
  let zoomed = [];
  const matches = (name) => search.value !== "" && name.toLowerCase().includes(search.value.toLowerCase());
  const made = (name, spot) => ({ name, spot, weight: 0, before: 0, after: 0, children: new Map() });
  const words = (node) => `${node.name}: ${part(node, root)}`;
  function add(node, path) {
    const [before, after] = sides ? sides(path) : [0, 0];
    node.weight += weight(path);
    node.before += before;
    node.after += after;
  }
  const ordered = (node) => [...node.children.values()].sort((a, b) => b.weight - a.weight);

  /* The tree of all paths: {name, spot, weight, before, after, children}. */
  function rooted() {
    const { names, paths } = of();
    const found = made("all");
    paths.forEach((path, index) => {
      if (!weight(index)) return;
      let node = found;
      add(node, index);
      for (const spot of path) {
        if (!node.children.has(spot)) node.children.set(spot, made(names[spot], spot));
        node = node.children.get(spot);
        add(node, index);
      }
    });
    return found;
  }

  /* Red where it grows, blue where it shrinks, the stronger the more of it. */
  function ink(node) {
    if (!sides) return "";
    const share = (node.after - node.before) / Math.max(1, node.weight);
    if (!share) return "";
    return `background:rgba(var(${share < 0 ? "--less" : "--more"}),${(0.15 + 0.65 * Math.abs(share)).toFixed(3)});`;
  }

  function paint() {
    const spine = [root];
    for (const spot of zoomed) {
      const child = spine.at(-1).children.get(spot);
      if (!child) break;
      spine.push(child);
    }
    zoomed = spine.slice(1).map((node) => node.spot);
    const marks = [];
    let depth = 0;
    function frame(node, left, width, row, trail) {
      if (width < 0.15) return;
      depth = Math.max(depth, row);
      const label = words(node);
      const zoom = () => {
        zoomed = trail;
        paint();
        flame.querySelector(".zoomed").focus();
      };
      const shown = `${row < spine.length ? "above " : ""}${node === spine.at(-1) ? "zoomed " : ""}${matches(node.name) ? "found " : ""}${width < 1.5 ? "thin" : ""}`;
      marks.push(make("button", { type: "button", class: shown, title: label, "aria-label": label, style: `${matches(node.name) ? "" : ink(node)}left:${left}%;width:${width}%;top:${1.35 * row}rem`, onclick: zoom }, width > 3 ? node.name : ""));
      if (row + 1 < spine.length) return frame(spine[row + 1], 0, 100, row + 1, zoomed.slice(0, row + 1));
      let begun = left;
      for (const child of ordered(node)) {
        const wide = (width * child.weight) / Math.max(1, node.weight);
        frame(child, begun, wide, row + 1, [...trail, child.spot]);
        begun += wide;
      }
    }
    frame(root, 0, 100, 0, []);
    flame.replaceChildren(...marks);
    flame.style.height = `${1.35 * (depth + 1)}rem`;
    flame.setAttribute("aria-label", `Flame graph of call paths: ${title()}`);
    const { names, paths } = of();
    const found = made("found");
    if (search.value) paths.forEach((path, index) => path.some((spot) => matches(names[spot])) && add(found, index));
    said.textContent = `${whole(root)}.${search.value ? ` Paths with "${search.value}": ${part(found, root)}.` : ""}`;
    if (tree.open) paintTree();
  }

  function branch(node) {
    const label = words(node);
    if (!node.children.size) return make("p", { class: "leaf" }, label);
    const inner = make("details", { ontoggle: () => inner.open && inner.children.length === 1 && inner.append(...ordered(node).map(branch)) }, make("summary", {}, label));
    return inner;
  }
  function paintTree() {
    tree.replaceChildren(tree.firstElementChild, ...(tree.open ? ordered(root).map(branch) : []));
  }

  return {
    search,
    views: [said, flames, tree],
    /* Draw anew what is weighed; forget(): show all of it. */
    draw() {
      root = rooted();
      paint();
    },
    forget: () => (zoomed = []),
  };
}
