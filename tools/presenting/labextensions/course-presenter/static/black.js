// A black screen, so that the room looks at whoever speaks.

export class Black {
  // `changed` is called when the screen has become black, and when it is no longer.
  constructor(changed) {
    this.changed = changed;
    this.node = document.createElement('div');
    this.node.className = 'cp-black';
    this.node.hidden = true;
    this.node.onclick = () => this.hide();
    document.body.append(this.node);
  }

  get isOn() {
    return !this.node.hidden;
  }

  show() {
    document.querySelector('.cp-dialog[open]')?.close(); // it would lie above
    this.node.hidden = false;
    this.changed();
  }

  hide() {
    this.node.hidden = true;
    this.changed();
  }
}
