import { randomInt } from 'node:crypto'

/** Loopback addresses and ports for servers of tests that run side by side. */

/** The first address is random, so that test processes do not meet; 127.0.0.x is left to others. */
let next = (randomInt(1, 255) << 16) | (randomInt(0, 256) << 8) | 1

/** The next address of 127.0.0.0/8 that this process has not handed out. */
export function freeAddress(): string {
  const host = next++
  // .0 and .255 look like networks and broadcasts to some programs.
  if ((host & 0xff) === 0 || (host & 0xff) === 0xff) return freeAddress()
  return `127.${(host >> 16) & 0xff}.${(host >> 8) & 0xff}.${host & 0xff}`
}

/** A port that probably nobody has: below Linux's ephemeral range 32768–60999, above the well-known services. */
export function likelyFreePort(): number {
  return randomInt(20_000, 32_000)
}
