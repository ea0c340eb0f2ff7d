/** Reads DNS queries from a TCP connection, each preceded by its length (RFC 1035 §4.2.2, RFC 7766). */
import type { Socket } from 'node:net'

/** Time after which a connection without a complete query is closed, in milliseconds (RFC 7766 §6.2.3). */
const IDLE_MS = 10_000
/** Maximum size of a query, in octets. Real queries are far smaller. */
const MOST_QUERY = 4096
/** Maximum size of responses that the client hasn't read yet, in octets. Beyond it, the connection is closed. */
const MOST_UNREAD = 256 * 1024

/**
 * Answers queries in order of arrival, until the client closes the connection or is idle.
 * @param answer returns the response, or undefined to close the connection
 */
export function serveConnection(socket: Socket, answer: (query: Buffer) => Buffer | undefined): void {
  let received = Buffer.alloc(0)
  // Data that never completes a query doesn't extend this time.
  const idle = setTimeout(() => socket.destroy(), IDLE_MS)
  socket.on('close', () => clearTimeout(idle))
  // The client has disconnected, which `close` reports.
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    while (received.length >= 2) {
      const length = received.readUInt16BE(0)
      if (length > MOST_QUERY) return void socket.destroy()
      if (received.length < 2 + length) return
      const response = answer(received.subarray(2, 2 + length))
      received = received.subarray(2 + length)
      if (!response || socket.writableLength > MOST_UNREAD) return void socket.destroy()
      idle.refresh()
      const framed = Buffer.alloc(2 + response.length)
      framed.writeUInt16BE(response.length)
      response.copy(framed, 2)
      socket.write(framed)
    }
  })
}
