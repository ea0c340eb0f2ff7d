import { randomFillSync } from 'node:crypto'

/**
 * Ids: UUID version 7 (RFC 9562 §5.7). 48 bits of milliseconds, then a counter and randomness, so that ids sort in
 * order of creation. Lists and cursors rely on it.
 */

/** Random bytes are fetched for many ids at once, because each fetch is a system call. */
const pool = new Uint8Array(16 * 256)
let poolAt = pool.length
let lastMs = 0
let counter = 0

/** Creates an id for `now` (Unix milliseconds). Ids of one process never go backwards (RFC 9562 §6.2, method 1). */
export function newId(now: number): string {
  if (poolAt === pool.length) {
    randomFillSync(pool)
    poolAt = 0
  }
  const bytes = pool.subarray(poolAt, (poolAt += 16))
  if (now > lastMs) {
    lastMs = now
    counter = ((bytes[6]! << 8) | bytes[7]!) & 0x7ff
  } else if (++counter > 0xfff) {
    lastMs += 1
    counter = 0
  }
  let ms = lastMs
  for (let i = 5; i >= 0; i--) {
    bytes[i] = ms % 256
    ms = Math.floor(ms / 256)
  }
  bytes[6] = 0x70 | (counter >> 8)
  bytes[7] = counter & 0xff
  bytes[8] = 0x80 | (bytes[8]! & 0x3f)
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, 16).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Returns the smallest id that can have been created at `ms` (Unix milliseconds). Smaller ids are older. */
export function firstIdAt(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether `text` is formatted as an id. */
export function isId(text: string): boolean {
  return shape.test(text)
}

/** Returns when an id was created, in Unix milliseconds (RFC 9562 §5.7: its first 48 bits). */
export const getIdTime = (id: string): number => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)

/** The owner of a lease: one run of a daemon. Pure. */

/** Identifies one run of a node's daemon. */
export const formatOwner = (node: string, run: string): string => `${node}/${run}`

/** Returns the node of an owner. */
export const getOwnerNode = (owner: string): string => owner.slice(0, Math.max(0, owner.indexOf('/')))

/**
 * Whether the owner is an earlier run of the same node. That run has ended, because this run holds the lock on the
 * node's data directory.
 */
export const isEarlierRun = (owner: string, run: string): boolean =>
  owner !== run && getOwnerNode(owner) === getOwnerNode(run)
