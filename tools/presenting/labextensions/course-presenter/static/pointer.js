// A spot that all can see, where the mouse, the pen or the finger is; nothing is clicked by it.

export class Pointer {
  constructor() {
    this.node = document.createElement('div');
    this.node.className = 'cp-pointer';
    this.node.hidden = true;
    this.put(window.innerWidth / 2, window.innerHeight / 2);
    document.body.append(this.node);
    const follow = event => this.put(event.clientX, event.clientY);
    // The window hears of it first, whatever a picture does with the event.
    window.addEventListener('pointermove', follow, { capture: true, passive: true });
    window.addEventListener('pointerdown', follow, { capture: true, passive: true });
  }

  put(x, y) {
    this.node.style.transform = `translate(${x}px, ${y}px)`;
  }

  toggle() {
    this.node.hidden = !this.node.hidden;
  }

  hide() {
    this.node.hidden = true;
  }
}
