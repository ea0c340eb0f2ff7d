/**
 * A reader's position in the events. Cursors are created by the storage (events.ts), and compared and formatted only by
 * the functions here.
 *
 * When transactions run concurrently, an event can become visible after one with a larger `seq`. A reader that stored
 * only `seq` would miss it, so a cursor also contains the transaction. SQLite runs one transaction after the other, so
 * events become visible in the order of `seq`. Its events have no column for the transaction, and `xid` is always 0.
 */
export interface EventCursor {
  /** The transaction that stored the event. */
  readonly xid: number
  readonly seq: number
}

/** The position before the first event. */
export const START_CURSOR: EventCursor = { xid: 0, seq: 0 }

/** Whether `a` is after `b`. */
export const isAfter = (a: EventCursor, b: EventCursor): boolean =>
  a.xid === b.xid ? a.seq > b.seq : a.xid > b.xid

/** Returns the earlier of two cursors. */
export const minCursor = (a: EventCursor, b: EventCursor): EventCursor => (isAfter(a, b) ? b : a)

/** Formats a cursor as text. */
export const formatCursor = ({ xid, seq }: EventCursor): string => `${xid}-${seq}`

/** Parses the output of `formatCursor`; null for any other text. */
export function parseCursor(text: string): EventCursor | null {
  const [, xid, seq] = /^(\d{1,15})-(\d{1,15})$/.exec(text) ?? []
  return xid === undefined || seq === undefined ? null : { xid: Number(xid), seq: Number(seq) }
}
