// What the editor of the SQL page needs of CodeMirror 6, for `npm install && npm run build`.
export {
  acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, completionStatus,
} from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
export { SQLDialect, sql } from "@codemirror/lang-sql";
export { HighlightStyle, bracketMatching, syntaxHighlighting, syntaxTree } from "@codemirror/language";
export { EditorState, Prec } from "@codemirror/state";
export { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
export { tags } from "@lezer/highlight";
