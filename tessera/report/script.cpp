// SPDX-License-Identifier: Apache-2.0
// The page's script. Without it everything can still be read: it sorts tables and shows what lies
// under the pointer at once, instead of after the browser's own delay.
#include "tessera/report/style.hpp"

namespace tessera::report {

std::string page_script() {
  return R"JS('use strict';
for (const table of document.querySelectorAll('table.sortable')) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.title = 'Sort by this column';
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const down = head.getAttribute('aria-sort') === 'ascending';
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const key = row => {
        const cell = row.cells[column];
        if (cell.classList.contains('none')) return null;
        return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
      };
      const order = (a, b) => typeof a === 'number' && typeof b === 'number' ? a - b :
          String(a).localeCompare(String(b), 'en', {numeric: true});
      const rows = [...table.tBodies[0].rows].map(row => [key(row), row]);
      rows.sort(([a], [b]) => a === null || b === null ? (a === null) - (b === null) : (down ? -1 : 1) * order(a, b));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  });
}
const tip = document.createElement('div');
tip.id = 'tip';
tip.hidden = true;
tip.setAttribute('role', 'tooltip');
document.body.append(tip);
const tips = new WeakMap();
for (const mark of document.querySelectorAll('svg .mark')) {
  const title = mark.querySelector('title');
  if (!title) continue;
  tips.set(mark, title.textContent);
  title.remove();
}
const hide = () => { tip.hidden = true; };
document.addEventListener('pointermove', event => {
  const text = event.target instanceof Element ? tips.get(event.target) : undefined;
  if (text === undefined) return hide();
  tip.textContent = text;
  tip.hidden = false;
  const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
  const below = event.clientY + 18 + tip.offsetHeight < innerHeight;
  tip.style.left = Math.max(8, Math.min(event.clientX + 14, room)) + scrollX + 'px';
  tip.style.top = (below ? event.clientY + 18 : event.clientY - tip.offsetHeight - 10) + scrollY + 'px';
});
document.addEventListener('pointerleave', hide);
document.addEventListener('keydown', event => { if (event.key === 'Escape') hide(); });
)JS";
}

}  // namespace tessera::report
