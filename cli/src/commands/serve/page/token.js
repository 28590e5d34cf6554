// The dialog that asks the user for a token.

const part = (id) => document.getElementById(id);

const READING = { title: "A token is needed", first: "The server wants to know that you may read this.", refused: "The server refused that token." };
const WRITING = {
  title: "A token that may write is needed",
  first: "The token of this tab may read, and not write.",
  refused: "The server does not know that token, or it may not write. This tab keeps the one it had.",
};

/**
 * Asks for a token and resolves to it. A token that may write is optional: resolves to null if the
 * user cancels.
 */
export function askForToken({ toWrite, refused }) {
  const isOptional = toWrite;
  const texts = toWrite ? WRITING : READING;
  const dialog = part("token");
  part("token-title").textContent = texts.title;
  part("token-text").textContent = refused ? texts.refused : texts.first;
  part("token-cancel").hidden = !isOptional;
  return new Promise((resolve) => {
    const end = new AbortController();
    const answer = (token) => {
      end.abort();
      dialog.close();
      part("token-value").value = "";
      resolve(token);
    };
    const on = (element, name, listen) => element.addEventListener(name, listen, { signal: end.signal });
    on(dialog, "cancel", (event) => {
      event.preventDefault();
      if (isOptional) answer(null);
    });
    on(part("token-cancel"), "click", () => answer(null));
    on(dialog.querySelector("form"), "submit", (event) => {
      event.preventDefault();
      answer(part("token-value").value.trim());
    });
    dialog.showModal();
  });
}
