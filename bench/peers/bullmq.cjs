// BullMQ on Redis, in Node: the same verbs as the other peers' scripts, and the same marks. At least once.
const fs = require("fs");
const path = require("path");
const { Queue, Worker } = require("bullmq");

const [verb, url, ...numbers] = process.argv.slice(2);
const [first, second] = numbers.map(Number);
const place = new URL(url);
const connection = { host: place.hostname, port: Number(place.port), maxRetriesPerRequest: null };
const options = { removeOnComplete: { count: 1000 } };
const seconds = () => Number(process.hrtime.bigint()) / 1e9; // the clock that Python calls monotonic
const GROUP = 1000;
const MOST_WAITS = 1000;

// As bench/marks.py has it: handlers begun, when the first did, how long each had waited.
function mark(folder) {
  const file = fs.openSync(path.join(folder, String(process.pid)), "w+");
  const memory = Buffer.alloc(16 + 8 * MOST_WAITS);
  let begun = 0;
  let written = 0;
  const write = () => {
    if (written !== begun) {
      memory.writeBigInt64LE(BigInt(begun), 0);
      fs.writeSync(file, memory, 0, memory.length, 0);
      written = begun;
    }
  };
  setInterval(write, 2); // Node maps no files: the count is a little late, which costs nothing
  return (sentAt) => {
    if (!begun) memory.writeDoubleLE(seconds(), 8);
    if (sentAt && begun < MOST_WAITS) memory.writeDoubleLE(seconds() - sentAt, 16 + 8 * begun);
    begun += 1;
  };
}

const verbs = {
  async prepare(queue) {
    await queue.waitUntilReady();
  },
  async enqueue(queue) {
    const began = seconds();
    let done = 0;
    while (done < first && seconds() - began < second) {
      await queue.add("noop", { t: 0 }, options);
      done += 1;
    }
    return done / (seconds() - began);
  },
  async bulk(queue) {
    const began = seconds();
    for (let n = 0; n < first; n += GROUP) {
      const size = Math.min(GROUP, first - n);
      await queue.addBulk(Array.from({ length: size }, () => ({ name: "noop", data: { t: 0 }, opts: options })));
    }
    return first / (seconds() - began);
  },
  async pace(queue) {
    const begin = seconds();
    for (let n = 0; n < first; n += 1) {
      const pause = begin + n * 0.02 - seconds();
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause * 1000));
      await queue.add("noop", { t: seconds() }, options);
    }
  },
};

async function main() {
  if (verb === "work") {
    const begin = mark(process.env.BENCH_MARKS);
    new Worker("bench", async (job) => begin(job.data.t), { connection, concurrency: first });
    return;
  }
  const queue = new Queue("bench", { connection });
  const figure = await verbs[verb](queue);
  console.log(JSON.stringify(figure ?? null));
  await queue.close();
}

main();
