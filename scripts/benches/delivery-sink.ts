/**
 * A mail server that accepts everything and stores nothing, as a separate process. It supports pipelining, and STARTTLS
 * if requested.
 * usage: delivery-sink.ts plain|tls
 * Sends a `Sink` to its parent.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import { freeAddress } from '../../test/world/addresses.ts'
import { tlsOptions } from '../../test/world/tls.ts'

/** Address and port of the server. */
export interface Sink {
  address: string
  port: number
}

const secure = process.argv[2] === 'tls'
const secureContext = createSecureContext(tlsOptions('self-signed'))

function answer(socket: Socket, offerTls: boolean): void {
  let unread = ''
  let body = false
  socket.setNoDelay(true).on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    const lines = (unread + chunk.toString('latin1')).split('\r\n')
    unread = lines.pop()!
    let out = ''
    for (const line of lines) {
      if (body) {
        if (line === '.') out += '250 2.0.0 taken\r\n'
        body = line !== '.'
        continue
      }
      const command = line.slice(0, 4).toUpperCase()
      if (command === 'STAR') return startTls(socket)
      if (command === 'QUIT') return void socket.end(`${out}221 2.0.0 bye\r\n`)
      if (command === 'EHLO') out += `250-sink\r\n${offerTls ? '250-STARTTLS\r\n' : ''}250 PIPELINING\r\n`
      else out += command === 'DATA' ? '354 go on\r\n' : '250 2.0.0 ok\r\n'
      body = command === 'DATA'
    }
    if (out !== '') socket.write(out)
  })
}

function startTls(socket: Socket): void {
  socket.removeAllListeners('data')
  socket.write('220 2.0.0 go on\r\n')
  answer(new TLSSocket(socket, { isServer: true, secureContext }), false)
}

const server = createServer((socket) => {
  answer(socket, secure)
  socket.write('220 sink ESMTP\r\n')
})
server.listen(0, freeAddress())
await once(server, 'listening')
const { address, port } = server.address() as AddressInfo
process.send!({ address, port } satisfies Sink)
process.on('disconnect', () => process.exit())
