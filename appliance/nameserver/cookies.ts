/**
 * DNS cookies (RFC 7873): a client that returns our cookie has received a packet at its address, so the address isn't
 * forged. Uses the layout of RFC 9018, but with HMAC-SHA-256 instead of SipHash. All nodes share the secret.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** How long a cookie is valid, and how far the clocks of nodes may differ, in seconds (RFC 9018 §4.3). */
const VALID_S = 3600
const AHEAD_S = 300

export interface Cookies {
  /**
   * Returns the COOKIE option of the response, and whether the client has proved that its address isn't forged.
   * @param option the option of the query: the client's 8 octets, followed by our cookie if the client has one
   * @param now Unix milliseconds
   */
  answer(option: Buffer, ip: string, now: number): { option: Buffer; proven: boolean }
}

export function createCookies(secret: Uint8Array): Cookies {
  const make = (client: Buffer, time: number, ip: string): Buffer => {
    const start = Buffer.alloc(8)
    start[0] = 1
    start.writeUInt32BE(time >>> 0, 4)
    const mac = createHmac('sha256', secret).update(client).update(start).update(ip).digest()
    return Buffer.concat([start, mac.subarray(0, 8)])
  }
  return {
    answer(option, ip, now) {
      const client = option.subarray(0, 8)
      const server = option.subarray(8)
      const seconds = Math.floor(now / 1000)
      const proven = server.length === 16 && isValid(server, seconds, (time) => make(client, time, ip))
      return { option: Buffer.concat([client, make(client, seconds, ip)]), proven }
    },
  }
}

function isValid(server: Buffer, seconds: number, make: (time: number) => Buffer): boolean {
  const time = server.readUInt32BE(4)
  // Use serial number arithmetic, so that the 32-bit time can overflow in 2106 (RFC 1982).
  const age = ((seconds >>> 0) - time) | 0
  if (age > VALID_S || age < -AHEAD_S) return false
  return timingSafeEqual(make(time), server)
}
