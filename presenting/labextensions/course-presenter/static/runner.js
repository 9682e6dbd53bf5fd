// Runs cells without touching the focus: a presenter may be typing in another cell meanwhile.

export class Runner {
  // `changed` is called whenever there is something new to say, `ran` with each cell that has run.
  constructor(panel, changed, ran) {
    this.panel = panel;
    this.changed = changed;
    this.ran = ran;
    this.queue = Promise.resolve();
    this.waiting = 0;
    this.done = 0;
    this.problem = '';
  }

  // What the bar says: empty when there is nothing to wait for.
  get words() {
    if (this.problem) {
      return this.problem;
    }
    return this.waiting ? `Running: ${this.done} of ${this.done + this.waiting} cells` : '';
  }

  // Run code cells one after another, after those that wait already; an error stops the rest.
  run(places) {
    const cells = places
      .map(place => this.panel.content.widgets[place])
      .filter(cell => cell?.model.type === 'code');
    if (!this.waiting) {
      this.done = 0;
      this.problem = '';
    }
    this.waiting += cells.length;
    this.changed();
    this.queue = this.queue.then(() => this.runAll(cells));
    return this.queue;
  }

  async runAll(cells) {
    for (const [index, cell] of cells.entries()) {
      const worked = await this.runOne(cell);
      this.ran(cell);
      if (!worked) {
        this.waiting -= cells.length - index;
        this.problem = `Stopped at cell [${cell.model.executionCount ?? ' '}]: see its output`;
        this.changed();
        return;
      }
      this.waiting -= 1;
      this.done += 1;
      this.changed();
    }
  }

  // Run one cell; return whether the next may follow.
  async runOne(cell) {
    const tags = cell.model.getMetadata('tags') ?? [];
    if (!this.panel.sessionContext.session?.kernel) {
      return false;
    }
    try {
      // The class of the cell itself: an extension without a bundler has no other way to it.
      const reply = await cell.constructor.execute(cell, this.panel.sessionContext, {
        deletedCells: [],
        recordTiming: false
      });
      return reply?.content.status === 'ok' || tags.includes('raises-exception');
    } catch {
      return tags.includes('raises-exception');
    }
  }
}
