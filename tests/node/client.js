// A browser, as far as the server can tell: follows one job, and prints what it hears, until the job has ended.
const { io } = require("socket.io-client");

const [url, job, token] = process.argv.slice(2);
const socket = io(url);
socket.on("connect", async () => {
  const answer = await socket.emitWithAck("follow", { job, token });
  console.log(JSON.stringify(["following", answer]));
});
for (const event of ["added", "started", "progress", "completed", "failed", "retrying", "resync"]) {
  socket.on(event, (data) => {
    console.log(JSON.stringify([event, data]));
    if (event === "completed") setTimeout(() => process.exit(0), 500); // what comes twice would come now
  });
}
