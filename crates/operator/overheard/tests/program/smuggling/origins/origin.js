// Notes every request that came whole, and answers with what it was.
const [port, seen] = process.argv.slice(2);
const { appendFileSync } = require('fs');
const server = require('http').createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    const line = `${request.method} ${request.url}\n`;
    appendFileSync(seen, line);
    response.end(line);
  });
});
server.listen(port, '127.0.0.1');
