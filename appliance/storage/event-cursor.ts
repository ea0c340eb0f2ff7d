/**
 * A reader's position in the events. Cursors are created by the storage (events.ts), and compared and formatted only by
 * the functions here.
 *
 * When transactions run concurrently, an event can become visible after one with a larger `seq`. A reader that stored
 * only `seq` would miss it, so a cursor contains the transaction, too. SQLite runs one transaction after the other, so
 * events become visible in the order of `seq`. There, events have no column for their transaction, and `xid` is always
 * 0.
 */
export interface EventCursor {
  /** The transaction that stored the event. */
  readonly xid: number
  readonly seq: number
}

/** The position before the first event. */
export const BEFORE_ALL: EventCursor = { xid: 0, seq: 0 }

/** Reports whether `a` is further along than `b`. */
export const isAfter = (a: EventCursor, b: EventCursor): boolean =>
  a.xid === b.xid ? a.seq > b.seq : a.xid > b.xid

/** Returns the cursor that is closer to the beginning. */
export const earlier = (a: EventCursor, b: EventCursor): EventCursor => (isAfter(a, b) ? b : a)

/** Writes a cursor as text. */
export const formatCursor = ({ xid, seq }: EventCursor): string => `${xid}-${seq}`

/** Parses a cursor that `formatCursor` wrote; null for any other text. */
export function readCursor(text: string): EventCursor | null {
  const [, xid, seq] = /^(\d{1,15})-(\d{1,15})$/.exec(text) ?? []
  return xid === undefined || seq === undefined ? null : { xid: Number(xid), seq: Number(seq) }
}
