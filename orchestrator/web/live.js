"use strict";
// Replaces the blocks of a page that the server sends anew; focus, open details and sorted columns stay.
if (document.body.hasAttribute("data-live")) {
  const status = document.getElementById("connection"), pause = document.createElement("button");
  const reachable = "a[href], button, input, select, summary, [tabindex]";
  let source = null, isPaused = false;

  const replace = (block, html) => {
    const inside = [...block.querySelectorAll(reachable)], held = inside.indexOf(document.activeElement);
    const open = new Map([...block.querySelectorAll("details[id]")].map(one => [one.id, one.open]));
    const scrolled = [...block.querySelectorAll(".scroll")].map(one => one.scrollLeft);
    block.innerHTML = html;
    open.forEach((isOpen, id) => {
      const found = document.getElementById(id);
      if (found) found.open = isOpen;
    });
    block.querySelectorAll("table").forEach(enhance);
    tellMarks(block);
    block.querySelectorAll(".scroll").forEach((one, place) => { one.scrollLeft = scrolled[place] || 0; });
    if (held >= 0) block.querySelectorAll(reachable)[held]?.focus({preventScroll: true});
  };

  // The text that the block came with: tables have been enhanced since.
  const shown = new Map();
  const listen = () => {
    source = new EventSource("/events?page=" + encodeURIComponent(location.pathname + location.search));
    source.onopen = () => { status.textContent = "live"; };
    source.onerror = () => { status.textContent = "connection lost, trying again"; };
    source.onmessage = message => {
      for (const [name, html] of Object.entries(JSON.parse(message.data))) {
        const block = document.querySelector(`[data-block="${name}"]`);
        if (block && shown.get(name) !== html) replace(block, html);
        shown.set(name, html);
      }
    };
  };
  const update = () => {
    const wanted = !isPaused && !document.hidden;
    if (wanted && source === null) listen();
    if (!wanted && source !== null) {
      source.close();
      source = null;
    }
    if (isPaused) status.textContent = "paused";
  };
  pause.type = "button";
  pause.textContent = "Pause updates";
  pause.addEventListener("click", () => {
    isPaused = !isPaused;
    pause.textContent = isPaused ? "Go on" : "Pause updates";
    update();
  });
  status.parentNode.append(pause);
  // Browsers keep few connections to one server open: a page that nobody sees needs none.
  document.addEventListener("visibilitychange", update);
  update();
}
