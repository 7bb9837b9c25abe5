// Elements, made and kept. Text of the store enters a page here alone, and as text.

const svg_names = new Set(['svg', 'g', 'path', 'rect', 'line', 'circle', 'polyline', 'text', 'title']);

function dispatch(event) {
  event.currentTarget.handlers[event.type](event);
}

// h('a', {href, class, onclick}, 'text', child, [children], null). What is null, undefined or false is left out.
// `key` tells a row apart from its neighbours when a page is drawn anew.
export function h(name, attributes, ...children) {
  const made = svg_names.has(name)
    ? document.createElementNS('http://www.w3.org/2000/svg', name)
    : document.createElement(name);
  made.handlers = {};
  for (const [attribute, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (attribute === 'key') made.key = value;
    else if (attribute.startsWith('on')) {
      made.handlers[attribute.slice(2)] = value;
      made.addEventListener(attribute.slice(2), dispatch);
    } else made.setAttribute(attribute, value === true ? '' : value);
  }
  made.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false && c !== ''));
  return made;
}

function is_alike(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && a.key === b.key;
}

// What the browser, a person or the keyboard has put there.
const kept_attributes = new Set(['open', 'data-changed', 'data-chosen', 'tabindex']);

// What a person is changing stays as it is.
function is_in_use(element) {
  return element === document.activeElement || element.dataset.changed === 'yes';
}

const typed_in = new Set(['INPUT', 'SELECT', 'TEXTAREA']);

function become(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes])
    if (!fresh.hasAttribute(name) && !kept_attributes.has(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes)
    if (old.getAttribute(name) !== value && name !== 'open') old.setAttribute(name, value);
  for (const type of Object.keys(fresh.handlers ?? {})) if (!old.handlers[type]) old.addEventListener(type, dispatch);
  old.handlers = fresh.handlers;
  if (typed_in.has(old.nodeName) && !is_in_use(old) && old.value !== fresh.value) old.value = fresh.value;
  if (old.type === 'checkbox') old.checked = fresh.checked;
  keep(old, [...fresh.childNodes]);
}

// Makes the children of an element what they should be, and keeps those that are alike: so focus, selection, what is
// unfolded and what was typed outlive that a page is drawn anew.
export function keep(parent, children) {
  const by_key = new Map();
  for (const child of parent.childNodes) if (child.key !== undefined) by_key.set(child.key, child);
  let at = parent.firstChild;
  for (const fresh of children) {
    let old = fresh.key === undefined ? at : by_key.get(fresh.key);
    while (fresh.key === undefined && old && old.key !== undefined) old = old.nextSibling;
    if (!old || !is_alike(old, fresh)) {
      parent.insertBefore(fresh, at);
      continue;
    }
    if (old === at) at = at.nextSibling;
    else parent.insertBefore(old, at);
    become(old, fresh);
    if (fresh.key !== undefined) by_key.delete(fresh.key);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}
