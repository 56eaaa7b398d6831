import type { Socket } from 'node:net';

/** The least of SMTP (RFC 5321) that a client needs. */
export function receiveMail(socket: Socket, lines: string[]): void {
  let isData = false;
  let rest = '';
  const say = (line: string): void => void socket.write(`${line}\r\n`);
  say('220 test');
  socket.on('data', (chunk: Buffer) => {
    const received = (rest + chunk.toString()).split('\r\n');
    rest = received.pop() ?? '';
    for (const line of received) {
      lines.push(line);
      const isEnd = isData && line === '.';
      if (isData && !isEnd) continue;
      isData = line === 'DATA';
      if (line === 'QUIT') socket.end('221 bye\r\n');
      else say(isData ? '354 go on' : '250 ok');
    }
  });
}
