// Values of marks, for the charts of a page: near the pointer or a finger, and at the keyboard. chart_svg.c draws the charts; they
// are whole without this script. A mark is a group or a bar with a title.
(() => {
  'use strict';
  const NEAR_PX = 28; // of the drawing
  let tip = null, shown = null; // the chart of which the tip has a value

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  function hush() {
    if (!shown) return;
    tip.hidden = true;
    shown.marks[shown.at].e.classList.remove('at');
    shown.at = -1;
    shown = null;
  }

  // Shows what mark `i` of a chart says; of no mark, nothing.
  function point(chart, i) {
    hush();
    const mark = chart.marks[i];
    if (!mark) return;
    if (!tip) {
      tip = document.body.appendChild(document.createElement('div'));
      tip.className = 'tip';
      tip.setAttribute('role', 'status');
    }
    shown = chart;
    chart.at = i;
    mark.e.classList.add('at');
    tip.textContent = mark.text;
    tip.hidden = false;
    const box = chart.svg.getBoundingClientRect(), scale = box.width / chart.width, width = document.documentElement.clientWidth;
    const left = box.left + mark.x * scale - tip.offsetWidth / 2, y = box.top + mark.y * scale, above = y - tip.offsetHeight - 12;
    tip.style.left = `${clamp(left, 4, Math.max(4, width - tip.offsetWidth - 4)) + scrollX}px`;
    tip.style.top = `${(above < 4 ? y + 14 : above) + scrollY}px`;
  }

  // To the box of a mark; inside, 0.
  const distance = ({box: [x, y, width, height]}, px, py) =>
    Math.hypot(Math.max(x - px, px - x - width, 0), Math.max(y - py, py - y - height, 0));

  function onPointer(chart, event) {
    const frame = chart.svg.getBoundingClientRect(), scale = chart.width / frame.width;
    let best = -1, least = NEAR_PX;
    chart.marks.forEach((mark, i) => {
      const far = distance(mark, (event.clientX - frame.left) * scale, (event.clientY - frame.top) * scale);
      if (far < least) [best, least] = [i, far];
    });
    if (best !== chart.at) point(chart, best);
  }

  function onKey(chart, event) {
    const last = chart.marks.length - 1;
    const next = {ArrowRight: Math.min(chart.at + 1, last), ArrowLeft: Math.max(chart.at - 1, 0), Home: 0, End: last, Escape: -1}[event.key];
    if (next === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    point(chart, next);
  }

  // ---- what a chart has ----

  function marksOf(svg) {
    return [...svg.querySelectorAll(':is(g[transform], rect) > title')].map(title => {
      const e = title.parentElement, text = title.textContent;
      title.remove(); // a browser would show it, too
      if (e.tagName === 'g') {
        const [x, y] = e.getAttribute('transform').match(/-?[\d.]+/g).map(Number);
        return {e, text, x, y, box: [x, y, 0, 0]};
      }
      const box = ['x', 'y', 'width', 'height'].map(name => Number(e.getAttribute(name)));
      return {e, text, x: box[0] + box[2] / 2, y: box[1], box};
    });
  }

  function begin(svg) {
    const title = svg.querySelector('title');
    if (!title) return;
    const chart = {svg, width: svg.viewBox.baseVal.width, at: -1, marks: marksOf(svg)};
    const box = document.createElement('div');
    box.className = 'chart';
    box.tabIndex = 0;
    box.setAttribute('role', 'group');
    box.setAttribute('aria-label', `${title.textContent}. Arrow keys: one value after the other`);
    svg.replaceWith(box);
    box.append(svg);
    box.addEventListener('keydown', event => onKey(chart, event));
    box.addEventListener('blur', () => { if (shown === chart) hush(); });
    for (const name of ['pointermove', 'pointerdown']) svg.addEventListener(name, event => onPointer(chart, event));
    // A finger leaves when it is lifted; what it touched stays until it touches something else.
    svg.addEventListener('pointerleave', event => { if (shown === chart && event.pointerType === 'mouse') hush(); });
  }

  document.addEventListener('pointerdown', event => { if (shown && !shown.svg.contains(event.target)) hush(); });
  document.querySelectorAll('figure svg').forEach(begin);
})();
