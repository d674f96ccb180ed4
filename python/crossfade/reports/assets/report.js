// Draws the figures of a report with plotly, and sorts its table. The data are the JSON text of #data, whose
// layout charts.py describes.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const figures = all("figure");
  let printing = false;

  const checked = (selector) => all(`${selector}:checked`).map((input) => input.value);
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const pale = (hex, share) => {
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    return `rgba(${r},${g},${b},${share})`;
  };

  // Controls of curves, methods and other axes. Names are escaped already.
  function buildControls() {
    const several = (items, kind, text) =>
      items.map((item, at) => `<label><input type="checkbox" class="${kind}" value="${at}" checked>${text(item)}</label>`).join("");
    const set = (name, inner) => `<fieldset><legend>${name}</legend>${inner}</fieldset>`;
    const held = data.held.map(
      (axis) => `<label title="${axis.key}">at <select class="held">${axis.values
        .map((value, at) => `<option value="${at}" ${at === axis.first ? "selected" : ""}>${value}</option>`).join("")}</select></label>`,
    );
    const curves = several(data.curves, "curve", (curve) => `${swatch(curve)}<span>${curve.name}</span>`);
    const methods = several(data.methods, "method", (method) => method.word);
    const intervals = ["bars", "bands", "none"]
      .map((how) => `<label><input type="radio" name="intervals" class="intervals" value="${how}" ${how === "bars" ? "checked" : ""}>${how}</label>`)
      .join("");
    document.getElementById("controls").innerHTML = [
      ...held,
      data.curves.length > 1 ? set("Curves", `${curves}<button type="button" class="all-curves">all / none</button>`) : `<span hidden>${curves}</span>`,
      data.methods.length > 1 ? set("Methods", methods) : `<span hidden>${methods}</span>`,
      data.methods.some((method) => method.marks) ? set("95 % intervals", intervals) : "",
    ].join("");
    figures.forEach((figure) => figure.insertAdjacentHTML("afterbegin", figureControls(figure.dataset.metric)));
    document.getElementById("tools").innerHTML = '<button type="button" class="csv">Save all metrics as CSV</button>';
  }

  // Choice of the metric: metrics of the whole run first, then those of each flow and link.
  function figureControls(chosen) {
    const groups = {};
    for (const [name, metric] of Object.entries(data.metrics)) {
      const part = name.includes("/") ? "" : name.slice(0, name.lastIndexOf(".") + 1).slice(0, -1);
      (groups[part] ??= []).push(
        `<option value="${metric.name}" ${name === chosen ? "selected" : ""}>${metric.plain}</option>`,
      );
    }
    const options = Object.values(groups).map((group, at) => (at ? `<hr>${group.join("")}` : group.join(""))).join("");
    return `<div class="controls no-print"><label>Metric <select class="metric">${options}</select></label>` +
      '<label><input type="checkbox" class="log">logarithmic</label></div>';
  }

  // Sample of a curve for its label: line and mark.
  function swatch(curve) {
    const shapes = {
      circle: "M4 0A4 4 0 1 1-4 0A4 4 0 1 1 4 0Z", square: "M-3.5-3.5H3.5V3.5H-3.5Z", "triangle-up": "M0-4.5L4.2 3H-4.2Z",
      diamond: "M0-4.8L4.8 0L0 4.8L-4.8 0Z", "triangle-down": "M0 4.5L4.2-3H-4.2Z", "triangle-left": "M-4.5 0L3-4.2V4.2Z",
      "triangle-right": "M4.5 0L-3-4.2V4.2Z", cross: "M-1.5-4.5H1.5V-1.5H4.5V1.5H1.5V4.5H-1.5V1.5H-4.5V-1.5H-1.5Z",
      x: "M-4.2-2.1L-2.1-4.2L0-2.1L2.1-4.2L4.2-2.1L2.1 0L4.2 2.1L2.1 4.2L0 2.1L-2.1 4.2L-4.2 2.1L-2.1 0Z",
    };
    const dashes = { solid: "", dash: "6 3", dot: "2 2", dashdot: "6 2 2 2", longdash: "10 3", longdashdot: "10 2 2 2" };
    const marks = data.methods.some((method) => method.marks);
    const hue = `var(--c${curve.color})`;
    const mark = marks
      ? `<path d="${shapes[curve.symbol.replace("-open", "")]}" fill="${curve.symbol.endsWith("-open") ? "var(--page)" : hue}" stroke="${hue}" stroke-width="1.4"/>`
      : "";
    const dash = marks || data.methods.length > 1 ? "" : dashes[curve.dash];
    return `<svg class="swatch" viewBox="-16 -7 32 14" aria-hidden="true"><line x1="-16" x2="16" y1="0" y2="0" stroke="${hue}" stroke-width="1.6" stroke-dasharray="${dash}"/>${mark}</svg>`;
  }

  // Lines to draw for a metric: curves and methods that are switched on, at the chosen values of the
  // other axes, without rows in which the metric is undefined.
  function shownLines(metric) {
    const curves = checked(".curve").map(Number);
    const methods = checked(".method").map((at) => data.methods[at].name);
    const at = all(".held").map((select) => Number(select.value));
    return data.lines
      .filter((line) => line.at.every((value, axis) => value === at[axis]))
      .map((line) => ({ ...line, rows: line.rows.filter((row) => metric.values[row] !== null) }))
      .filter((line) => line.rows.length && curves.includes(line.curve) && methods.includes(line.method));
  }

  function traces(metric, lines) {
    const intervals = checked(".intervals")[0];
    const alone = (line) => lines.filter((other) => other.curve === line.curve).length === 1;
    const found = [];
    for (const line of lines) {
      const curve = data.curves[line.curve];
      const method = data.methods.find((one) => one.name === line.method);
      const hue = color(`--c${curve.color}`);
      const of = (values) => line.rows.map((row) => (values[row] === null ? null : values[row] / metric.factor));
      const beside = data.x.words ? (line.curve - (data.curves.length - 1) / 2) * Math.min(0.12, 0.7 / data.curves.length) : 0;
      const x = line.rows.map((row) => data.x.values[row] / data.x.factor + beside);
      const y = of(metric.values);
      const end = (at) => line.rows.map((row) => (metric.ends[row] === null ? null : metric.ends[row][at] / metric.factor));
      const [low, high] = [end(0), end(1)];
      const reach = (ends) => ends.map((v, i) => (v === null ? null : Math.max(Math.abs(v - y[i]), 0)));
      const usual = { x, hoverinfo: "skip", showlegend: false };
      const band = (lower, upper, share) => {
        found.push({ ...usual, y: lower, mode: "lines", line: { width: 0 } });
        found.push({ ...usual, y: upper, mode: "lines", line: { width: 0 }, fill: "tonexty", fillcolor: pale(hue, share) });
      };
      const trace = {
        x, y,
        showlegend: false,
        customdata: line.rows.map((row) => hover(line, row, metric)),
        hovertemplate: "%{customdata}<extra></extra>",
      };
      const lowers = metric.lowers && of(metric.lowers);
      if (method.marks) {
        const joined = alone(line) && !data.x.words;
        trace.mode = joined ? "lines+markers" : "markers";
        trace.line = { color: hue, width: 0.8 };
        trace.marker = { color: hue, symbol: curve.symbol, size: 7, line: { width: 1.4, color: hue } };
        if (intervals === "bars") trace.error_y = { type: "data", array: reach(high), arrayminus: reach(low), color: hue, thickness: 1.2, width: 3 };
        if (intervals === "bands") band(low, high, 0.18);
      } else {
        const told = data.methods.length === 1;
        trace.mode = "lines";
        trace.line = { color: hue, width: 1.8, dash: told ? curve.dash : method.dash };
        if (lowers && lowers.some((value) => value !== null)) {
          if (method.band) {
            band(lowers, y, 0.28);
            trace.line.width = 0;
          } else {
            found.push({ ...usual, y: lowers, mode: "lines", line: trace.line });
          }
        }
      }
      found.push(trace);
    }
    return found;
  }

  function hover(line, row, metric) {
    const method = data.methods.find((one) => one.name === line.method);
    const runs = data.runs[row] ? `${data.runs[row]} runs, ` : "";
    const name = data.curves[line.curve].name;
    const x = data.x.words ? data.x.words[data.x.values[row]] : Number((data.x.values[row] / data.x.factor).toPrecision(6));
    return `${name ? `<b>${name}</b><br>` : ""}${data.x.label}: ${x}<br>${metric.label}: ${metric.texts[row]}<br>${runs}${method.word}`;
  }

  function layout(figure, metric, name) {
    const log = figure.querySelector(".log").checked;
    const axis = {
      automargin: true, gridcolor: color("--grid"), linecolor: color("--faint"), mirror: true, showline: true,
      ticks: "outside", tickcolor: color("--faint"), zeroline: false,
    };
    // Number format of an axis: plain for short numbers, otherwise powers of ten.
    const numbers = (values, factor) => {
      const sizes = values.filter((value) => value).map((value) => Math.abs(value / factor));
      const short = Math.min(...sizes) > 0.002 && Math.max(...sizes) < 2e4;
      return { exponentformat: short ? "none" : "power", minexponent: 4 };
    };
    const x = { ...axis, ...numbers(data.x.values, data.x.factor), title: { text: data.x.label, standoff: 8 }, type: data.x.log ? "log" : "linear" };
    if (data.x.log) Object.assign(x, { dtick: 1, tickfont: { size: 11 } });
    if (data.x.words) {
      Object.assign(x, { tickvals: data.x.words.map((_, at) => at), ticktext: data.x.words });
      x.range = [-0.5, data.x.words.length - 0.5];
    }
    const y = { ...axis, ...numbers(metric.values, metric.factor), title: { text: metric.label, standoff: 8 }, type: log ? "log" : "linear", rangemode: "tozero" };
    if (log) {
      const present = metric.values.filter((value) => value > 0);
      const decades = Math.log10(Math.max(...present) / Math.min(...present));
      Object.assign(y, { dtick: decades > 1.5 ? 1 : "D2", tickfont: { size: 11 } });
    }
    // The limits are those of all rows, and unsuitable if only some rows are shown.
    if (metric.limits && log === metric.log && !data.held.length)
      y.range = log ? metric.limits.map(Math.log10) : metric.limits;
    return {
      xaxis: x, yaxis: y,
      margin: { l: 56, r: 12, t: 28, b: 44 },
      hovermode: "closest", showlegend: false, dragmode: "zoom",
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: color("--text") },
      hoverlabel: { bgcolor: color("--panel"), bordercolor: color("--faint"), font: { color: color("--text") }, align: "left" },
      modebar: { color: color("--faint"), activecolor: color("--accent"), bgcolor: "rgba(0,0,0,0)" },
      uirevision: `${name} ${log}`, // the zoom stays when curves are switched on or off
      ...(printing ? { width: 660, height: 340 } : {}),
    };
  }

  function draw(figure) {
    const name = figure.querySelector(".metric").value;
    const metric = data.metrics[name];
    const lines = shownLines(metric);
    figure.querySelector(".what").innerHTML = metric.title;
    Plotly.react(figure.querySelector(".drawing"), traces(metric, lines), layout(figure, metric, name), {
      displaylogo: false,
      // Only these buttons: one of plotly's default buttons uploads the figure.
      modeBarButtons: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
      toImageButtonOptions: { format: "svg", filename: name.replace(/[^A-Za-z0-9_.-]/g, "-") },
    });
  }
  const drawAll = () => figures.forEach(draw);

  // The table has a column for the metric of each figure.
  function fillColumn(figure, at) {
    const metric = data.metrics[figure.querySelector(".metric").value];
    const head = document.querySelector(`th[data-figure="${at}"]`);
    head.querySelector("button").innerHTML = metric.label;
    head.removeAttribute("aria-sort");
    for (const row of all("#rows tbody tr")) row.cells[head.cellIndex].textContent = metric.texts[Number(row.dataset.row)];
  }

  function sortBy(head) {
    const up = head.getAttribute("aria-sort") !== "ascending";
    all("#rows thead th").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const metric = head.dataset.figure && data.metrics[figures[Number(head.dataset.figure)].querySelector(".metric").value];
    const cells = metric ? metric.values : data.axes[head.dataset.axis] ?? data[head.dataset.column];
    const order = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
    const rows = all("#rows tbody tr").sort((one, other) => {
      const [a, b] = [cells[Number(one.dataset.row)], cells[Number(other.dataset.row)]];
      if (a === null || b === null) return (a === null) - (b === null); // undefined values come last
      return (up ? 1 : -1) * order(a, b);
    });
    document.querySelector("#rows tbody").append(...rows);
  }

  function csv() {
    const quote = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
    const columns = [...Object.entries(data.axes), ["method", data.method], ["runs", data.runs]];
    for (const [name, metric] of Object.entries(data.metrics)) {
      // Bounds on the throughput are left out: they are separate metrics.
      const values = metric.values.map((value, row) => (metric.lowers && metric.lowers[row] !== null ? null : value));
      columns.push([name, values], [`${name}_ci95`, metric.halves]);
    }
    const line = (cells) => cells.map((cell) => quote(String(cell ?? ""))).join(",");
    return [line(columns.map(([name]) => name)), ...data.runs.map((_, row) => line(columns.map(([, cells]) => cells[row])))].join("\n") + "\n";
  }

  buildControls();
  figures.forEach((figure, at) => {
    const select = figure.querySelector(".metric");
    const log = figure.querySelector(".log");
    const choose = () => {
      log.checked = data.metrics[select.value].log;
      draw(figure);
      fillColumn(figure, at);
    };
    select.addEventListener("change", choose);
    log.addEventListener("change", () => draw(figure));
    choose(); // a browser may restore the earlier choice when the page is opened again
  });
  all(".curve, .method, .intervals, .held").forEach((input) => input.addEventListener("change", drawAll));
  all(".all-curves").forEach((button) =>
    button.addEventListener("click", () => {
      const boxes = all(".curve");
      const on = !boxes.every((box) => box.checked);
      boxes.forEach((box) => (box.checked = on));
      drawAll();
    }),
  );
  all("#rows thead button").forEach((button) => button.addEventListener("click", () => sortBy(button.closest("th"))));
  document.querySelector(".csv").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    link.download = "results.csv";
    link.click();
  });
  const observer = new ResizeObserver((entries) => printing || entries.forEach(({ target }) => Plotly.Plots.resize(target)));
  all(".drawing").forEach((drawing) => observer.observe(drawing));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  addEventListener("beforeprint", () => { printing = true; drawAll(); });
  addEventListener("afterprint", () => { printing = false; drawAll(); });
})();
