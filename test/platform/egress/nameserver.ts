import { createSocket } from 'node:dgram';
import ipaddr from 'ipaddr.js';

/** Addresses (an empty list is NODATA), an error, or no reply. */
export type Reply = readonly string[] | 'nxdomain' | 'servfail' | 'silence';

export interface Query {
  name: string;
  family: 4 | 6;
  /** The client's port, which waits for the answer. */
  port: number;
}

export interface Nameserver {
  /** In the format of `setServers`. */
  address: string;
  queries: Query[];
  close(): Promise<void>;
}

/** A nameserver on loopback that answers from a script. It implements only the necessary part of RFC 1035. */
export async function startNameserver(script: (query: Query) => Reply): Promise<Nameserver> {
  const queries: Query[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (message, { port }) => {
    const question = questionOf(message);
    const query = { name: question.name, family: question.type === TYPE_AAAA ? 6 : 4, port } as const;
    queries.push(query);
    const reply = script(query);
    if (reply !== 'silence') socket.send(answerTo(message, question, reply), port);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    queries,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

const HEADER_BYTES = 12;
const TYPE_AAAA = 28;
const codes = { nxdomain: 3, servfail: 2 };

interface Question {
  name: string;
  type: number;
  bytes: Buffer;
}

function questionOf(message: Buffer): Question {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let size = message.readUInt8(at); size > 0; size = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + size));
    at += 1 + size;
  }
  const bytes = message.subarray(HEADER_BYTES, at + 5);
  return { name: labels.join('.'), type: message.readUInt16BE(at + 1), bytes };
}

function answerTo(message: Buffer, question: Question, reply: Exclude<Reply, 'silence'>): Buffer {
  const addresses = typeof reply === 'string' ? [] : reply;
  const header = Buffer.alloc(HEADER_BYTES);
  message.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | (typeof reply === 'string' ? codes[reply] : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  return Buffer.concat([header, question.bytes, ...addresses.map((address) => record(question.type, address))]);
}

/** One address record of the queried name, with a TTL of zero. */
function record(type: number, address: string): Buffer {
  const data = Buffer.from(ipaddr.parse(address).toByteArray());
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc000 | HEADER_BYTES, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}
