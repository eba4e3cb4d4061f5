// Share: the open view as one file without scripts, addresses and names of people; by choice without texts of sessions.
// Law: only what is listed may stand in the file. In a file of figures a text stays only if all its words are ours.

import {ask, button, count, h, number} from "./dom.js";
import {clientOf, modal} from "./parts.js";

const TAGS = new Set(
  "article,b,bdi,caption,circle,code,dd,del,details,div,dl,dt,g,h1,h2,h3,header,i,li,mark,ol,p,path,pre,section,span,summary,svg,table,tbody,td,text,th,thead,tr,ul".split(","),
);
const PLAIN = {a: "span", button: "span", main: "div"};
const DROPPED = "script,style,form,input,select,textarea,label,dialog,img,iframe,object,embed,noscript,nav,[hidden],.pager,.filter,[role=alert],button:not(.link)";
const KEPT = new Set(
  "class,scope,colspan,rowspan,dir,open,aria-hidden,viewBox,d,x,y,cx,cy,r,width,height,data-state,aria-label,role,style".split(","),
);
const OF_SESSIONS = "bdi,pre,[dir=auto]";
const OURS = ["model unknown", "unknown client", "no project", "Untitled session", "no name yet"];
const FIGURE = /^[~$<+−-]*[\d.,:]+(?:k|M|%|s|h|ms|x)?$/;
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";
const DAY = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short", year: "numeric"});
const MORE_STYLE = "body{padding-top:18px}body>.note{margin-bottom:18px}.chart svg{height:auto}";
const NO_PEOPLE = /^(?:\W*|..?|admin|app|dev|home|node|public|root|runner|shared|ubuntu|user|users|work)$/i;
const HOMES =
  /((?<![\p{L}\p{N}_.-])(?:[a-z]:|[\\/](?:mnt[\\/][a-z]|var|export|private))?[\\/]+(?:home|Users|Documents and Settings)[\\/]+)([^\\/\s:"'<>|*?,;()]+(?:(?: [^\\/\s:"'<>|*?,;()]+)+(?=\\))?)/giu;
const DASHED = /((?<![\p{L}\p{N}])-(?:home|Users)-)([\p{L}\p{N}_.]+)/giu;

/** Make the button of the shell share the view that is open. */
export function sharing(opener, main) {
  opener.addEventListener("click", () => opened(main));
}

const choice = (value, title, text, checked) =>
  h("label.choice", h("input", {type: "radio", name: "texts", value, checked}), h("span", h("b", title), h("span.soft", text)));

function opened(main) {
  const said = h("p.soft", {role: "status"});
  const dialog = modal(
    "Share this view",
    h("p", "Makes one HTML file of what is shown. It stays on your machine until you send it."),
    h(
      "fieldset",
      h("legend.hidden", "What the file holds"),
      choice("figures", "Figures only", "Each text of a session becomes its kind and length. Times become days.", true),
      choice("texts", "With texts", "Titles, paths and lines stay; secrets, home folders and user names do not. Read it before you send it.", false),
    ),
    said,
    h("p.pager", button("Download the file", () => download().catch(error => (said.textContent = error.message)), ".main"), button("Close", () => dialog.close())),
  );
  const download = async () => {
    said.textContent = "Writing…";
    const isFigures = dialog.querySelector("input:checked").value === "figures";
    const made = fileOf(main, await ask("share"), isFigures), name = nameOf();
    save(made.text, name);
    const cut = isFigures ? `, ${count(made.cut, "text")} replaced` : "";
    said.textContent = `${name}: ${number(Math.ceil(made.text.length / 1_000))} kB${cut}.`;
  };
}

const nameOf = () => `undrift-${/^#\/([a-z]+)/.exec(location.hash)?.[1] ?? "now"}-${new Date().toISOString().slice(0, 10)}.html`;

function save(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {type: "text/html"}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Return the file's text, and how many texts of sessions were replaced. */
export function fileOf(main, rules, isFigures) {
  const made = {cut: 0, ours: isFigures ? oursOf(rules) : null, clean: cleaner(main.textContent, rules)};
  const body = written(main, made), day = DAY.format(Date.now());
  const title = escaped(textOf(main.querySelector("h1")?.textContent ?? "", made, "name"));
  const css = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules].map(rule => rule.cssText)).join("\n");
  const held = isFigures ? "It holds figures and days: each text of a session is replaced by its kind and length." : "It holds texts of sessions; secrets, home folders and user names are replaced.";
  const text = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">
<title>${title} · undrift</title><style>${css}
${MORE_STYLE}</style></head>
<body><p class="note">A view of undrift of ${day}. ${held}</p><main>${body}</main></body></html>
`;
  return {text, cut: made.cut};
}

function written(node, made) {
  if (node.nodeType === Node.TEXT_NODE) return escaped(textOf(node.data, made, kindOf(node.parentElement)));
  if (node.nodeType !== Node.ELEMENT_NODE || node.matches(DROPPED)) return "";
  const name = PLAIN[node.localName] ?? (TAGS.has(node.localName) ? node.localName : "span");
  const isCut = made.ours && node.matches(OF_SESSIONS);
  const inside = isCut ? escaped(ofSession(node.textContent, made, kindOf(node))) : [...node.childNodes].map(one => written(one, made)).join("");
  return `<${name}${attributes(node, made)}>${inside}</${name}>`;
}

function attributes(node, made) {
  return [...node.attributes].map(({name, value}) => {
    if (!KEPT.has(name)) return "";
    let kept = value;
    if (name === "role") kept = value === "img" || value === "slider" ? "img" : "";
    if (name === "class") kept = /^[\w -]*$/.test(value) ? value : "";
    if (name === "style") kept = (value.match(/(?:flex-grow|width|left|height): [\d.]+(?:e\+?\d+)?(?:px|%)?;/g) ?? []).join("");
    if (name === "aria-label") kept = made.ours && !isOurs(value, made.ours) ? "" : made.clean(value);
    return kept || name === "open" ? ` ${name}="${escaped(kept)}"` : "";
  }).join("");
}

const escaped = text => text.replace(/[&<>"]/g, one => `&#${one.charCodeAt(0)};`);

/** A text outside of what is marked as a session's: it stays if it is ours. */
function textOf(text, made, kind) {
  if (!made.ours) return made.clean(text);
  return isOurs(text, made.ours) ? timeless(text) : cutTo(text, made, kind);
}

/** A text of a session: it stays if it is made of names in our tables alone. */
function ofSession(text, made, kind) {
  const parts = text.split(" · ").map(part => (part.trim() ? made.ours.names.get(part) : part));
  return parts.includes(undefined) ? cutTo(text, made, kind) : parts.join(" · ");
}

function cutTo(text, made, kind) {
  made.cut += 1;
  return `[${kind}, ${count([...text.trim()].length, "character")}]`;
}

function kindOf(element) {
  if (element.closest("pre, code")) return "code";
  return element.closest("h1, h2, h3, th, a") ? "name" : "text";
}

const timeless = text => text.replace(/, \d{2}:\d{2}\b(?!:)/g, "").replace(/\b\d{2}:\d{2}:\d{2}\b/g, "today");

function oursOf({words, names, clients}) {
  const known = new Map([...Object.entries(names), ...OURS.map(one => [one, one])]);
  for (const client of clients) known.set(clientOf({client}), clientOf({client}));
  return {words: new Set(words), names: known};
}

function isOurs(text, {words, names}) {
  return text.split(/[\s·→]+/).every(piece => {
    const bare = piece.replace(/^[^\p{L}\p{N}~$<+−-]+|[^\p{L}\p{N}%]+$/gu, "");
    if (!bare || FIGURE.test(bare) || names.get(bare) === bare) return true;
    return bare.split(/[-’'/]/).every(part => (/^\p{L}+$/u.test(part) ? part.length === 1 || words.has(part.toLowerCase()) : !part || FIGURE.test(part)));
  });
}

/** A function that replaces home folders, and everywhere the names of the people that they name. */
function cleaner(text, {folders, people}) {
  const found = [...text.matchAll(HOMES), ...text.matchAll(DASHED)].map(match => match[2]);
  const names = [...new Set([...people, ...found])].filter(one => !NO_PEOPLE.test(one)).sort((a, b) => b.length - a.length);
  const quoted = one => one.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
  const named = names.length && new RegExp(`(?<![\\p{L}\\p{N}])(?:${names.map(quoted).join("|")})(?![\\p{L}\\p{N}])`, "giu");
  return given => {
    let kept = folders.reduce((all, folder) => all.replaceAll(new RegExp(`${quoted(folder)}(?![\\p{L}\\p{N}_-])`, "gu"), "~"), given);
    kept = kept.replace(HOMES, "$1user").replace(DASHED, "$1user");
    return named ? kept.replace(named, "user") : kept;
  };
}
