// What the page does when it has loaded: the heading, the sum, and whether it may be booked.
const FARE = 14.5;
const BICYCLE = 3.35;

const field = (name) => document.getElementById(name);

function add() {
  const sum = Number(field("adults").value) * FARE + Number(field("bicycles").value) * BICYCLE;
  field("total").textContent = sum.toFixed(2);
}

field("heading").textContent = "Cross to Norrholm";
field("terms").addEventListener("change", () => { field("book").disabled = !field("terms").checked; });
for (const name of ["adults", "bicycles"]) field(name).addEventListener("input", add);
add();
