// What the pages need of the browser: a way back that leads to what was seen, links that do not load everything again,
// and keys. It stands in the front page, before Streamlit's own script.
(() => {
  "use strict";

  const asked = () => location.pathname + location.search;

  // The way back. Streamlit writes an entry into the history for every change of the address, those that a page makes
  // by itself too: without a person's hand in it, the entry takes the place of the one before. Before it leaves for
  // another page it writes what that page is asked for into the address of this one: the way back must not lead there.
  // And on the way back within one page Streamlit leaves the fields as they are, so that they would overwrite the
  // address: the page is loaded as its address asks for it.
  let isByHand = false;
  let seen = asked();
  const path = (address) => address.split("?")[0];

  for (const kind of ["pointerdown", "keydown"]) {
    addEventListener(kind, () => { isByHand = true; }, true);
  }

  const LEAVING = 3000; // milliseconds
  let written = { search: null, at: 0 };

  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  history.pushState = (state, unused, url) => {
    const next = new URL(url ?? location.href, location.href);
    // What a person does in a frame, as the SQL page's editor is one, is not heard here.
    isByHand ||= document.activeElement?.tagName === "IFRAME";
    const stays = next.pathname === location.pathname;
    const isLeaving = !stays && written.search === next.search && Date.now() - written.at < LEAVING;
    ((stays && !isByHand) || isLeaving ? replace : push)(state, unused, url);
    const isRecent = isByHand || Date.now() - written.at < LEAVING;
    written = stays && isRecent ? { search: next.search, at: Date.now() } : { search: null, at: 0 };
    isByHand = false;
    seen = asked();
  };
  history.replaceState = (state, unused, url) => {
    replace(state, unused, url);
    seen = asked();
  };

  addEventListener("popstate", (event) => {
    if (event.detail === "link") return;
    const before = seen;
    seen = asked();
    isByHand = false;
    if (before !== seen && path(before) === path(seen)) {
      event.stopImmediatePropagation();
      location.reload();
    }
  });

  // A figure's own address: the page is drawn piece by piece, so its place is waited for, and sought again while what
  // is drawn above moves it, unless the person scrolls by then. However long the page takes, steps are counted once it
  // has been drawn; on the way to it Streamlit may write the address of the page before once more.
  const STEP = 200, MOST = 300, LAST = 1500; // milliseconds; steps
  const isDrawn = () =>
    document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning" &&
    !document.querySelector("[data-testid=stMain] [data-testid^=stSkeleton]");
  const HANDS = ["wheel", "touchmove", "pointerdown", "keydown"];
  const seek = (place) => {
    if (!/^[a-z0-9-]+$/.test(place)) return;
    const page = location.pathname;
    let steps = 0, all = 0, last = null;
    const looking = setInterval(() => {
      const figure = document.querySelector(`.st-key-at-${place}`);
      const top = figure?.getBoundingClientRect().top ?? null;
      steps += location.pathname === page && isDrawn() ? 1 : 0;
      if (steps > MOST || ++all > LAST) return stop();
      if (top === last) return;
      figure?.scrollIntoView({ block: "start" });
      last = figure?.getBoundingClientRect().top ?? null;
    }, STEP);
    const stop = () => {
      clearInterval(looking);
      for (const kind of HANDS) removeEventListener(kind, stop, true);
    };
    for (const kind of HANDS) addEventListener(kind, stop, true);
  };

  // Links: Streamlit goes to the page of an address when the browser goes back to it, and so does a click.
  const follow = (href) => {
    const next = new URL(href, location.href);
    if (next.pathname === location.pathname && next.pathname !== "/neuron") {
      location.assign(href);
      return;
    }
    push(null, "", href);
    seen = asked();
    isByHand = false;
    const arrived = new Event("popstate");
    arrived.detail = "link";
    dispatchEvent(arrived);
    scrollTo(0, 0);
    document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
    seek(next.hash.slice(1));
  };

  addEventListener("click", (event) => {
    // Of a component's link the event names the component: the path leads to the link itself.
    const link = event.composedPath()[0].closest?.("a.nt-link");
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (!link || !isPlain) return;
    event.preventDefault();
    follow(link.getAttribute("href"));
  }, true);

  // Tables draw addresses of neurons as links and open what stands in the cell: it leads to the neuron in this window,
  // and in a new one where a person asks for that. Whatever else stands there is opened if it is an address at all.
  const NEURON = /^[A-Za-z0-9._@+-]+\/[Ll]\d+[Nn]\d+$/;
  let isAside = false;
  addEventListener("pointerdown", (event) => {
    isAside = event.ctrlKey || event.metaKey || event.shiftKey || event.button === 1;
  }, true);

  const open = window.open.bind(window);
  window.open = (url, ...how) => {
    if (NEURON.test(url)) {
      // As a click anywhere else in the row does, it takes along what this page is asked for, such as a corpus.
      const asks = new URLSearchParams(location.search);
      asks.set("neuron", url);
      const href = `/neuron?${asks}`;
      return isAside ? open(href, ...how) : (follow(href), null);
    }
    return /^(https?:|blob:|\/)/.test(url) ? open(url, ...how) : null;
  };

  // Keys: / goes to the box, j and k to the next and the previous row, or neuron, or layer; Enter opens the row.
  const isTyping = (target) => target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName ?? "");

  const step = (by) => {
    const rows = [...document.querySelectorAll("a.nt-row")].filter((row) => row.offsetParent !== null);
    if (rows.length === 0) {
      document.querySelector(by > 0 ? ".st-key-next button" : ".st-key-previous button")?.click();
      return;
    }
    const at = rows.indexOf(document.activeElement);
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  };

  addEventListener("keydown", (event) => {
    // Where the box leads, keys are keys again.
    if (event.key === "Enter" && event.target.closest?.(".st-key-box")) {
      const box = event.target;
      setTimeout(() => box.blur(), 100);
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.key === "/") {
      const box = document.querySelector(".st-key-box input");
      if (!box) return;
      event.preventDefault();
      box.focus();
      box.select();
    } else if (event.key === "j" || event.key === "k") {
      step(event.key === "j" ? 1 : -1);
    }
  });

  // Dusk: colours that the server chose are those of the scheme that it was told of. When a person's scheme changes, the
  // page runs again, as Streamlit's own key r has it, once Streamlit knows of the change; a key that comes while it is
  // busy may be lost, so it is pressed until the page runs.
  const HEARD = 300, ANSWERED = 1000; // milliseconds
  const RUN_STATE = "data-test-script-state";
  const runAgain = (tries) => {
    let runs = false;
    const watch = new MutationObserver((changes) => {
      const states = changes.flatMap(({ target, oldValue }) => [oldValue, target.getAttribute(RUN_STATE)]);
      runs ||= states.includes("running");
    });
    watch.observe(document, {
      attributes: true, attributeFilter: [RUN_STATE], attributeOldValue: true, subtree: true,
    });
    for (const type of ["keydown", "keyup"]) {
      document.dispatchEvent(new KeyboardEvent(type, { key: "r", code: "KeyR", keyCode: 82, which: 82 }));
    }
    isByHand = false;
    setTimeout(() => {
      watch.disconnect();
      if (!runs && tries > 1) runAgain(tries - 1);
    }, ANSWERED);
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTimeout(runAgain, HEARD, 20));

  // The navigation lists the first page of each place and marks it there alone: on the other pages of a place it is
  // marked, too, by the place that the tabs name.
  const PLACES = "[data-testid=stTopNavLink], [data-testid=stTopNavSection]";
  const showPlace = () => {
    const place = document.querySelector("[data-place]")?.dataset.place;
    for (const one of document.querySelectorAll(PLACES)) {
      const isHere = one.textContent.trim() === place;
      if (isHere && !one.hasAttribute("aria-current")) one.setAttribute("aria-current", "true");
      if (!isHere && one.getAttribute("aria-current") === "true") one.removeAttribute("aria-current");
    }
  };
  let isDue = false;
  new MutationObserver(() => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      showPlace();
    });
  }).observe(document, { childList: true, subtree: true });

  seek(location.hash.slice(1));
})();
