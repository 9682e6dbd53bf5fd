// A picture as it stands, in the page's address: #view=2&{"m":3} is the third picture of a page.

const VIEW = /^#view=(\d+)&(.*)$/;
const pictures = page => [...page.querySelectorAll(".course-live")];

/** The picture that an address is about, and its values: { box, values }; nothing for another address. */
export function sent(page, hash) {
  const [, at, text] = VIEW.exec(hash) ?? [];
  const box = pictures(page)[at];
  if (!box) return undefined;
  try {
    return { box, values: JSON.parse(decodeURIComponent(text)) };
  } catch {
    return undefined; // it was not copied whole
  }
}

/** What a picture is told, with the values of the page's address where they are meant for it. */
export function changed(data, box, hash) {
  const found = sent(box.ownerDocument, hash);
  if (found?.box !== box) return data;
  const known = data.spec.order.filter(name => name in found.values);
  const values = Object.fromEntries(known.map(name => [name, found.values[name]]));
  return { ...data, values: { ...data.values, ...values } };
}

/** A button under a picture that puts the picture as it stands into the address, and copies that. */
export function linked(box, data, model) {
  const page = box.ownerDocument;
  const button = Object.assign(page.createElement("button"),
    { type: "button", className: "course-link", textContent: "copy a link to this view" });
  button.addEventListener("click", async () => {
    const now = Object.entries(model.get("values")).filter(([name, value]) =>
      JSON.stringify(value) !== JSON.stringify(data.values[name]));
    const text = encodeURIComponent(JSON.stringify(Object.fromEntries(now)));
    history.replaceState(null, "", `#view=${pictures(page).indexOf(box)}&${text}`);
    try {
      await navigator.clipboard.writeText(location.href);
      button.textContent = "copied";
    } catch {
      button.textContent = "it is in the address of this page";
    }
  });
  box.append(button);
}
