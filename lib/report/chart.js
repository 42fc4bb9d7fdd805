// Values under the pointer and at the keyboard, and zoom, for the charts of a page. chart_svg.c draws them; they are whole
// without this script. A chart's group .plot says its axes in data-x and data-y: the values at both ends, and their pixels.
// Zooming moves what the group holds, so that marks, intervals and letters keep their size.
(() => {
  'use strict';
  const NEAR_PX = 28, DRAG_PX = 6, MAX_ZOOM = 64, NARROW_PX = 200;
  const zooms = new Map(); // name of a chart: the part of its x axis; a page that follows a run draws its charts anew
  let tip = null, tipOf = null, n_clips = 0;

  const make = name => document.createElementNS(document.querySelector('svg').namespaceURI, name);
  const numbers = text => text.split(' ').map(Number);
  const attribute = (e, name) => Number(e.getAttribute(name));
  const axis = text => { const [low, high, from, to] = numbers(text); return {low, high, from, to}; };
  const toPx = (a, value) => a.from + (value - a.low) / (a.high - a.low) * (a.to - a.from);
  const toValue = (a, px) => a.low + (px - a.from) / (a.to - a.from) * (a.high - a.low);
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  // ---- what is said of a mark ----

  function say(chart, text, x, y) {
    if (!tip) {
      tip = document.body.appendChild(document.createElement('div'));
      tip.className = 'tip';
      tip.setAttribute('role', 'status');
    }
    tipOf = chart.svg;
    tip.textContent = text;
    tip.hidden = false;
    const box = chart.svg.getBoundingClientRect(), scale = box.width / chart.width;
    const left = box.left + x * scale - tip.offsetWidth / 2, above = box.top + y * scale - tip.offsetHeight - 12;
    tip.style.left = `${clamp(left, 4, Math.max(4, document.documentElement.clientWidth - tip.offsetWidth - 4)) + scrollX}px`;
    tip.style.top = `${(above < 4 ? box.top + y * scale + 14 : above) + scrollY}px`;
  }

  function hush(chart) {
    if (tip) tip.hidden = true;
    chart.at = -1;
    chart.svg.querySelectorAll('.at').forEach(e => e.classList.remove('at'));
  }

  function point(chart, i) {
    hush(chart);
    const mark = chart.marks[i];
    if (!mark) return;
    chart.at = i;
    if (mark.e) mark.e.classList.add('at');
    const [x, y] = mark.where();
    if (chart.cursor) chart.cursor(x, y);
    say(chart, mark.text, x, y);
  }

  const isShown = (chart, mark) => {
    const [x] = mark.where();
    return !chart.x || (x >= chart.left - 1 && x <= chart.right + 1);
  };

  function nearest(chart, x, y) {
    let best = -1, least = NEAR_PX;
    chart.marks.forEach((mark, i) => {
      if (!isShown(chart, mark)) return;
      const far = mark.far ? mark.far(x, y) : Math.hypot(mark.where()[0] - x, mark.where()[1] - y);
      if (far < least) [best, least] = [i, far];
    });
    return best;
  }

  // ---- zoom ----

  function niceStep(span, n) {
    const raw = span / n, power = 10 ** Math.floor(Math.log10(raw)), factor = raw / power;
    return (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10) * power;
  }

  const format = (value, unit) => {
    const digits = v => `${Number(v.toPrecision(10))}`;
    if (unit === 'number') return digits(value);
    if (unit === 'percent') return `${digits(100 * value)}%`;
    const change = Math.round(1e4 * (value - 1)) / 100;
    return `${change > 0 ? '+' : ''}${digits(change)}%`;
  };

  // The numbers of an axis that had round ones: new round ones.
  function drawTicks(group, a, unit, isX) {
    const [line, text] = [group.querySelector('line'), group.querySelector('text')];
    const step = niceStep(a.high - a.low, !isX ? 5 : a.to - a.from < NARROW_PX ? 3 : 4), ticks = [];
    for (let i = Math.ceil(a.low / step - 1e-9); i * step <= a.high + step * 1e-9; i++) {
      const px = toPx(a, i * step), l = line.cloneNode(), t = text.cloneNode();
      for (const name of isX ? ['x1', 'x2'] : ['y1', 'y2']) l.setAttribute(name, px);
      t.setAttribute(isX ? 'x' : 'y', isX ? px : px + 4);
      t.textContent = format(i * step, unit);
      ticks.push(l, t);
    }
    group.replaceChildren(...ticks);
  }

  // The numbers of an axis that had one at each value that was measured: the same, where they are now.
  function moveTicks(chart, x) {
    let free = -Infinity;
    for (const text of chart.xTicks.querySelectorAll('text')) {
      const px = x(chart.first.get(text).x), line = text.previousElementSibling, half = text.textContent.length * 3.1;
      const isThere = px >= chart.left - 1 && px <= chart.right + 1 && px - half > free;
      text.setAttribute('x', px);
      line.setAttribute('x1', px);
      line.setAttribute('x2', px);
      for (const e of [text, line]) e.classList.toggle('o', !isThere);
      if (isThere) free = px + half + 6;
    }
  }

  // Where all elements were when the page came.
  function remember(chart) {
    chart.first = new Map();
    for (const e of chart.svg.querySelectorAll('.plot *, [data-ticks] text')) {
      const place = {};
      for (const name of ['x', 'x1', 'x2', 'y1', 'y2', 'width', 'd', 'transform']) {
        const text = e.getAttribute(name);
        if (text !== null) place[name] = name === 'd' ? text : name === 'transform' ? text.match(/-?[\d.]+/g).map(Number) : Number(text);
      }
      chart.first.set(e, place);
    }
  }

  // x and y: from the first pixel to that of now.
  function move(chart, x, y) {
    for (const e of chart.plot.querySelectorAll('line, rect, path, g[transform]')) {
      const parent = e.closest('[data-dodge]'), dodge = parent ? attribute(parent, 'data-dodge') : 0;
      const place = chart.first.get(e), across = px => x(px - dodge) + dodge;
      if (e.parentElement.hasAttribute('transform')) continue; // the shape of a mark
      if (place.transform) {
        e.setAttribute('transform', `translate(${across(place.transform[0])} ${y(place.transform[1])})`);
      } else if (place.d !== undefined) {
        e.setAttribute('d', place.d.replace(/([ML])([-\d.]+) ([-\d.]+)/g, (_, to, px, py) => `${to}${across(Number(px))} ${y(Number(py))}`));
      } else if (place.width !== undefined) {
        e.setAttribute('x', x(place.x));
        e.setAttribute('width', Math.max(x(place.x + place.width) - x(place.x), 0.4));
      } else {
        const isLevel = e.classList.contains('ref') && place.y1 === place.y2;
        e.setAttribute('x1', isLevel ? place.x1 : across(place.x1));
        e.setAttribute('x2', isLevel ? place.x2 : across(place.x2));
        e.setAttribute('y1', y(place.y1));
        e.setAttribute('y2', y(place.y2));
      }
    }
  }

  // The y axis that holds the marks and intervals between two values of x.
  function fitY(chart, low, high) {
    let least = Infinity, most = -Infinity;
    for (const [e, place] of chart.first) {
      const isMark = place.transform !== undefined, isWhisker = e.classList.contains('w');
      if (!chart.plot.contains(e) || !(isMark || isWhisker)) continue;
      const value = toValue(chart.x, (isMark ? place.transform[0] : place.x1) - attribute(e.closest('[data-dodge]'), 'data-dodge'));
      if (value < low - 1e-9 || value > high + 1e-9) continue;
      for (const px of isMark ? [place.transform[1]] : [place.y1, place.y2]) {
        least = Math.min(least, toValue(chart.y, px));
        most = Math.max(most, toValue(chart.y, px));
      }
    }
    if (!(most > least)) return chart.y;
    const step = niceStep(most - least, 5);
    return {...chart.y, low: step * Math.floor(least / step), high: step * Math.ceil(most / step)};
  }

  function clip(chart) {
    const path = make('clipPath'), rect = make('rect');
    path.id = `clip-${n_clips++}`;
    const box = {x: chart.left - 8, y: chart.top - 6, width: chart.right - chart.left + 16, height: chart.bottom - chart.top + 12};
    for (const [name, value] of Object.entries(box)) rect.setAttribute(name, value);
    path.append(rect);
    chart.svg.append(path);
    chart.plot.setAttribute('clip-path', `url(#${path.id})`);
  }

  // Shows x from low to high; all of it where that is nearly all.
  function zoom(chart, low, high) {
    const whole = chart.x.high - chart.x.low, span = clamp(high - low, whole / MAX_ZOOM, whole);
    low = clamp((low + high - span) / 2, chart.x.low, chart.x.high - span);
    const isWhole = span > 0.98 * whole;
    const x = isWhole ? chart.x : {...chart.x, low, high: low + span};
    const y = !chart.y ? null : isWhole ? chart.y : fitY(chart, low, low + span);
    chart.now = x;
    if (isWhole) zooms.delete(chart.name); else zooms.set(chart.name, [low, low + span]);
    if (!chart.plot.hasAttribute('clip-path')) clip(chart);
    const across = px => toPx(x, toValue(chart.x, px)), up = px => (y ? toPx(y, toValue(chart.y, px)) : px);
    move(chart, across, up);
    if (chart.kind === 'lines') {
      moveTicks(chart, across);
      drawTicks(chart.yTicks, y, chart.yTicks.dataset.ticks.split(' ')[1], false);
    } else {
      drawTicks(chart.xTicks, x, chart.xTicks.dataset.ticks.split(' ')[1], true);
    }
    chart.buttons[1].disabled = isWhole;
    chart.buttons[2].disabled = isWhole;
    const at = chart.at;
    hush(chart);
    if (at >= 0 && isShown(chart, chart.marks[at])) point(chart, at);
  }

  function zoomBy(chart, factor) {
    const span = (chart.now.high - chart.now.low) * factor, mark = chart.marks[chart.at];
    const middle = mark ? toValue(chart.now, mark.where()[0]) : (chart.now.low + chart.now.high) / 2;
    zoom(chart, middle - span / 2, middle + span / 2);
  }

  // ---- what the reader does ----

  function step(chart, by) {
    for (let i = chart.at + by; i >= 0 && i < chart.marks.length; i += by) {
      if (isShown(chart, chart.marks[i])) return point(chart, i);
    }
    return undefined;
  }

  function onKey(chart, event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const does = {
      ArrowRight: () => step(chart, 1), ArrowLeft: () => step(chart, chart.at < 0 ? 0 : -1),
      Home: () => { chart.at = -1; step(chart, 1); }, End: () => { chart.at = chart.marks.length; step(chart, -1); },
      Escape: () => hush(chart),
    };
    if (chart.x) {
      does['+'] = does['='] = () => zoomBy(chart, 0.5);
      does['-'] = () => zoomBy(chart, 2);
      does['0'] = () => zoom(chart, chart.x.low, chart.x.high);
    }
    if (!does[event.key]) return;
    event.preventDefault();
    does[event.key]();
  }

  const place = (chart, event) => {
    const box = chart.svg.getBoundingClientRect(), scale = chart.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  };

  // A mouse drags over what it wants to see larger. A finger scrolls the page; it has the buttons.
  function listenToDrags(chart) {
    const {svg} = chart, shade = make('rect');
    let from = null;
    shade.setAttribute('class', 'drag');
    svg.addEventListener('pointerdown', event => {
      const [x, y] = place(chart, event);
      if (event.pointerType !== 'mouse' || event.button !== 0 || x < chart.left || x > chart.right || y > chart.bottom) return;
      from = x;
      svg.setPointerCapture(event.pointerId);
      event.preventDefault();
      chart.box.focus({preventScroll: true});
    });
    svg.addEventListener('pointermove', event => {
      if (from === null) return;
      const to = clamp(place(chart, event)[0], chart.left, chart.right);
      if (!shade.parentNode && Math.abs(to - from) > DRAG_PX) svg.append(shade);
      const box = {x: Math.min(from, to), y: chart.top, width: Math.abs(to - from), height: chart.bottom - chart.top};
      for (const [name, value] of Object.entries(box)) shade.setAttribute(name, value);
    });
    svg.addEventListener('pointerup', event => {
      const [start, end] = [from, clamp(place(chart, event)[0], chart.left, chart.right)];
      from = null;
      shade.remove();
      if (start === null || Math.abs(end - start) <= DRAG_PX) return;
      zoom(chart, toValue(chart.now, Math.min(start, end)), toValue(chart.now, Math.max(start, end)));
    });
    svg.addEventListener('pointercancel', () => { from = null; shade.remove(); });
    svg.addEventListener('dblclick', () => zoom(chart, chart.x.low, chart.x.high));
  }

  function addButtons(chart) {
    const bar = document.createElement('div');
    bar.className = 'zoom';
    chart.buttons = [['+', 'Zoom in', () => zoomBy(chart, 0.5)], ['\u2212', 'Zoom out', () => zoomBy(chart, 2)],
      ['all', 'Show all', () => zoom(chart, chart.x.low, chart.x.high)]].map(([sign, name, does], i) => {
      const button = bar.appendChild(document.createElement('button'));
      button.type = 'button';
      button.textContent = sign;
      button.title = name;
      button.setAttribute('aria-label', `${name}: ${chart.title}`);
      button.disabled = i > 0;
      button.addEventListener('click', does);
      return button;
    });
    chart.box.before(bar);
  }

  // ---- what a chart has ----

  const titleOf = e => { const title = e.querySelector(':scope > title'); const text = title.textContent; title.remove(); return text; };

  function marksOf(chart) {
    return [...chart.plot.querySelectorAll('g[transform], rect')].filter(e => e.querySelector(':scope > title')).map(e => {
      const text = titleOf(e);
      if (e.tagName === 'g') return {e, text, where: () => numbers(e.getAttribute('transform').slice(10, -1))};
      const edges = () => ['x', 'y', 'width', 'height'].map(name => attribute(e, name));
      return {
        e, text,
        where: () => { const [x, y, w] = edges(); return [clamp(x + w / 2, Math.min(x + w, chart.left), Math.max(x, chart.right)), y]; },
        far: (px, py) => { const [x, y, w, h] = edges(); return Math.hypot(Math.max(x - px, px - x - w, 0), Math.max(y - py, py - y - h, 0)); },
      };
    });
  }

  // The steps of a replica as a line, without axes.
  function sparkMarks(chart, path) {
    const {height} = chart, [most, steps, each] = ['ms', 'steps', 'each'].map(name => Number(path.dataset[name]));
    const places = [...path.getAttribute('d').matchAll(/[ML]([-\d.]+) ([-\d.]+)/g)].map(m => [Number(m[1]), Number(m[2])]);
    return places.map(([x, y], i) => {
      const ms = most * (height - 2 - y) / (height - 4), last = Math.min((i + 1) * each, steps);
      const which = each === 1 ? `step ${i + 1}` : `steps ${i * each + 1} to ${last}, mean`;
      return {text: `${which}: ${ms.toPrecision(3)} ms`, where: () => [x, y], far: px => Math.abs(px - x)};
    });
  }

  function enclose(chart) {
    chart.box = document.createElement('div');
    chart.box.className = 'chart';
    chart.box.tabIndex = 0;
    chart.box.setAttribute('role', 'group');
    chart.box.setAttribute('aria-label', `${chart.title}. Arrow keys: one value after the other${chart.x ? '; plus, minus and 0: zoom' : ''}`);
    chart.svg.replaceWith(chart.box);
    chart.box.append(chart.svg);
    chart.box.addEventListener('keydown', event => onKey(chart, event));
    chart.box.addEventListener('blur', () => hush(chart));
    chart.svg.addEventListener('pointermove', event => {
      const [x, y] = place(chart, event), i = nearest(chart, x, y);
      if (i !== chart.at) point(chart, i);
    });
    chart.svg.addEventListener('pointerleave', () => hush(chart));
  }

  function bounds(chart) {
    const ticks = [...chart.svg.querySelectorAll('[data-ticks] line')].map(e => ['x1', 'x2', 'y1', 'y2'].map(name => attribute(e, name)));
    if (chart.kind === 'lines') {
      const [low, high] = [chart.x.from - 24, chart.x.to + 22]; // marks stand off the frame
      return {left: low, right: high, top: chart.y.to, bottom: chart.y.from};
    }
    return {left: chart.x.from, right: chart.x.to, top: Math.min(...ticks.map(t => t[2])), bottom: Math.max(...ticks.map(t => t[3]))};
  }

  function begin(svg) {
    const plot = svg.querySelector('.plot'), path = svg.querySelector('path[data-ms]');
    if (svg.closest('.chart') || !(plot || path)) return;
    const {width, height} = svg.viewBox.baseVal;
    const chart = {svg, plot, width, height, at: -1, title: svg.querySelector('title').textContent};
    if (path) {
      chart.marks = sparkMarks(chart, path);
      svg.querySelector('title').remove();
      svg.setAttribute('aria-label', chart.title);
      enclose(chart);
      const dot = svg.appendChild(make('circle'));
      dot.setAttribute('r', 2.5);
      dot.setAttribute('class', 's0 dot');
      chart.cursor = (x, y) => { dot.setAttribute('cx', x); dot.setAttribute('cy', y); dot.classList.add('at'); };
      return;
    }
    chart.name = svg.querySelector('title').id;
    chart.kind = plot.dataset.kind;
    chart.x = chart.now = axis(plot.dataset.x);
    chart.y = plot.dataset.y ? axis(plot.dataset.y) : null;
    [chart.xTicks, chart.yTicks] = ['x', 'y'].map(name => svg.querySelector(`[data-ticks^=${name}]`));
    Object.assign(chart, bounds(chart));
    chart.marks = marksOf(chart);
    remember(chart);
    enclose(chart);
    addButtons(chart);
    listenToDrags(chart);
    if (zooms.has(chart.name)) zoom(chart, ...zooms.get(chart.name));
  }

  function beginAll() {
    if (tip && tipOf && !tipOf.isConnected) tip.hidden = true;
    document.querySelectorAll('figure svg').forEach(begin);
  }
  new MutationObserver(beginAll).observe(document.body, {childList: true, subtree: true});
  beginAll();
})();
