import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'

/** A packet for or from a milter: a letter, and data as octets. */
export type Said = [letter: string, data: string]

/** What a scripted milter answers. */
export interface Script {
  /** The answer to the negotiation. Default: version 6, which adds headers, and wants all steps. */
  greeting?: Said
  /** Answers by letter. Default: go on. */
  answers?: Record<string, Said[]>
}

/** Returns a number as four octets. */
export const number = (value: number): string => {
  const octets = Buffer.alloc(4)
  octets.writeUInt32BE(value)
  return octets.toString('latin1')
}

const packet = ([letter, data]: Said): Buffer => {
  const body = Buffer.from(letter + data, 'latin1')
  return Buffer.concat([Buffer.from(number(body.length), 'latin1'), body])
}

/**
 * Starts a milter.
 * @param path of a Unix socket; default: a port on 127.0.0.1
 * @returns its address as in the configuration, and what it was told, in order
 */
export async function startMilter({ greeting, answers = {} }: Script, path?: string) {
  const heard: Said[] = []
  const answer = ([letter]: Said): Said[] => {
    if (letter === 'O') return [greeting ?? ['O', number(6) + number(0x31) + number(0)]]
    return letter === 'D' || letter === 'Q' ? [] : (answers[letter] ?? [['c', '']])
  }
  const server = createServer((socket: Socket) => {
    let buffered = Buffer.alloc(0)
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      buffered = Buffer.concat([buffered, chunk])
      while (buffered.length >= 4 && buffered.length >= 4 + buffered.readUInt32BE()) {
        const end = 4 + buffered.readUInt32BE()
        const said: Said = [buffered.toString('latin1', 4, 5), buffered.toString('latin1', 5, end)]
        buffered = buffered.subarray(end)
        heard.push(said)
        for (const one of answer(said)) socket.write(packet(one))
      }
    })
  })
  server.listen(path === undefined ? { port: 0, host: '127.0.0.1' } : { path })
  await once(server, 'listening')
  const address = path === undefined ? `127.0.0.1:${(server.address() as AddressInfo).port}` : `unix:${path}`
  return { address, heard, close: () => new Promise((resolve) => server.close(resolve)) }
}
