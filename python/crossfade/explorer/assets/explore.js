// Controls of the explorer, their requests to the server, and the three figures. At most one request of each kind is in progress;
// the latest request that waits is sent next.
"use strict";
(() => {
  const told = JSON.parse(document.getElementById("data").textContent);
  const form = document.getElementById("controls");
  const problem = document.getElementById("problem");
  const hue = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // Black curves take the colour of the text, which is light on a dark page.
  const colourOf = (sender) => told.colours[sender] === "#000000" ? hue("--text") : told.colours[sender];
  const STEPS = 400;
  const integers = ["w_max", "rto", "slots", "retransmissions", "queue", "rtt", "seconds", "seed"];
  const MODELS = { paper: "TCP of the exact analysis", link: "queue, path and ARQ" };

  // The state of the controls, kept in the address behind the #.
  const state = { ...told.usual };
  const shown = { paper: new Set(["tahoe", "reno", "newreno"]), link: new Set(["reno", "cubic", "bbr-v1"]) };
  const senders = () => told.senders[state.model];
  for (const [name, text] of new URLSearchParams(location.hash.slice(1))) {
    if (name in told.ranges && Number.isFinite(Number(text))) {
      const { low, high } = told.ranges[name];
      state[name] = Math.min(high, Math.max(low, Number(text)));
    } else if (name === "model" && text in told.senders) state.model = text;
    else if (name === "variant") state.variant = text;
    else if (name === "channel" && ["markov", "iid"].includes(text)) state.channel = text;
  }
  if (!(state.variant in senders())) state.variant = "reno";
  shown[state.model].add(state.variant);
  state.rto = Math.max(state.rto, 2 * state.w_max + 2);
  const query = () => new URLSearchParams(state).toString();

  // Sliders have positions 0 to STEPS along a range.
  const placeOf = (range, value) => range.log ? Math.log(value / range.low) / Math.log(range.high / range.low) : (value - range.low) / (range.high - range.low);
  const valueAt = (range, share) => range.log ? range.low * (range.high / range.low) ** share : range.low + share * (range.high - range.low);
  const words = (name) => integers.includes(name) ? `${state[name]} ${told.ranges[name].unit}`.trim() : state[name].toPrecision(3);
  const sliders = {};
  function slider(name) {
    const range = told.ranges[name];
    const label = document.createElement("label");
    label.className = "slider";
    label.innerHTML = "<span></span><output></output><input type='range' min='0'>";
    const [text, output, input] = label.children;
    text.textContent = name === "p_e" && state.model === "link" ? "Frame error probability" : range.words;
    input.max = integers.includes(name) && !range.log ? range.high - range.low : STEPS;
    input.name = name;
    const read = () => {
      const value = valueAt(range, input.value / input.max);
      state[name] = integers.includes(name) ? Math.round(value) : Number(value.toPrecision(4));
      output.textContent = words(name);
    };
    sliders[name] = () => {
      input.value = Math.round(placeOf(range, state[name]) * input.max);
      output.textContent = words(name);
    };
    input.addEventListener("input", () => { read(); keepTimeout(name); changed(false); });
    input.addEventListener("change", () => changed(true));
    sliders[name]();
    return label;
  }
  // The exact analysis needs a timeout of at least 2 w_max + 2 slots: the slider that was not moved is adapted.
  function keepTimeout(moved) {
    if (state.rto >= 2 * state.w_max + 2) return;
    if (moved === "rto") state.w_max = Math.floor((state.rto - 2) / 2);
    else state.rto = 2 * state.w_max + 2;
    sliders.rto();
    sliders.w_max();
  }
  function choice(legend, name, options, type, isChecked, act) {
    const set = document.createElement("fieldset");
    set.append(Object.assign(document.createElement("legend"), { textContent: legend }));
    for (const [value, text] of Object.entries(options)) {
      const label = document.createElement("label");
      const input = Object.assign(document.createElement("input"), { type, name, value, checked: isChecked(value) });
      input.addEventListener("change", () => { act(value, input.checked); changed(true); });
      label.append(input, text);
      set.append(label);
    }
    return set;
  }
  const radio = (legend, name, options, act = () => {}) =>
    choice(legend, name, options, "radio", (value) => state[name] === value, (value) => { state[name] = value; act(); });
  function button(text, act) {
    const made = Object.assign(document.createElement("button"), { type: "button", textContent: text });
    made.addEventListener("click", () => act(made));
    return made;
  }
  const tools = Object.assign(document.createElement("div"), { className: "tools" });
  tools.append(
    button("Another run", () => { state.seed = (state.seed + 1) % told.ranges.seed.high; changed(true); }),
    button("Scenario file", async () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([await (await fetch(`scenario.toml?${query()}`)).text()], { type: "application/toml" }));
      link.download = "explored.toml";
      link.click();
      URL.revokeObjectURL(link.href);
    }),
    button("Copy link", async (made) => {
      await navigator.clipboard.writeText(location.href);
      made.textContent = "Copied";
      setTimeout(() => { made.textContent = "Copy link"; }, 1500);
    }),
  );
  // Controls that only one model has.
  const ofModel = { paper: ["w_max", "rto", "slots"], link: ["retransmissions", "queue", "rtt", "seconds"] };
  function build() {
    document.body.dataset.model = state.model;
    const sender = radio("Connection", "variant", senders());
    const curves = choice(
      "Curves", "shown", senders(), "checkbox", (value) => shown[state.model].has(value),
      (value, isOn) => shown[state.model][isOn ? "add" : "delete"](value),
    );
    form.replaceChildren(
      radio("Model", "model", MODELS, () => {
        if (!(state.variant in senders())) state.variant = "reno";
        exact = {};
        run = null;
        build();
      }),
      radio("Channel", "channel", { markov: "fading", iid: "independent losses" }),
      slider("p_e"), slider("fd_t"), ...ofModel[state.model].map(slider), sender, curves, tools,
    );
  }
  document.getElementById("rate").textContent = told.rate;

  // Requests to the server.
  const waiting = {}, busy = {};
  async function ask(what, text, draw) {
    waiting[what] = text;
    if (busy[what]) return;
    busy[what] = true;
    while (waiting[what] !== null) {
      const asked = waiting[what];
      waiting[what] = null;
      try {
        const found = await (await fetch(`${what}?${asked}`)).json();
        problem.hidden = !found.error;
        problem.textContent = found.error ?? "";
        // An answer for the model shown before is dropped.
        if (!found.error && new URLSearchParams(asked).get("model") === state.model) draw(found);
      } catch {
        problem.hidden = false;
        problem.textContent = "crossfade explore has ended: start it again";
      }
    }
    busy[what] = false;
  }

  let last = "", exact = {}, run = null;
  function changed(isFinal) {
    history.replaceState(null, "", `#${query()}`);
    form.elements.fd_t.disabled = state.channel === "iid";
    // The curves do not depend on the slider of their x axis. OldTahoe takes longest to compute, and waits for the end of a drag, as do all
    // senders with windows above 24.
    const waits = (name) => state.model === "paper" && (name === "old-tahoe" || state.w_max > 24);
    const variants = [...shown[state.model]].filter((name) => isFinal || !waits(name)).sort();
    const decides = { paper: ["w_max", "rto"], link: ["retransmissions", "queue", "rtt", "seconds", "seed"] }[state.model];
    const key = [state.model, state.channel, state.fd_t, ...decides.map((name) => state[name]), variants, isFinal].join();
    if (key !== last && variants.length) {
      last = key;
      ask("curves", `${query()}&variants=${variants}&detail=${isFinal ? "fine" : "coarse"}`, (found) => { exact = found; drawCurves(); });
    } else drawCurves();
    ask("connection", query(), drawConnection);
  }

  // Figures.
  let redraws = 0;
  // Invisible ticks keep the numbers of the two axes apart in the corner.
  const apart = { ticks: "outside", ticklen: 5, tickcolor: "rgba(0,0,0,0)" };
  const axis = (title, more) => ({ title: { text: title, standoff: 6 }, gridcolor: hue("--grid"), zeroline: false, automargin: true, ...apart, ...more });
  const layout = (x, y, more) => ({
    xaxis: x, yaxis: y, margin: { l: 50, r: 16, t: 8, b: 40 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: hue("--text"), size: 13 }, legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, ...more,
  });
  const draw = (id, traces, plan) => Plotly.react(document.querySelector(`#${id} .drawing`), traces, plan, { displayModeBar: false });
  const points = ([x, y], name, color, symbol, size = 6, more) => ({ x, y, name, mode: "markers", type: "scatter", marker: { color, symbol, size }, ...more });

  // A note names curves that coincide within the thickness of a line.
  const SAME = 0.005;
  const top = () => state.model === "link" ? told.rate : 1;
  function tellSame() {
    const names = Object.keys(senders()).filter((name) => shown[state.model].has(name) && exact[name]);
    const together = [];
    for (const name of names) {
      const on = (other) => exact[other][1].length === exact[name][1].length && exact[other][1].every((y, i) => Math.abs(y - exact[name][1][i]) < SAME * top());
      const group = together.find((members) => on(members[0]));
      if (group) group.push(name);
      else together.push([name]);
    }
    const said = together.filter((members) => members.length > 1).map((members) => members.map((name) => senders()[name]).join(" and "));
    document.getElementById("same").textContent = said.length ? `${said.join("; ")} coincide (within ${SAME * top()} everywhere).` : "";
  }

  function drawCurves() {
    tellSame();
    const traces = Object.keys(senders()).filter((name) => shown[state.model].has(name) && exact[name]).map((name) => ({
      x: exact[name][0], y: exact[name][1], name: senders()[name], mode: "lines", type: "scatter",
      line: { color: colourOf(name), width: name === state.variant ? 3 : 1.6, ...(state.model === "paper" ? { shape: "spline", smoothing: 0.6 } : {}) },
    }));
    const ring = { color: colourOf(state.variant), symbol: "circle-open", size: 11, line: { width: 2.5 } };
    if (run) traces.push({ ...points([[state.p_e], [run.throughput]], "this run"), marker: ring });
    const line = { type: "line", x0: state.p_e, x1: state.p_e, y0: 0, y1: 1, yref: "paper", line: { color: hue("--faint"), dash: "dot", width: 1.5 } };
    const { low, high } = told.ranges.p_e;
    const isLink = state.model === "link";
    const x = axis(isLink ? "Frame error probability" : "Packet error probability", { type: "log", range: [Math.log10(low), Math.log10(high)], dtick: 1 });
    draw("curves", traces, layout(x, axis(isLink ? "Goodput (Mbit/s)" : "Throughput (packets per slot)", { range: [0, 1.03 * top()] }), { shapes: [line] }));
    document.body.dataset.redraws = String(++redraws);
  }
  function drawRtt(x, color) {
    const line = { type: "line", x0: 0, x1: 1, xref: "paper", y0: state.rtt, y1: state.rtt, line: { color: hue("--faint"), dash: "dot", width: 1.5 } };
    const most = run.rtt[1].reduce((high, one) => Math.max(high, one), state.rtt);
    draw("segments", [
      { x: run.queue[0], y: run.queue[1], name: "queue", yaxis: "y2", mode: "lines", type: "scatter", line: { color: hue("--faint"), width: 1 } },
      { x: run.rtt[0], y: run.rtt[1], name: "RTT", mode: "lines", type: "scatter", line: { color, width: 1.8 } },
    ], layout(x, axis("RTT (ms)", { range: [0, 1.08 * most] }), {
      shapes: [line],
      yaxis2: axis("Queue (packets)", { overlaying: "y", side: "right", tickmode: "auto", nticks: 6, range: [0, 1.08 * state.queue], showgrid: false }),
    }));
  }
  function drawConnection(found) {
    run = found;
    const isLink = state.model === "link";
    const color = colourOf(state.variant), text = hue("--text");
    const [time, cwnd, threshold] = run.window;
    const x = isLink ? axis("Time (s)", { range: [0, state.seconds] }) : axis("Time (slots)", { range: [0, state.slots] });
    const step = (y, name, more) => ({ x: time, y, name, mode: "lines", type: "scatter", line: { shape: "hv", color, width: 1.5, ...more } });
    draw("window", [
      step(cwnd, "window"), step(threshold, "threshold", { dash: "dash", width: 1 }),
      points(run.marks.fast_retransmit, "fast retransmit", text, "triangle-down", 8),
      points(run.marks.timeout, "timeout", text, "x", 7),
    ], layout(x, axis("Window (packets)", { range: [0, 1.08 * cwnd.reduce((most, one) => Math.max(most, one), isLink ? 1 : state.w_max)] })));
    if (isLink) drawRtt(x, color);
    else draw("segments", [
      { x: run.segments.acknowledged[0], y: run.segments.acknowledged[1], name: "acknowledged", mode: "lines", type: "scatter", line: { shape: "hv", color, width: 1 } },
      points(run.segments.sent, "sent", color, "circle", 3), points(run.segments.again, "retransmitted", text, "square", 5),
      points(run.segments.lost, "lost", "#c4003c", "x-thin-open", 7),
    ], layout(x, axis("Segment")));
    drawCurves();
  }
  const observer = new ResizeObserver((entries) => entries.forEach(({ target }) => target.data && Plotly.Plots.resize(target)));
  document.querySelectorAll(".drawing").forEach((place) => observer.observe(place));
  window.addEventListener("hashchange", () => location.reload());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (run) drawConnection(run); });
  build();
  changed(true);
})();
