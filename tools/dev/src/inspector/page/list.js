// A list whose rows all have one height, so that only those in sight are drawn, however many there are.

/* Rows that are drawn above and below those in sight. */
const SPARE_ROWS = 8;

class List {
  /* `columns` are names and titles; `makeRow` makes the cells of the row with a key. */
  constructor(section, columns, makeRow) {
    this.section = section;
    this.makeRow = makeRow;
    this.selected = null;
    this.current = null;
    this.drawn = new Map();
    this.source = { count: 0, keyAt: () => null, placeOf: () => -1, isHead: () => false };
    this.grid = Object.assign(make("div", "", "grid"), { role: "grid", ariaLabel: section.ariaLabel });
    this.rows = Object.assign(make("div", "", "rows"), { role: "rowgroup" });
    const head = Object.assign(make("div", "", "head"), { role: "row", ariaRowIndex: 1 });
    head.append(...columns.map(([name, title]) => Object.assign(make("span", title, name), { role: "columnheader" })));
    const heads = Object.assign(make("div", "", "heads"), { role: "rowgroup" });
    heads.append(head);
    this.grid.append(heads, this.rows);
    section.append(this.grid);
    section.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.resize()).observe(section);
    this.rows.addEventListener("click", (event) => {
      const row = event.target.closest("[role=row]");
      if (row && !event.target.closest("a")) open(row.dataset.key);
    });
  }
  get height() {
    return parseFloat(getComputedStyle(this.rows).getPropertyValue("--row")) || 1;
  }
  /* Shows other rows, and keeps what is read where it is, unless that is the top. Rows that were made are made anew if they may look
     different now. */
  update(source, isAnew) {
    const { section, height } = this;
    const place = Math.floor(section.scrollTop / height);
    const key = section.scrollTop > 0 ? this.source.keyAt(place) : null;
    const within = section.scrollTop - place * height;
    this.source = source;
    // Who is not in the list begins with the newest row.
    if (section.scrollTop === 0 && !this.rows.contains(document.activeElement)) this.current = this.selected;
    this.grid.hidden = source.count === 0;
    this.grid.ariaRowCount = source.count + 1;
    this.drawnHeight = height;
    this.rows.style.height = `${source.count * height}px`;
    const now = key === null ? -1 : source.placeOf(key);
    if (now >= 0) section.scrollTop = now * height + within;
    if (isAnew) this.erase();
    this.draw();
  }
  /* Narrower rows are higher. */
  resize() {
    const { height } = this;
    if (height !== this.drawnHeight && this.drawnHeight) {
      const place = this.section.scrollTop / this.drawnHeight;
      this.rows.style.height = `${this.source.count * height}px`;
      this.section.scrollTop = place * height;
    }
    this.drawnHeight = height;
    this.draw();
  }
  /* Draws the rows in sight, and the one that is in the order of Tab. */
  draw() {
    const { source, height, section } = this;
    if (section.hidden) return this.erase();
    const place = this.current === null ? -1 : source.placeOf(this.current);
    if (place < 0)
      this.current = source.placeOf(this.selected ?? "") >= 0 ? this.selected : source.keyAt(this.step(-1, 1));
    const from = Math.max(Math.floor(section.scrollTop / height) - SPARE_ROWS, 0);
    const to = Math.min(Math.ceil((section.scrollTop + section.clientHeight) / height) + SPARE_ROWS, source.count);
    const wanted = new Map();
    for (let at = from; at < to; at++) wanted.set(source.keyAt(at), at);
    if (this.current !== null) wanted.set(this.current, source.placeOf(this.current));
    for (const [key, row] of this.drawn) {
      if (wanted.has(key)) continue;
      row.remove();
      this.drawn.delete(key);
    }
    for (const [key, at] of wanted) this.drawRow(key, at, height);
    // In the order in which they are read.
    const inOrder = [...wanted].sort(([, one], [, other]) => one - other).map(([key]) => this.drawn.get(key));
    inOrder.forEach((row, at) => {
      const there = this.rows.children[at];
      if (there !== row) this.rows.insertBefore(row, there ?? null);
    });
  }
  erase() {
    for (const row of this.drawn.values()) row.remove();
    this.drawn.clear();
  }
  drawRow(key, at, height) {
    let row = this.drawn.get(key);
    if (!row) {
      row = this.makeRow(key);
      row.role = "row";
      row.dataset.key = key;
      this.drawn.set(key, row);
    }
    row.style.top = `${at * height}px`;
    row.ariaRowIndex = at + 2;
    row.ariaSelected = key === this.selected;
    row.tabIndex = key === this.current ? 0 : -1; // One row is in the order of Tab: the detail comes after it.
  }
  /* The next place in a direction that is a row, and no heading of a group. */
  step(place, direction) {
    let next = place + direction;
    while (this.source.isHead(next)) next += direction;
    return next >= 0 && next < this.source.count ? next : place;
  }
  /* Where a key of the keyboard leads to. */
  nextPlace(key, from) {
    const place = from === null ? -1 : this.source.placeOf(from);
    const next = {
      j: () => this.step(place, 1),
      ArrowDown: () => this.step(place, 1),
      k: () => this.step(place, -1),
      ArrowUp: () => this.step(place, -1),
      Home: () => this.step(-1, 1),
      End: () => this.step(this.source.count, -1),
    }[key];
    return next ? next() : -1;
  }
  focus(place) {
    this.current = this.source.keyAt(place);
    this.reveal(this.current);
    this.drawn.get(this.current)?.focus({ preventScroll: true });
  }
  /* Scrolls to a row, if it is not in sight. */
  reveal(key) {
    this.resize();
    const place = key === null ? -1 : this.source.placeOf(key);
    if (place >= 0) {
      const { section, height } = this;
      const room = section.clientHeight - this.grid.firstElementChild.offsetHeight;
      const top = place * height;
      if (top < section.scrollTop) section.scrollTop = top;
      else if (top + height > section.scrollTop + room) section.scrollTop = top + height - room;
    }
    this.draw();
  }
}
