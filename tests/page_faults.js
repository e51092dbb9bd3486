// What is wrong with a page as it is shown: each check returns its faults in words.  SMALLEST and CONTRAST are given.
const shown = (element) => element.checkVisibility({checkVisibilityCSS: true, checkOpacity: true});
const words = (text) => JSON.stringify(text.textContent.trim().slice(0, 60));
const named = (svg) => `${svg.closest("section")?.id} ${words(svg.querySelector("title") ?? svg)}`;
const ownText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
// The box of the letters of a text in a drawing, px: line boxes are higher than letters are.
const letters = (text) => {
  const box = text.getBBox(), matrix = text.getScreenCTM(), size = parseFloat(getComputedStyle(text).fontSize);
  const top = box.y + 0.2 * size, bottom = box.y + box.height - 0.16 * size;
  const corners = [[box.x, top], [box.x + box.width, top], [box.x, bottom], [box.x + box.width, bottom]].map(
    ([x, y]) => new DOMPoint(x, y).matrixTransform(matrix));
  const [xs, ys] = [corners.map((p) => p.x), corners.map((p) => p.y)];
  return {left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys)};
};
const scale = (text) => {
  const matrix = text.getScreenCTM();
  return Math.hypot(matrix.a, matrix.b);
};

const drawings = () => {
  const faults = [];
  for (const svg of [...document.querySelectorAll("main svg")].filter(shown)) {
    const sheet = svg.getBoundingClientRect();
    if (sheet.width < 100 || sheet.height < 40) faults.push(`not drawn: ${named(svg)}`);
    const marks = [...svg.querySelectorAll("path, rect, line, use, polygon")].filter((mark) => !mark.closest("defs"));
    if (marks.length < 3) faults.push(`${marks.length} marks only: ${named(svg)}`);
    const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim());
    if (!texts.length) faults.push(`no text: ${named(svg)}`);
    const boxes = texts.map(letters);
    texts.forEach((text, one) => {
      const box = boxes[one];
      const beyond = Math.max(sheet.left - box.left, sheet.top - box.top, box.right - sheet.right, box.bottom - sheet.bottom);
      if (beyond > 0.5) faults.push(`cut by ${beyond.toFixed(1)} px: ${words(text)} in ${named(svg)}`);
      const size = parseFloat(getComputedStyle(text).fontSize) * scale(text);
      if (size < SMALLEST) faults.push(`${size.toFixed(1)} px high: ${words(text)} in ${named(svg)}`);
      for (let other = 0; other < one; other += 1) {
        const across = Math.min(box.right, boxes[other].right) - Math.max(box.left, boxes[other].left);
        const along = Math.min(box.bottom, boxes[other].bottom) - Math.max(box.top, boxes[other].top);
        if (Math.min(across, along) > 0.8)
          faults.push(`${words(text)} over ${words(texts[other])} by ${across.toFixed(1)} x ${along.toFixed(1)} px in ${named(svg)}`);
      }
    });
    if (!svg.querySelector("g > title")) faults.push(`nothing to point at: ${named(svg)}`);
  }
  return faults;
};

const layout = () => {
  const faults = [], wide = document.documentElement.clientWidth;
  const over = document.documentElement.scrollWidth - wide;
  if (over > 0) faults.push(`the page scrolls sideways by ${over} px`);
  for (const element of [...document.querySelectorAll("body *")].filter((e) => !e.closest("svg, script, style") && shown(e))) {
    const own = ownText(element);
    const size = parseFloat(getComputedStyle(element).fontSize);
    if (own && size < SMALLEST) faults.push(`${size} px high: ${words(element)}`);
    const box = element.getBoundingClientRect();
    const scrolls = element.closest(".table, .commands");
    if (own && !element.closest(".skip") && !scrolls && (box.right > wide + 0.5 || box.left < -0.5))
      faults.push(`beyond the window: ${words(element)}`);
    if (own && !scrolls && element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0)
      faults.push(`wider than its box: ${words(element)}`);
  }
  for (const table of [...document.querySelectorAll("table")].filter(shown)) {
    const holder = table.parentElement, box = holder.getBoundingClientRect();
    if (box.right > wide + 0.5) faults.push(`its box is wider than the window: table ${words(table.caption ?? table)}`);
    if (table.scrollWidth > holder.clientWidth + 1 && !["auto", "scroll"].includes(getComputedStyle(holder).overflowX))
      faults.push(`can't be scrolled: table ${words(table.caption ?? table)}`);
  }
  return faults;
};

