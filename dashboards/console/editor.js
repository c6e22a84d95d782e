// The editor of the SQL page: CodeMirror with DuckDB's words, completing views, their columns and functions.
const here = (name) => new URL(name + new URL(import.meta.url).search, import.meta.url);
const [cm, words] = await Promise.all([import(here("codemirror.js")), fetch(here("words.json")).then((got) => got.json())]);

// Of names that match alike the shorter one comes first.
const before = (boost, label) => boost - label.length / 100;
const columnsOf = (view, boost) =>
  Object.entries(words.views[view].columns).map(([label, info]) => ({
    label, info, detail: view, type: "property", boost: before(boost, label),
  }));
const views = Object.entries(words.views).map(([label, view]) => ({
  label, info: view.grain, detail: "view", type: "class", boost: before(1, label),
}));
const functions = words.functions.map(([label, info]) => ({
  label, info, detail: "function", type: "function", apply: `${label}(`,
  boost: before(0, label),
}));
const keywords = words.keywords.map((label) => ({ label, type: "keyword", boost: before(-0.5, label) }));
const everyColumn = Object.values(
  Object.keys(words.views).flatMap((view) => columnsOf(view, 0)).reduce((seen, one) => {
    const known = seen[one.label];
    if (known) known.detail = `${known.detail.replace(/ \+\d+$/, "")} +${(known.n += 1)}`;
    else seen[one.label] = { ...one, n: 0 };
    return seen;
  }, {}),
);

const NO_CODE = /String|Comment/;
const RELATION = /\b(?:from|join|describe|summarize|show)\s+$|\bfrom\s+[\w.\s]+,\s*$/i;

// Views that the text mentions, by their own name and by what it calls them.
const mentioned = (text) => {
  const found = {};
  for (const [, name, alias] of text.matchAll(/\b(?:from|join|,)\s*(\w+)(?:\s+(?:as\s+)?(\w+))?/gi)) {
    if (!words.views[name]) continue;
    found[name] = name;
    if (alias && !words.keywords.includes(alias.toLowerCase())) found[alias] = name;
  }
  return found;
};

const complete = (context) => {
  if (NO_CODE.test(cm.syntaxTree(context.state).resolveInner(context.pos, -1).name)) return null;
  const word = context.matchBefore(/[\w.]*/);
  const text = context.state.doc.toString();
  const from = mentioned(text);
  const [owner] = word.text.includes(".") ? word.text.split(".") : [];
  if (owner !== undefined) {
    const start = word.from + owner.length + 1;
    return from[owner] ? { from: start, options: columnsOf(from[owner], 2), validFor: /^\w*$/ } : null;
  }
  if (RELATION.test(text.slice(0, word.from))) return { from: word.from, options: views, validFor: /^\w*$/ };
  if (word.text.length < 2 && !context.explicit) return null;
  const named = [...new Set(Object.values(from))];
  const columns = named.length ? named.flatMap((view) => columnsOf(view, 2)) : everyColumn;
  return { from: word.from, options: [...columns, ...views, ...functions, ...keywords], validFor: /^\w*$/ };
};

const dialect = cm.SQLDialect.define({
  keywords: words.keywords.join(" "),
  builtin: words.functions.map(([name]) => name).join(" "),
  types: words.types.join(" "),
  doubleDollarQuotedStrings: true,
  identifierQuotes: '"',
});

const style = cm.HighlightStyle.define([
  { tag: cm.tags.keyword, color: "var(--keyword)", fontWeight: "600" },
  { tag: [cm.tags.string, cm.tags.special(cm.tags.string)], color: "var(--string)" },
  { tag: [cm.tags.number, cm.tags.bool, cm.tags.null], color: "var(--number)" },
  { tag: cm.tags.standard(cm.tags.name), color: "var(--function)" },
  { tag: cm.tags.typeName, color: "var(--number)" },
  { tag: cm.tags.comment, color: "var(--comment)", fontStyle: "italic" },
]);

const looks = cm.EditorView.theme({
  "&": { color: "var(--st-text-color)", backgroundColor: "var(--st-secondary-background-color)", fontSize: "0.86rem",
    border: "1px solid var(--st-border-color)", borderRadius: "6px" },
  "&.cm-focused": { outline: "1.5px solid var(--st-primary-color)" },
  ".cm-scroller": { fontFamily: "var(--st-code-font)", lineHeight: "1.5", minHeight: "8.5rem", maxHeight: "26rem", overflow: "auto" },
  ".cm-content": { caretColor: "var(--st-text-color)" },
  ".cm-cursor": { borderLeftColor: "var(--st-text-color)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--comment)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--st-text-color) 5%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: "color-mix(in srgb, var(--st-primary-color) 30%, transparent)" },
  ".cm-matchingBracket": { backgroundColor: "color-mix(in srgb, var(--st-primary-color) 25%, transparent)" },
  ".cm-tooltip": { color: "var(--st-text-color)", backgroundColor: "var(--st-background-color)",
    border: "1px solid var(--st-border-color)", borderRadius: "6px", boxShadow: "0 3px 14px rgb(0 0 0 / 22%)" },
  ".cm-tooltip-autocomplete ul": { fontFamily: "var(--st-code-font)", fontSize: "0.82rem" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { color: "#fff", backgroundColor: "var(--st-primary-color)" },
  ".cm-completionDetail": { opacity: "0.65", fontStyle: "normal" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-tooltip.cm-completionInfo": { fontFamily: "var(--st-font)", fontSize: "0.8rem", maxWidth: "20rem", padding: "0.4rem 0.6rem" },
});

const made = (room, component) => {
  const run = () => {
    const text = room.view.state.doc.toString();
    room.tell("run", text);
    return true;
  };
  const keys = [
    { key: "Mod-Enter", run },
    // Where something is offered Tab never indents, even in the moment in which nothing can be accepted yet.
    { key: "Tab", run: (view) => cm.acceptCompletion(view) || cm.completionStatus(view.state) === "active" },
    { key: "Tab", run: cm.indentMore, shift: cm.indentLess },
  ];
  const state = (doc) =>
    cm.EditorState.create({
      doc,
      extensions: [
        cm.lineNumbers(), cm.history(), cm.drawSelection(), cm.highlightActiveLine(), cm.bracketMatching(), cm.closeBrackets(),
        cm.sql({ dialect }), cm.syntaxHighlighting(style), looks, cm.EditorView.lineWrapping,
        cm.autocompletion({ override: [complete], icons: false, maxRenderedOptions: 60, activateOnTypingDelay: 60, interactionDelay: 30 }),
        cm.EditorView.contentAttributes.of({ "aria-label": "Query" }),
        cm.Prec.highest(cm.keymap.of(keys)),
        cm.keymap.of([...cm.closeBracketsKeymap, ...cm.defaultKeymap, ...cm.historyKeymap, ...cm.completionKeymap]),
      ],
    });
  room.state = state;
  room.view = new cm.EditorView({
    state: state(component.data.query), root: component.parentElement, parent: room.querySelector(".text"),
  });
  // Keys of the page are letters here.
  room.addEventListener("keydown", (event) => event.stopPropagation());
  const button = room.querySelector("button");
  button.onclick = run;
  button.disabled = false;
};

export default function (component) {
  const room = component.parentElement.querySelector(".editor");
  room.tell = component.setTriggerValue;
  for (const [name, colour] of Object.entries(component.data.colours)) room.style.setProperty(`--${name}`, colour);
  if (!room.view) made(room, component);
  else if (room.turn !== component.data.turn) room.view.setState(room.state(component.data.query));
  room.turn = component.data.turn;
}
