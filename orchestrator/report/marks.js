"use strict";
// Shows the tooltips of a chart's marks: of the one nearest to the pointer, or of the one that arrow keys have reached.
{
  const near = 24; // Pixels up to which a mark is meant.
  const marksOf = svg => [...svg.querySelectorAll('[role="graphics-symbol"][aria-label]')];
  const tooltip = chart => chart.querySelector(".tooltip") ?? chart.appendChild(
    Object.assign(document.createElement("div"), {className: "tooltip", hidden: true, ariaHidden: "true"}));
  const hide = chart => { tooltip(chart).hidden = true; };
  const show = (chart, mark) => {
    const tip = tooltip(chart), whole = chart.getBoundingClientRect(), box = mark.getBoundingClientRect();
    tip.textContent = mark.ariaLabel;
    tip.hidden = false;
    const middle = (box.left + box.right) / 2 - whole.left - tip.offsetWidth / 2;
    const above = box.top - whole.top - tip.offsetHeight - 8;
    tip.style.left = `${Math.max(0, Math.min(middle, whole.width - tip.offsetWidth))}px`;
    tip.style.top = `${above + whole.top < 0 ? box.bottom - whole.top + 8 : above}px`;
  };
  const apart = (event, box) => Math.hypot(
    Math.max(box.left - event.clientX, 0, event.clientX - box.right),
    Math.max(box.top - event.clientY, 0, event.clientY - box.bottom));
  const nearest = (svg, event) => {
    let found = null, least = near;
    for (const mark of marksOf(svg)) {
      const distance = apart(event, mark.getBoundingClientRect());
      if (distance <= least) [found, least] = [mark, distance];
    }
    return found;
  };
  const steps = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity};

  // One listener for all charts, also those that come later; a chart is one stop of the tab key.
  if (!globalThis.marksAreTold) {
    globalThis.marksAreTold = true;
    document.addEventListener("pointermove", event => {
      const chart = event.target.closest?.(".chart"), svg = event.target.closest?.("svg");
      document.querySelectorAll(".chart > .tooltip:not([hidden])").forEach(tip => {
        if (tip.parentNode !== chart && !tip.parentNode.contains(document.activeElement)) tip.hidden = true;
      });
      const mark = chart && svg && nearest(svg, event);
      if (mark) show(chart, mark);
      else if (chart) hide(chart);
    });
    document.addEventListener("focusin", event => {
      const chart = event.target.closest(".chart");
      if (chart && event.target.matches('[role="graphics-symbol"]')) show(chart, event.target);
    });
    document.addEventListener("focusout", event => {
      const chart = event.target.closest(".chart");
      if (chart) hide(chart);
    });
    document.addEventListener("keydown", event => {
      const mark = event.target, chart = mark.closest?.(".chart");
      if (!chart || !mark.matches('[role="graphics-symbol"]')) return;
      if (event.key === "Escape") hide(chart);
      if (!(event.key in steps)) return;
      event.preventDefault();
      const all = marksOf(mark.closest("svg"));
      const next = all[Math.max(0, Math.min(all.length - 1, all.indexOf(mark) + steps[event.key]))];
      mark.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
    globalThis.tellMarks = inside => inside.querySelectorAll(".chart svg").forEach(svg => {
      marksOf(svg).forEach((mark, place) => { mark.tabIndex = place ? -1 : 0; });
    });
  }
  tellMarks(document);
}
