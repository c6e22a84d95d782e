// A prompt as a grid of layers by positions, and beside it the neurons of the chosen cell: hovering links the two, and a
// click shows at once what came with the grid. Texts are set as text, never as HTML.
const make = (kind, text, name) => {
  const node = document.createElement(kind);
  if (text !== undefined && text !== null) node.textContent = text;
  if (name) node.className = name;
  return node;
};

// A sentence; tokens in it are quoted, and drawn as those of the list are.
const prose = (kind, text, name) => {
  const node = make(kind, undefined, name);
  text.split(/“(.+?)”(?!”)/s).forEach((part, n) => node.append(n % 2 ? make("span", part, "token") : part));
  return node;
};

const press = (text, name, onclick) => Object.assign(make("button", text, name), { type: "button", onclick });

const link = (text, href, name = "") => {
  const node = make("a", text, `nt-link ${name}`.trim());
  node.href = href;
  node.target = "_self";
  return node;
};

const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)}%`;
const signed = (number, digits) => `${number < 0 ? "-" : "+"}${Math.abs(number).toFixed(digits)}`;

const GAP = 2, PANE = 480, WORD = 33, LEAST = 9, HOVERED = 5; // pixels; pixels; pixels; pixels; neurons of a cell
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

const placeOf = (data, i, j) =>
  `layer ${data.rows[i].number}, position ${data.columns[j].position}, after ${data.columns[j].token}`;

// Neurons of a cell: [neuron, share, activation, what it adds]; what each writes depends on the activation's sign.
const neuronsOf = (data, i, j) =>
  (data.rows[i].cells[j].neurons ?? []).map(([neuron, share, coefficient, added]) => {
    const written = data.writes?.[data.rows[i].number]?.[coefficient < 0 ? `-${neuron}` : neuron] ?? [];
    return {
      neuron, share, coefficient, added, frequency: null, kind: null,
      place: `L${data.rows[i].number}N${neuron}`,
      writes: coefficient ? written.map((token) => ({ token })) : [],
    };
  });

function tipOf(data, i, j) {
  const cell = data.rows[i].cells[j];
  const lines = [make("div", placeOf(data, i, j), "place")];
  for (const [token, share] of cell.tokens) {
    const row = make("div", undefined, "row");
    const bar = make("i");
    bar.style.width = `${Math.max(1, 60 * share)}px`;
    row.append(make("b", token), bar, make("span", percent(share)));
    lines.push(row);
  }
  for (const note of cell.notes) lines.push(make("div", note, "note"));
  const neurons = neuronsOf(data, i, j);
  if (neurons.length) {
    const table = make("div", undefined, "strongest");
    for (const one of neurons) {
      const tokens = one.writes.slice(0, 3).map(({ token }) => token).join(" ");
      const share = one.share === null ? "-" : percent(one.share);
      table.append(make("span", one.place), make("span", share, "number"), make("b", tokens));
    }
    lines.push(make("div", "strongest neurons, share, what they promote", "place"), table);
  }
  return lines;
}

function put(tip, x, y) {
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, window.innerWidth - width - 8))}px`;
  tip.style.top = `${Math.max(4, y + 18 + height > window.innerHeight ? y - height - 12 : y + 18)}px`;
}

function buttonOf(data, i, j) {
  const cell = data.rows[i].cells[j];
  const button = press("", "cell");
  button.append(make("span", cell.shown));
  const opaque = Math.round(100 * cell.probability);
  button.style.background = `color-mix(in srgb, ${data.shade} ${opaque}%, transparent)`;
  // Of black and white the one that is read better on this shade.
  button.classList.toggle("middle", cell.probability > 0.4);
  button.classList.toggle("dark", cell.probability > 0.83);
  button.classList.toggle("final", cell.is_final);
  button.classList.toggle("changed", cell.is_changed);
  button.classList.toggle("other", cell.is_other);
  button.tabIndex = -1;
  button.setAttribute("aria-label", `${placeOf(data, i, j)}: ${cell.shown} ${percent(cell.probability)}`);
  return button;
}

