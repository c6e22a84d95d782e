// A table of layers by positions: one button a cell, coloured by probability; a click or Enter tells which.
const text = (kind, said, name) => {
  const made = document.createElement(kind);
  if (said !== undefined) made.textContent = said;
  if (name) made.className = name;
  return made;
};

const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)}%`;

const told = (cell, tip) => {
  tip.replaceChildren(text("div", cell.place, "place"));
  for (const [token, share] of cell.tokens) {
    const row = text("div", undefined, "row");
    const bar = text("i");
    bar.style.width = `${Math.max(1, 60 * share)}px`;
    row.append(text("b", token), bar, text("span", percent(share)));
    tip.append(row);
  }
  for (const note of cell.notes) tip.append(text("div", note, "note"));
};

const put = (tip, x, y) => {
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, window.innerWidth - width - 8))}px`;
  tip.style.top = `${y + 18 + height > window.innerHeight ? y - height - 12 : y + 18}px`;
};

const cellOf = (cell, shade) => {
  const made = text("td");
  const button = text("button", cell.shown);
  const opaque = Math.round(100 * cell.probability);
  button.style.background = `color-mix(in srgb, ${shade} ${opaque}%, transparent)`;
  button.classList.toggle("dark", cell.probability > 0.5);
  button.classList.toggle("final", cell.is_final);
  button.classList.toggle("changed", cell.is_changed);
  button.classList.toggle("other", cell.is_other);
  button.tabIndex = -1;
  button.setAttribute("aria-label", `${cell.place}: ${cell.shown} ${percent(cell.probability)}`);
  made.append(button);
  return made;
};

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export default function (component) {
  const { parentElement, data, setTriggerValue } = component;
  const room = parentElement.querySelector(".grid");
  const key = JSON.stringify(data);
  if (room.drawn === key) return;
  room.drawn = key;
  const scrolled = room.querySelector(".scroll")?.scrollLeft;
  const table = text("table");
  table.setAttribute("role", "grid");
  table.setAttribute("aria-label", data.label);
  const buttons = data.rows.map((row) => {
    const line = text("tr");
    line.append(text("th", row.layer));
    const cells = row.cells.map((cell) => cellOf(cell, data.shade));
    line.append(...cells);
    table.append(line);
    return cells.map((cell) => cell.firstChild);
  });
  const prompt = text("tr", undefined, "prompt");
  prompt.append(text("th", "prompt"));
  for (const column of data.columns) {
    const cell = text("td", column.token);
    cell.title = `position ${column.position}`;
    cell.append(text("small", column.position));
    prompt.append(cell);
  }
  table.append(prompt);
  const tip = text("div", undefined, "tip");
  tip.hidden = true;
  const scroll = text("div", undefined, "scroll");
  scroll.append(table);
  const colours = text("i");
  colours.style.background = `linear-gradient(to right, transparent, ${data.shade})`;
  const scale = text("div", undefined, "key");
  scale.append(text("span", "probability 0%"), colours, text("span", "100%"));
  room.replaceChildren(scroll, scale, tip);
  const focus = ([row, column]) => {
    for (const one of buttons.flat()) one.tabIndex = -1;
    buttons[row][column].tabIndex = 0;
  };
  const mark = (place) => {
    for (const one of buttons.flat()) one.removeAttribute("aria-pressed");
    if (!place) return;
    buttons[place[0]][place[1]].setAttribute("aria-pressed", "true");
    focus(place);
  };
  focus([0, data.columns.length - 1]);
  mark(data.selected);
  buttons.forEach((row, i) =>
    row.forEach((button, j) => {
      const cell = data.rows[i].cells[j];
      if (data.is_fixed) button.style.cursor = "default";
      else button.onclick = () => {
        mark([i, j]);
        tip.hidden = true;
        setTriggerValue("cell", [data.rows[i].number, data.columns[j].position]);
      };
      button.onpointermove = (event) => {
        told(cell, tip);
        put(tip, event.clientX, event.clientY);
      };
      button.onpointerleave = () => (tip.hidden = true);
      button.onfocus = () => {
        if (!button.matches(":focus-visible")) return;
        const { right, bottom } = button.getBoundingClientRect();
        told(cell, tip);
        put(tip, right - 14, bottom - 14);
      };
      button.onblur = () => (tip.hidden = true);
      button.onkeydown = (event) => {
        const step = STEPS[event.key];
        const next = step && buttons[i + step[0]]?.[j + step[1]];
        if (!next) return;
        event.preventDefault();
        focus([i + step[0], j + step[1]]);
        next.focus();
      };
    }),
  );
  // The end of a long prompt is what it is about.
  const chosen = data.selected && buttons[data.selected[0]][data.selected[1]];
  if (scrolled !== undefined) scroll.scrollLeft = scrolled;
  else if (chosen) scroll.scrollLeft = Math.max(0, chosen.offsetLeft - scroll.clientWidth / 2);
}
