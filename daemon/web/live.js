// Follows the run, or the list of runs, that this page shows. The page is whole without it.
(() => {
  'use strict';
  const live = document.body.dataset.live, part = document.getElementById('part');
  if (!live || !part) return;
  const EVERY_MS = 500, RETRY_MS = 5000;
  let phases = new Map(); // of the runs in the last state of the list
  let figures = part.dataset.figures, isOver = false, isFollowing = false;
  let isAsking = false, askAgain = false;

  const byId = id => document.getElementById(id);
  const write = (element, text) => { if (element && element.textContent !== text) element.textContent = text; };
  const sleep = ms => new Promise(done => setTimeout(done, ms));

  // The new content keeps what the reader has done: open details, scrolled tables.
  function replace(html) {
    const next = new DOMParser().parseFromString(html, 'text/html').body;
    const boxes = root => [...root.querySelectorAll('details, .scroll')];
    const before = boxes(part), after = boxes(next);
    const scrolled = before.map(box => box.scrollLeft);
    before.forEach((box, i) => { if (box.open && after[i]) after[i].open = true; });
    part.replaceChildren(...next.childNodes);
    boxes(part).forEach((box, i) => { box.scrollLeft = scrolled[i] ?? 0; });
  }

  // One question at a time; what happens meanwhile is asked once more. Watchers do not ask in one moment. What has no answer
  // now is asked again.
  async function refresh() {
    if (isAsking) { askAgain = true; return; }
    isAsking = true;
    do {
      askAgain = false;
      await sleep(Math.random() * 200);
      const url = new URL(location.href);
      url.searchParams.set('part', '1');
      try {
        const answer = await fetch(url, {cache: 'no-store'});
        if (answer.ok) {
          replace(await answer.text());
        } else if (answer.status === 404) {
          isOver = true;
          write(byId('link'), 'benchd does not have this run any more. What is shown is the last that it said.');
        } else {
          askAgain = answer.status >= 500;
          await sleep(askAgain ? 2000 : 0);
        }
      } catch { // benchd, or what lies between, cannot be reached
        askAgain = true;
        await sleep(RETRY_MS);
      }
    } while (askAgain);
    isAsking = false;
  }

  function stepText(run) {
    const step = run.progress;
    if (!step) return run.wait ? `waits: ${run.wait}` : '';
    const rate = step.stepNs > 0 ? step.samples / (step.stepNs / 1e9) : 0;
    const loss = step.loss === null ? '' : `, loss ${step.loss.toPrecision(4)}`;
    const what = step.warmup ? 'warm-up step' : `step ${step.step + 1} of ${run.steps}`;
    return `${step.role}/${step.index}: ${what}, ${rate.toPrecision(4)} samples/s of this one${loss}`;
  }

  function showRun(run) {
    write(byId('phase'), run.phase);
    write(byId('trials'), `${run.done} of ${run.total} trials${run.failed > 0 ? `, ${run.failed} failed` : ''}`);
    const now = run.current;
    write(byId('now'), now ? `point ${now.point}, trial ${now.trial}, attempt ${now.attempt}` : '');
    write(byId('message'), run.message);
    write(byId('step'), stepText(run));
    const bar = byId('bar');
    if (bar && run.total > 0) { bar.max = run.total; bar.value = run.done; }
    if (run.figures !== figures) {
      figures = run.figures;
      refresh();
    }
    if (run.over) {
      isOver = true;
      write(byId('link'), 'The run has ended.');
    }
  }

  function showRuns(state) {
    const phase = new URLSearchParams(location.search).get('phase');
    const now = new Map(state.runs.map(run => [run.name, run.phase]));
    let isNew = [...phases.keys()].some(name => !now.has(name)); // deleted, or ended long ago
    for (const run of state.runs) {
      const row = part.querySelector(`[data-run="${CSS.escape(run.name)}"]`);
      if (row) {
        const cell = name => row.querySelector(`[data-is=${name}]`);
        isNew = isNew || (phase && phase !== run.phase && phases.get(run.name) !== run.phase);
        write(cell('phase'), run.phase);
        write(cell('trials'), `${run.done}/${run.total}`);
        write(cell('failed'), `${run.failed}`);
      } else if (phases.get(run.name) !== run.phase) { // a new run, or one that a search may find now
        isNew = true;
      }
    }
    phases = now;
    if (isNew) refresh();
  }

  // A page that nobody looks at asks for nothing.
  async function follow() {
    if (isFollowing) return;
    isFollowing = true;
    while (!isOver && !document.hidden) {
      let wait = EVERY_MS;
      try {
        const answer = await fetch(live, {cache: 'no-store'});
        if (answer.ok) {
          const state = await answer.json();
          write(byId('link'), 'Live: what changes is shown at once.');
          (state.runs ? showRuns : showRun)(state);
        } else { // it ended long ago, or was deleted: the page says so
          wait = RETRY_MS;
          refresh();
        }
      } catch {
        write(byId('link'), 'Not connected. This page tries again every few seconds.');
        wait = RETRY_MS;
      }
      await sleep(wait);
    }
    isFollowing = false;
  }
  document.addEventListener('visibilitychange', follow);

  const find = document.querySelector('.find');
  let typed = 0;
  if (find) {
    find.addEventListener('input', () => {
      clearTimeout(typed);
      typed = setTimeout(() => {
        history.replaceState(null, '', '?' + new URLSearchParams(new FormData(find)));
        refresh();
      }, 250);
    });
  }
  follow();
})();
