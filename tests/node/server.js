// A replica of somebody's Node application: Socket.IO over the Redis adapter; clients join the rooms they ask for.
const { createServer } = require("node:http");
const { Redis } = require("ioredis");
const { Server } = require("socket.io");
const { createAdapter } = require("@socket.io/redis-adapter");

const pub = new Redis(process.argv[2]);
const http = createServer();
const io = new Server(http, { adapter: createAdapter(pub, pub.duplicate()) });
io.on("connection", (socket) => {
  socket.on("follow", ({ job }, answer) => {
    socket.join(`job:${job}`);
    answer({ room: `job:${job}` });
  });
});
http.listen(0, "127.0.0.1", () => console.log(http.address().port));