function drawGrid(bench, data) {
  const table = make("table");
  table.setAttribute("role", "grid");
  table.setAttribute("aria-label", data.label);
  bench.heads = [];
  bench.buttons = data.rows.map((row, i) => {
    const line = make("tr");
    const head = make("th", row.number);
    head.prepend(make("span", "layer "));
    bench.heads.push(head);
    line.append(head);
    const buttons = row.cells.map((_, j) => buttonOf(data, i, j));
    for (const button of buttons) {
      const field = make("td");
      field.append(button);
      line.append(field);
    }
    table.append(line);
    return buttons;
  });
  const prompt = make("tr", undefined, "prompt");
  prompt.append(make("th", "prompt"));
  for (const column of data.columns) {
    const field = make("td");
    field.title = `position ${column.position}: ${column.token}`;
    field.append(make("span", column.token), make("small", column.position));
    prompt.append(field);
  }
  table.append(prompt);
  const scroll = make("div", undefined, "scroll");
  scroll.append(table);
  const colours = make("i");
  colours.style.background = `linear-gradient(to right, transparent, ${data.shade})`;
  const key = make("div", undefined, "key");
  key.append(make("span", "probability 0%"), colours, make("span", "100%"));
  const grid = make("div", undefined, "grid");
  grid.append(scroll, key);
  bench.tip.hidden = true;
  bench.pane = make("div", undefined, "pane");
  bench.room.replaceChildren(grid, ...(data.cell ? [bench.pane] : []), bench.tip);
  bench.room.style.setProperty("--layers", data.rows.length);
  bench.room.style.setProperty("--contrast", data.contrast);
  bench.room.style.setProperty("--shade", data.shade);
  bench.room.style.setProperty("--ink", data.ink);
  bench.scroll = scroll;
  listen(bench);
  fit(bench);
}

// As wide as the room beside the list allows: texts where they have room, else colours alone.
function fit(bench) {
  const { room, data } = bench;
  const width = room.clientWidth;
  if (!width) return;
  const isBeside = data.cell && width >= 2 * PANE;
  const free = (isBeside ? width - PANE - 28 : width) - (data.columns.length > 20 ? 46 : 66);
  const each = Math.max(LEAST, Math.floor(free / data.columns.length) - GAP);
  room.classList.toggle("beside", Boolean(isBeside));
  room.classList.toggle("wordless", each < WORD);
  room.style.setProperty("--cell", `${each < WORD ? each : Math.min(each, 120)}px`);
}

function focusOn(bench, [i, j]) {
  for (const one of bench.buttons.flat()) one.tabIndex = -1;
  bench.buttons[i][j].tabIndex = 0;
}

function mark(bench, place) {
  for (const one of bench.buttons.flat()) one.removeAttribute("aria-pressed");
  for (const head of bench.heads) head.classList.remove("chosen");
  bench.chosen = place;
  if (!place) return;
  bench.buttons[place[0]][place[1]].setAttribute("aria-pressed", "true");
  bench.heads[place[0]].classList.add("chosen");
  focusOn(bench, place);
}

const layerOf = (place) => Number(place.slice(1, place.indexOf("N")));
const rowOfLayer = (bench, layer) => bench.data.rows.findIndex(({ number }) => number === layer);

// What a hovered cell has in the list, and a hovered neuron of the list in the grid.
function linkCell(bench, i, j) {
  const among = new Set(neuronsOf(bench.data, i, j).map((one) => one.place));
  for (const row of bench.pane.querySelectorAll("tr[data-place]"))
    row.classList.toggle("linked", among.has(row.dataset.place));
}

function linkNeuron(bench, one) {
  for (const button of bench.buttons.flat()) button.classList.remove("linked");
  for (const head of bench.heads) head.classList.remove("linked");
  const hint = bench.pane.querySelector(".hint");
  if (!one || !bench.chosen) {
    if (hint) hint.textContent = "";
    return;
  }
  // A neuron of the list over all layers lights up in its own.
  const i = rowOfLayer(bench, layerOf(one.place));
  let n = 0;
  bench.data.rows[i].cells.forEach((cell, j) => {
    const isAmong = (cell.neurons ?? []).some(([neuron]) => neuron === one.neuron);
    bench.buttons[i][j].classList.toggle("linked", isAmong);
    n += isAmong;
  });
  bench.heads[i].classList.add("linked");
  if (hint)
    hint.textContent = `${one.place}: among the ${HOVERED} strongest at ${n} of ${bench.data.columns.length} positions`;
}

