"use strict";
// What every part of the page uses: elements, and calls of the inspector's API (docs/local.md, Test a client).

const $ = (id) => document.getElementById(id);
/* An element with a text, in which nothing is hidden. */
const make = (tag, text = "", className = "") =>
  Object.assign(document.createElement(tag), { textContent: unhidden(String(text)), className });
const button = (text, action, className = "") => {
  const made = make("button", text, className);
  made.addEventListener("click", action);
  return made;
};
const say = (sentence) => {
  $("notice").textContent = sentence;
};
const counted = (number, thing) => `${number} ${thing}${number === 1 ? "" : "s"}`;

async function call(method, path, body) {
  const headers = method === "GET" ? {} : { "X-Intake-Inspector": "1" };
  const response = await fetch(path, { method, headers, body });
  const text = await response.text();
  if (response.ok) return text;
  const { message, fieldErrors = [] } = parsed(text);
  throw Object.assign(new Error(message ?? response.statusText), { fieldErrors });
}
/* The value of JSON, or an empty object. */
function parsed(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch (error) {
    return {};
  }
}
const get = async (path) => JSON.parse(await call("GET", path));
/* A text in which each character that cannot be seen, or that changes the direction of what stands beside it, is escaped as in JSON. */
function unhidden(text) {
  const hidden = /(?![\n\t ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(hidden, (character) => character.split("").map(escaped).join(""));
}
/* A text that a client chose. If nothing of it can be seen, the text as a string of JSON, in which it can. */
function visible(text) {
  const isVisible = /[^\s\p{Default_Ignorable_Code_Point}\u2800]/u.test(text);
  return unhidden(isVisible ? text : JSON.stringify(text));
}
/* A text that stands beside others. One in letters of another direction does not move them. */
const isolated = (text) => (/[^\0-\x7f]/.test(text) ? make("bdi", text) : text);
