/**
 * How far somebody has read the events. Made by the storage (events.ts), and opaque to whoever holds it: nothing but the functions here compares
 * or writes two of them.
 *
 * Where transactions run side by side, an event may become visible after one with a larger `seq`, and who remembers `seq` alone would never
 * read it. So a cursor names the transaction too. On SQLite transactions come one after the other: `seq` is the order in which events become
 * visible, events need no column for their transaction, and `xid` is always 0.
 */
export interface EventCursor {
  /** The transaction that stored the event. */
  readonly xid: number
  readonly seq: number
}

/** Before the first event. */
export const BEFORE_ALL: EventCursor = { xid: 0, seq: 0 }

/** Whether `a` has read more than `b`. */
export const isAfter = (a: EventCursor, b: EventCursor): boolean =>
  a.xid === b.xid ? a.seq > b.seq : a.xid > b.xid

/** The nearer to the beginning. */
export const earlier = (a: EventCursor, b: EventCursor): EventCursor => (isAfter(a, b) ? b : a)

/** A cursor as text, for whoever comes back with it. */
export const formatCursor = ({ xid, seq }: EventCursor): string => `${xid}-${seq}`

/** The cursor that `formatCursor` wrote; null for any other text. */
export function readCursor(text: string): EventCursor | null {
  const [, xid, seq] = /^(\d{1,15})-(\d{1,15})$/.exec(text) ?? []
  return xid === undefined || seq === undefined ? null : { xid: Number(xid), seq: Number(seq) }
}