function choose(bench, i, j, { screenX, screenY }) {
  mark(bench, [i, j]);
  bench.tip.hidden = true;
  bench.pending = [i, j];
  if (bench.data.cell) drawPane(bench, provisional(bench, i, j));
  // Where the page is scrolled below it, a pointer that rests hovers over nothing.
  bench.resting = [screenX, screenY];
  bringIntoSight(bench);
  bench.send("cell", [bench.data.rows[i].number, bench.data.columns[j].position]);
}

// In a narrow window the list stands below the grid, and may be below the window's edge: as much of the grid stays as
// there is room for.
function bringIntoSight({ room, pane }) {
  if (room.classList.contains("beside") || !pane.isConnected) return;
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const block = pane.offsetHeight < 0.8 * window.innerHeight ? "nearest" : "start";
  pane.scrollIntoView({ block, behavior: isCalm ? "auto" : "smooth" });
}

function listen(bench) {
  const { tip, data, buttons } = bench;
  const tell = (i, j, x, y) => {
    tip.replaceChildren(...tipOf(data, i, j));
    put(tip, x, y);
    linkCell(bench, i, j);
  };
  const leave = () => {
    tip.hidden = true;
    for (const row of bench.pane.querySelectorAll("tr.linked")) row.classList.remove("linked");
  };
  buttons.forEach((row, i) =>
    row.forEach((button, j) => {
      if (data.is_fixed) button.style.cursor = "default";
      else button.onclick = (event) => choose(bench, i, j, event);
      button.onpointerenter = button.onpointermove = (event) => {
        const [x, y] = bench.resting ?? [NaN, NaN];
        // Of a click places are whole pixels.
        if (Math.max(Math.abs(event.screenX - x), Math.abs(event.screenY - y)) < 2) return;
        bench.resting = null;
        if (tip.hidden || event.type === "pointerenter") tell(i, j, event.clientX, event.clientY);
        else put(tip, event.clientX, event.clientY);
      };
      button.onpointerleave = leave;
      button.onfocus = () => {
        if (!button.matches(":focus-visible")) return;
        const { right, bottom } = button.getBoundingClientRect();
        tell(i, j, right - 14, bottom - 14);
      };
      button.onblur = leave;
      button.onkeydown = (event) => {
        const step = STEPS[event.key];
        const next = step && buttons[i + step[0]]?.[j + step[1]];
        if (!next) return;
        event.preventDefault();
        focusOn(bench, [i + step[0], j + step[1]]);
        next.focus();
      };
    }),
  );
}

// A chosen cell before the server has told more of it: what came with the grid.
function provisional(bench, i, j) {
  const { data } = bench;
  const cell = data.rows[i].cells[j];
  const { position, token } = data.columns[j];
  return {
    ...data.cell,
    title: `Layer ${data.rows[i].number}, position ${position}, after “${token}”`,
    sentence: `Predicts “${cell.shown}” (${percent(cell.probability)}).`,
    note: "",
    columns: data.cell.columns.map(([key, text, title]) =>
      [key, key === "adds" ? `adds to “${data.rows[0].cells[j].shown}”` : text, title]),
    rows: neuronsOf(data, i, j),
    links: [],
    // What the layers add is of a position: of another one it keeps its room until it is told.
    raising: bench.cell?.raising && { ...bench.cell.raising, is_waited_for: j !== bench.positionListed },
    inspected: null,
  };
}

function headOf(bench, cell, key, text, title) {
  const head = make("th");
  head.title = title;
  if (!["share", "adds"].includes(key)) {
    head.textContent = text;
    return head;
  }
  const isFirst = cell.order === key;
  head.setAttribute("aria-sort", isFirst ? "descending" : "none");
  const button = prose("button", text, "sort");
  if (isFirst) button.append(" ▾");
  Object.assign(button, { type: "button", onclick: () => {
    cell.order = key;
    drawPane(bench, cell);
    bench.pane.querySelector("th[aria-sort=descending] button")?.focus();
    bench.send("order", key);
  } });
  head.append(button);
  return head;
}

