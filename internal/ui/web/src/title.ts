// The tab's title: what is shown, and before it that a task waits.
let name = "hookspan", waits = false;

function draw() {
  document.title = (waits ? "(waits for you) " : "") + name;
}

export function setTitle(text: string) {
  name = text;
  draw();
}

export function setWaits(on: boolean) {
  waits = on;
  draw();
}