const contrasts = () => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const on = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = (colour) => {
    const [r, g, b] = colour.map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [a, b] = [light(one), light(other)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const ground = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, top) => on(top, below), [255, 255, 255, 1]);
  };
  // The colours of a filled shape: one, or those of its hatching.
  const fills = (shape) => {
    const style = getComputedStyle(shape), pattern = style.fill.match(/url\("?#([^")]+)/);
    const opacity = Number(style.fillOpacity) * Number(style.opacity);
    if (!pattern) return style.fill === "none" ? [] : [rgba(style.fill)].map((c) => [...c.slice(0, 3), c[3] * opacity]);
    return [...document.getElementById(pattern[1]).querySelectorAll("rect, path")].flatMap(fills);
  };
  const faults = [];
  const told = (element, colour, grounds, size) => {
    const worst = Math.min(...grounds.map((below) => ratio(on(colour, below), below)));
    if (worst < CONTRAST) faults.push(`contrast ${worst.toFixed(2)}: ${words(element)}, ${size} px`);
  };
  for (const element of [...document.querySelectorAll("body *")].filter((e) => !e.closest("svg, script, style"))) {
    if (!shown(element) || !ownText(element)) continue;
    const style = getComputedStyle(element);
    told(element, rgba(style.color), [ground(element)], style.fontSize);
  }
  for (const svg of [...document.querySelectorAll("main svg")].filter(shown)) {
    const below = [];
    for (const item of svg.querySelectorAll("path, rect, text")) {
      if (item.closest("defs")) continue;
      if (item.tagName !== "text") {
        below.push(item);
        continue;
      }
      if (!item.textContent.trim()) continue;
      const box = letters(item), middle = new DOMPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
      let grounds = [ground(svg)];
      for (const shape of below) {
        if (!shape.isPointInFill(middle.matrixTransform(shape.getScreenCTM().inverse()))) continue;
        const tops = fills(shape);
        if (tops.length) grounds = tops.flatMap((top) => grounds.map((under) => on(top, under)));
      }
      const style = getComputedStyle(item);
      told(item, rgba(style.fill), grounds, style.fontSize);
    }
  }
  return faults;
};

const structure = () => {
  const faults = [];
  const headings = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map((h) => Number(h.tagName[1]));
  if (headings[0] !== 1 || headings.filter((level) => level === 1).length !== 1) faults.push("not one h1, first of all");
  headings.forEach((level, i) => {
    if (i && level > headings[i - 1] + 1) faults.push(`h${level} follows h${headings[i - 1]}`);
  });
  if (!document.documentElement.lang) faults.push("no language");
  if (!document.title.trim()) faults.push("no title");
  for (const svg of document.querySelectorAll("svg")) {
    const first = svg.firstElementChild;
    if (svg.getAttribute("role") !== "img" || first?.tagName !== "title" || !first.textContent.trim())
      faults.push(`a picture without a name: ${words(svg)}`);
  }
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption?.textContent.trim()) faults.push(`a table without a caption: ${words(table)}`);
    if (!table.querySelector("th[scope]")) faults.push(`a table without heads: ${words(table)}`);
  }
  for (const input of document.querySelectorAll("input"))
    if (![...input.labels].some((label) => label.textContent.trim())) faults.push(`an input without a label: ${input.id}`);
  for (const element of document.querySelectorAll("a, button"))
    if (!element.textContent.trim()) faults.push(`a link or button without a text: ${element.outerHTML.slice(0, 60)}`);
  for (const link of document.querySelectorAll('a[href^="#"]'))
    if (!document.getElementById(link.getAttribute("href").slice(1))) faults.push(`a link to nothing: ${words(link)}`);
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) faults.push(`two elements with the id ${id}`);
  for (const box of document.querySelectorAll(".table, .commands"))
    if (box.scrollWidth > box.clientWidth && box.tabIndex < 0) faults.push(`no key scrolls it: ${words(box)}`);
  return faults;
};
