// How ECMAScript writes doubles, which is how RFC 8785 does (section 3.2.2.3):
//   node tests/vectors/es6_numbers.js > tests/vectors/es6_numbers.json
// 64-bit patterns from a linear congruential generator (Knuth's MMIX), then the neighbours of every power of ten.
"use strict";
const view = new DataView(new ArrayBuffer(8));
const numbers = {};
const keep = (bits) => {
  view.setBigUint64(0, BigInt.asUintN(64, bits));
  const value = view.getFloat64(0);
  if (Number.isFinite(value)) numbers[view.getBigUint64(0).toString(16).padStart(16, "0")] = JSON.stringify(value);
};
let state = 8785n;
for (let i = 0; i < 300; i++) {
  state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
  keep(state);
}
for (let exponent = -12; exponent <= 24; exponent++) {
  view.setFloat64(0, Number(`1e${exponent}`));
  const bits = view.getBigUint64(0);
  for (const step of [-1n, 0n, 1n]) keep(bits + step);
}
for (let power = 50n; power <= 56n; power++) for (const step of [-1n, 0n, 1n]) {
  view.setFloat64(0, Number(2n ** power));
  keep(view.getBigUint64(0) + step);
}
const source = `Node.js ${process.version}: node tests/vectors/es6_numbers.js`;
console.log(JSON.stringify({ source, numbers }, null, 1));
