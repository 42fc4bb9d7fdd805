// What a reader could stumble over; a list of sentences. Evaluated in a page by test_report.py.
(() => {
  const found = [];
  const name = e => e.tagName.toLowerCase() + (e.className.baseVal ?? e.className ? '.' + (e.className.baseVal ?? e.className) : '');
  const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const light = ([r, g, b]) => {
    const f = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
  };
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c[3] > 0) return c;
    }
    return [255, 255, 255, 1];
  };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };

  // Text: WCAG 2 AA, 4.5 to 1. Marks: 3 to 1.
  for (const e of document.querySelectorAll('body *')) {
    const style = getComputedStyle(e);
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.closest('title, style, details:not([open]) > :not(summary)') || style.display === 'none') continue;
    const color = parse(e instanceof SVGElement ? style.fill : style.color);
    const ratio = contrast(color, behind(e));
    if (ratio < 4.5) found.push(`${name(e)} '${e.textContent.trim().slice(0, 30)}' has a contrast of ${ratio.toFixed(2)}`);
  }
  for (const e of document.querySelectorAll('svg .l, svg circle, svg rect')) {
    const style = getComputedStyle(e);
    const paint = style.fill === 'none' ? style.stroke : style.fill;
    const ratio = contrast(parse(paint), behind(e));
    if (ratio < 3) found.push(`a mark of ${name(e.closest('svg'))} ${name(e)} has a contrast of ${ratio.toFixed(2)}`);
  }

  // Names for who does not see.
  for (const e of document.querySelectorAll('svg')) {
    const by = e.getAttribute('aria-labelledby');
    const title = by ? document.getElementById(by) : e.querySelector('title');
    const text = title ? title.textContent : e.getAttribute('aria-label');
    if (e.getAttribute('role') !== 'img' || !text || !text.trim()) found.push('a picture has no name');
  }
  for (const e of document.querySelectorAll('[role=region], [role=group], a, summary, button')) {
    if (!(e.getAttribute('aria-label') || e.textContent).trim()) found.push(`${name(e)} has no name`);
  }
  for (const e of document.querySelectorAll('th')) {
    if (!(e.getAttribute('aria-label') || e.textContent).trim()) found.push('a column has no name');
  }
  for (const e of document.querySelectorAll('input, select, textarea')) {
    if (e.labels.length === 0 && !e.getAttribute('aria-label')) found.push(`${name(e)} has no label`);
  }
  if (!document.title.trim()) found.push('the page has no title');
  // WCAG 2.2 AA: a finger hits it.
  for (const e of document.querySelectorAll('button, input, select, summary')) {
    const box = e.getBoundingClientRect();
    if (box.width > 0 && Math.min(box.width, box.height) < 23.5) {
      found.push(`${name(e)} is ${box.width.toFixed(0)} x ${box.height.toFixed(0)} px, less than 24`);
    }
  }
  const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
  if (new Set(ids).size !== ids.length) found.push('two elements have one id');
  if (!document.documentElement.lang) found.push('the page has no language');
  let last = 0;
  for (const e of document.querySelectorAll('h1, h2, h3')) {
    const level = Number(e.tagName[1]);
    if (level > last + 1) found.push(`'${e.textContent}' skips a level of headings`);
    last = level;
  }

  // The keyboard reaches whatever scrolls.
  for (const e of document.querySelectorAll('body *')) {
    const scrolls = e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === 'auto';
    if (scrolls && e.tabIndex < 0) found.push(`${name(e)} scrolls, and the keyboard does not reach it`);
  }
  // Nothing sticks out sideways.
  if (document.documentElement.scrollWidth > innerWidth) {
    found.push(`the page is ${document.documentElement.scrollWidth} px wide in a window of ${innerWidth}`);
  }
  // Text of pictures is not smaller than 11 px as it is shown, on a phone neither.
  for (const e of document.querySelectorAll('svg')) {
    const text = e.querySelector('text'), width = e.getBoundingClientRect().width;
    const px = text && width > 0 ? parseFloat(getComputedStyle(text).fontSize) * width / e.viewBox.baseVal.width : 11;
    if (px < 10.995) found.push(`the text of a picture is ${px.toFixed(2)} px high`);
  }
  // Text of pictures is not cut off at their edges.
  for (const e of document.querySelectorAll('svg text')) {
    if (getComputedStyle(e).display === 'none') continue;
    const box = e.getBoundingClientRect(), frame = e.closest('svg').getBoundingClientRect();
    if (box.left < frame.left - 1 || box.right > frame.right + 1) found.push(`'${e.textContent}' sticks out of its picture`);
  }
  return found;
})()
