// Runs cells without touching the focus: a presenter may be typing in another cell meanwhile.

const STOPPED = 'The kernel has stopped: k restarts it and the lecture';
const ENDED = ['restarting', 'autorestarting', 'dead']; // states that forget what has run

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
    this.restarting = false;
    panel.sessionContext.statusChanged.connect((_, status) => {
      if (ENDED.includes(status)) {
        this.fail(STOPPED);
      }
    });
  }

  // Restart the kernel and wait until nothing waits for the old one; return whether there is a new
  // one. A second call meanwhile does nothing.
  async restart() {
    if (this.restarting) {
      return false;
    }
    this.restarting = true;
    this.changed();
    try {
      await this.renew();
      await this.queue;
      return true;
    } catch (error) {
      this.problem = `No kernel could be started: ${error.message}`;
      return false;
    } finally {
      this.restarting = false;
      this.changed();
    }
  }

  // After its fifth death in a row a kernel stays dead: then another takes its place.
  renew() {
    const context = this.panel.sessionContext;
    const kernel = context.session?.kernel;
    if (kernel && kernel.status !== 'dead') {
      return context.restartKernel();
    }
    return context.changeKernel({ name: kernel?.name ?? context.prevKernelName });
  }

  fail(problem) {
    this.problem = problem;
    this.changed();
  }

  // What the bar says: empty when there is nothing to wait for.
  get words() {
    if (this.restarting) {
      return 'The kernel is restarting';
    }
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
      const problem = await this.runOne(cell);
      this.ran(cell);
      if (problem) {
        this.waiting -= cells.length - index;
        this.fail(this.problem || problem);
        return;
      }
      this.waiting -= 1;
      this.done += 1;
      this.changed();
    }
  }

  // Run one cell; return why the next may not follow, or nothing.
  async runOne(cell) {
    // Deleted while it waited.
    if (cell.isDisposed) {
      return '';
    }
    if (!this.panel.sessionContext.session?.kernel) {
      return STOPPED;
    }
    try {
      // The class of the cell itself: an extension without a bundler has no other way to it.
      const reply = await cell.constructor.execute(cell, this.panel.sessionContext, {
        deletedCells: [],
        recordTiming: false
      });
      // An empty cell has no reply.
      const worked = !reply || reply.content.status === 'ok';
      return worked ? '' : `Stopped at cell [${reply.content.execution_count ?? ' '}]: see its output`;
    } catch {
      // Not an error in the cell, which has a reply: the kernel went away before there was one.
      return STOPPED;
    }
  }
}
