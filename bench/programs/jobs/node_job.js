// Four workers to which the main thread hands buffers and which hand others back; the output is always the same.
"use strict";
const { Worker, isMainThread, parentPort, workerData } = require("node:worker_threads");
const { createHash } = require("node:crypto");
const { deflateSync, inflateSync } = require("node:zlib");

function bytes(seed, length) {
  const buffer = new ArrayBuffer(length);
  const view = new Uint8Array(buffer);
  for (let i = 0; i < length; i++) view[i] = (i * seed + (i >> 7)) & 255;
  return buffer;
}

function worker() {
  parentPort.on("message", (message) => {
    if (message === null) return parentPort.close();
    const packed = deflateSync(new Uint8Array(message));
    const rows = JSON.parse(JSON.stringify(Array.from({ length: 200 }, (_, i) => ({ i, name: `row-${i * workerData}` }))));
    const text = rows.map((row) => row.name.replace(/-/g, "+")).join();
    const back = new Uint8Array(inflateSync(packed));
    const digest = createHash("sha256").update(back).update(text).digest("hex");
    const copy = new Uint8Array(packed).buffer;
    parentPort.postMessage({ digest, copy }, [copy]);
  });
}

async function main() {
  const rounds = Number(process.argv[2] || 40), factor = Number(process.argv[3] || 1);
  const serve = (seed) => new Promise((resolve, reject) => {
    const thread = new Worker(__filename, { workerData: seed });
    const digests = [];
    let left = rounds;
    const hand = () => { const buffer = bytes(seed + left, 1000 * (left % 60 + 1)); thread.postMessage(buffer, [buffer]); };
    thread.on("message", ({ digest, copy }) => {
      digests.push(digest, copy.byteLength);
      if (--left) hand(); else thread.postMessage(null);
    });
    thread.on("error", reject);
    thread.on("exit", () => resolve(`${seed} ${createHash("sha256").update(digests.join()).digest("hex")}`));
    hand();
  });
  for (const line of await Promise.all([3, 5, 7, 11].map((seed) => serve(seed * factor)))) console.log(line);
}

if (isMainThread) main(); else worker();