// A neuron of the list over all layers is opened in its layer's cell.
function openElsewhere(bench, one) {
  const [i, j] = [rowOfLayer(bench, layerOf(one.place)), bench.chosen[1]];
  mark(bench, [i, j]);
  bench.pending = [i, j];
  const inspected = { place: one.place, is_waited_for: true };
  drawPane(bench, { ...provisional(bench, i, j), inspected });
  bench.send("place", [bench.data.rows[i].number, bench.data.columns[j].position, one.place]);
}

function rowOf(bench, cell, one, widest) {
  const row = make("tr");
  row.dataset.place = one.place;
  const isElsewhere = layerOf(one.place) !== bench.data.rows[bench.chosen[0]].number;
  const isOpen = cell.inspected?.place === one.place;
  row.classList.toggle("open", isOpen);
  const name = make("td");
  const button = press(one.place, "neuron", () => {
    if (isElsewhere) return openElsewhere(bench, one);
    cell.inspected = isOpen ? null : { place: one.place, is_waited_for: true };
    drawPane(bench, cell);
    bench.pane.querySelector(`tr[data-place="${one.place}"] button`)?.focus();
    bench.send("neuron", isOpen ? "" : one.place);
  });
  button.setAttribute("aria-expanded", String(isOpen));
  button.title = [one.kind, "click for its contexts and lists"].filter(Boolean).join("; ");
  name.append(button);
  const share = make("td", undefined, "number");
  const bar = make("i");
  bar.style.width = `${Math.max(1, (28 * (one.share ?? 0)) / widest)}px`;
  share.append(bar, document.createTextNode(one.share === null ? "-" : `${(100 * one.share).toFixed(1)}%`));
  const words = make("td", undefined, "words");
  for (const { token, href, is_pale } of one.writes)
    words.append(href ? link(token, href, is_pale ? "token pale" : "token") : make("span", token, "token"));
  row.append(
    name, share,
    make("td", one.coefficient.toFixed(one.coefficient > -100 && one.coefficient < 100 ? 2 : 0), "number"),
    make("td", one.added === null ? "-" : signed(one.added, 2), "number"),
    words,
  );
  if (cell.columns.some(([key]) => key === "frequency"))
    row.append(make("td", one.frequency === null ? "-" : `${(100 * one.frequency).toFixed(1)}%`, "number often"));
  row.onpointerenter = () => linkNeuron(bench, one);
  row.onpointerleave = () => linkNeuron(bench, null);
  button.onfocus = () => linkNeuron(bench, one);
  button.onblur = () => linkNeuron(bench, null);
  return row;
}

function tableOf(bench, cell, rows, name, headOfColumn) {
  const table = make("table", undefined, "list");
  table.setAttribute("aria-label", name);
  const head = make("tr");
  for (const [key, text, title] of cell.columns) {
    const field = headOfColumn(key, text, title);
    if (key === "writes") field.className = "words";
    if (key === "frequency") field.className = "often";
    head.append(field);
  }
  const widest = Math.max(...rows.map((one) => one.share ?? 0), 1e-9);
  const start = make("thead"), body = make("tbody");
  start.append(head);
  body.append(...rows.map((one) => rowOf(bench, cell, one, widest)));
  table.append(start, body);
  return table;
}

function neuronsTable(bench, cell) {
  const rows = [...cell.rows];
  if (cell.order === "adds") rows.sort((one, other) => other.added - one.added);
  const head = (key, text, title) => headOf(bench, cell, key, text, title);
  return tableOf(bench, cell, rows, `Neurons of the cell: ${cell.title}`, head);
}

// In the columns of the table above it.
function raisingOf(bench, cell) {
  const { title, sentence, rows } = cell.raising;
  const part = make("section", undefined, cell.raising.is_waited_for ? "raising waited" : "raising");
  part.append(prose("h3", title), prose("p", sentence, "muted"));
  if (rows.length) part.append(tableOf(bench, cell, rows, title, (key, text) => make("th", text)));
  return part;
}

