// Shows the numbers of the collection, every second.
async function show() {
  const response = await fetch("stats").catch(() => null);
  if (!response?.ok) return;
  const stats = await response.json();
  document.getElementById("items").textContent = stats.items;
  document.getElementById("version").textContent = stats.version;
}
setInterval(show, 1000);
show();
