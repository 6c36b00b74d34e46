"use strict";
// What every part of the page uses: elements, and calls of the inspector's API (docs/local.md, Test a client).

const $ = (id) => document.getElementById(id);
const make = (tag, textContent = "", className = "") =>
  Object.assign(document.createElement(tag), { textContent, className });
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
/* A text that a client chose. If nothing of it can be seen, the text as a string of JSON, in which it can. */
function visible(text) {
  if (/[^\s\p{Default_Ignorable_Code_Point}\u2800]/u.test(text)) return text;
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(text).replace(/[^ -~]/g, escaped);
}
