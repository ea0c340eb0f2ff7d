import { randomInt } from 'node:crypto'

/** Hands out loopback addresses and ports for test servers that run in parallel. */

/** Starts at a random address, so that parallel test processes don't collide. 127.0.0.x is reserved for other uses. */
let next = (randomInt(1, 255) << 16) | (randomInt(0, 256) << 8) | 1

/** Returns the next address of 127.0.0.0/8 that this process has not handed out yet. */
export function freeAddress(): string {
  const host = next++
  // Some programs treat .0 and .255 as network and broadcast addresses.
  if ((host & 0xff) === 0 || (host & 0xff) === 0xff) return freeAddress()
  return `127.${(host >> 16) & 0xff}.${(host >> 8) & 0xff}.${host & 0xff}`
}

/** Returns a port that is probably free: below Linux's ephemeral range (32768–60999) and above the well-known ports. */
export function likelyFreePort(): number {
  return randomInt(20_000, 32_000)
}
