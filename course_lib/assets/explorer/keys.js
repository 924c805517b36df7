// Everything that a pointer can do on the stage, done by keys.

// `stage` has: scene(), focus(), moveTo(focus), choose(patch), lock(query), open(place), across().
function listenToKeys(node, stage) {
  const headAfter = (step) => {
    const { a, state } = stage.scene();
    const place = state.head === MEAN ? a.nHeads : state.head; // the mean stands after the last head
    const next = Math.max(0, Math.min(a.nHeads > 1 ? a.nHeads : 0, place + step));
    return next === a.nHeads ? MEAN : next;
  };
  const layerAfter = (step) => stage.scene().state.layer + step;

  const walk = (rows, columns) => {
    const { axes, locked } = stage.scene(), focus = stage.focus();
    const into = (value, groups) => Math.max(0, Math.min(groups.length - 1, value));
    const from = { query: focus?.query ?? locked ?? 0, key: focus?.key ?? 0 };
    // The first key pressed shows where one is, those after it walk.
    const [down, right] = focus ? [rows, columns] : [0, 0];
    stage.moveTo({ query: into(from.query + down, axes.queries), key: into(from.key + right, axes.keys) });
  };
  const lockHere = () => stage.lock(stage.focus()?.query ?? stage.scene().locked ?? 0);
  const cells = {
    ArrowUp: () => walk(-1, 0), ArrowDown: () => walk(1, 0),
    ArrowLeft: () => walk(0, -1), ArrowRight: () => walk(0, 1),
    Home: () => walk(0, -Infinity), End: () => walk(0, Infinity),
    Enter: lockHere, " ": lockHere,
  };

  const walkRows = (rows) => stage.choose(stage.scene().state.view === "grid"
    ? { layer: layerAfter(rows) } : { head: headAfter(rows * stage.across()) });
  const openChosen = () => stage.open(stage.scene().state);
  const heads = {
    ArrowUp: () => walkRows(-1), ArrowDown: () => walkRows(1),
    ArrowLeft: () => stage.choose({ head: headAfter(-1) }), ArrowRight: () => stage.choose({ head: headAfter(1) }),
    Home: () => stage.choose({ head: 0 }), End: () => stage.choose({ head: headAfter(Infinity) }),
    Enter: openChosen, " ": openChosen,
  };

  const turn = (step, shift) => stage.choose(shift ? { layer: layerAfter(step) } : { head: headAfter(step) });
  node.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const everywhere = {
      PageUp: () => turn(-1, event.shiftKey), PageDown: () => turn(1, event.shiftKey),
      Escape: () => { stage.moveTo(null); stage.choose({ query: null }); },
    };
    const action = everywhere[event.key] ?? (isOverview(stage.scene().state.view) ? heads : cells)[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  });
}

// A matrix that is larger than its place is scrolled to the cell one walks to.
function keepInSight(scroller, { left, top, cell }, { query, key }) {
  const x = left + key * cell, y = top + query * cell;
  const { scrollLeft, scrollTop, clientWidth, clientHeight } = scroller;
  if (x < scrollLeft + left) scroller.scrollLeft = x - left;
  if (x + cell > scrollLeft + clientWidth) scroller.scrollLeft = x + cell - clientWidth;
  if (y < scrollTop + top) scroller.scrollTop = y - top;
  if (y + cell > scrollTop + clientHeight) scroller.scrollTop = y + cell - clientHeight;
}