function windowOf(context) {
  const line = make("div", undefined, "window");
  const text = make("p");
  for (const [token, alpha, isPlace] of context.tokens) {
    const part = make(isPlace ? "b" : "span", token);
    const colour = alpha < 0 ? "var(--contrast)" : "var(--shade)";
    if (alpha) part.style.background = `color-mix(in srgb, ${colour} ${Math.round(60 * Math.abs(alpha))}%, transparent)`;
    text.append(part);
  }
  line.append(make("span", context.activation, "number"), text);
  if (context.copies) line.append(make("span", `+${context.copies}`, "copies"));
  return line;
}

function inspectedOf(bench, inspected) {
  const part = make("section", undefined, "inspected");
  part.setAttribute("aria-label", `Contexts and lists of ${inspected.place}`);
  if (inspected.is_waited_for) {
    part.append(make("p", `${inspected.place} ...`, "muted"));
    return part;
  }
  const line = make("div", undefined, "line");
  line.append(make("b", inspected.place));
  for (const [text, value] of inspected.switches)
    line.append(press(text, "switch", (event) => {
      event.target.disabled = true;
      event.target.textContent = "Running the model ...";
      bench.send("switch", [inspected.place, value]);
    }));
  line.append(link("Open its page", inspected.href));
  part.append(line);
  if (inspected.switched) {
    for (const [name, text] of inspected.switched.texts) {
      const written = make("p", undefined, "written");
      written.append(make("span", `${name} `, "muted"), make("q", text));
      part.append(written);
    }
    part.append(prose("p", inspected.switched.sentence, "switched"));
  }
  if (inspected.sentence) part.append(prose("p", inspected.sentence));
  for (const [name, tokens] of inspected.lists) {
    const list = make("p", undefined, "tokens");
    list.append(make("span", `${name} `, "muted"));
    for (const { token, href } of tokens) list.append(link(token, href, "token"));
    part.append(list);
  }
  for (const context of inspected.contexts) part.append(windowOf(context));
  return part;
}

function drawPane(bench, cell) {
  bench.cell = cell;
  const links = make("p", undefined, "promoters");
  if (cell.links.length) {
    links.append(make("span", "Search for the neurons that promote ", "muted"));
    for (const { token, href } of cell.links) links.append(link(token, href, "token"));
  }
  bench.pane.replaceChildren(
    prose("h2", cell.title),
    prose("p", cell.sentence, "sentence"),
    neuronsTable(bench, cell),
    make("p", "", "hint"),
    ...(cell.note ? [prose("p", cell.note, "muted")] : []),
    ...(cell.inspected ? [inspectedOf(bench, cell.inspected)] : [links]),
    ...(cell.raising ? [raisingOf(bench, cell)] : []),
  );
}

export default function (component) {
  const { parentElement, data, setTriggerValue } = component;
  const room = parentElement.querySelector(".room");
  const bench = (room.bench ??= { room, tip: Object.assign(make("div", undefined, "tip"), { hidden: true }) });
  bench.send = setTriggerValue;
  const isNew = bench.key !== data.key || Boolean(bench.data?.cell) !== Boolean(data.cell);
  bench.data = data;
  if (isNew) {
    bench.key = data.key;
    bench.pending = null;
    drawGrid(bench, data);
    bench.watch ??= new ResizeObserver(() => fit(bench));
    bench.watch.observe(room);
    focusOn(bench, [0, data.columns.length - 1]);
  }
  // Of two quick clicks the answer to the first comes when the second is shown.
  if (bench.pending && String(bench.pending) !== String(data.selected)) return;
  bench.pending = null;
  if (isNew || String(bench.chosen) !== String(data.selected)) mark(bench, data.selected);
  bench.positionListed = data.selected?.[1];
  if (data.cell) drawPane(bench, data.cell);
  const chosen = data.selected && bench.buttons[data.selected[0]][data.selected[1]];
  // The end of a long prompt is what it is about.
  if (isNew && chosen) bench.scroll.scrollLeft = Math.max(0, chosen.offsetLeft - bench.scroll.clientWidth / 2);
}
