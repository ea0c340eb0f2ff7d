/** What many calls of one commit raise: it is gathered while they run, and written once. */
import type { Connection } from './connection.ts'

/** Numbers in memory that belong to the transaction. */
export interface Gathered {
  /** Writes them; then nothing is gathered. */
  write(): void
  /** The transaction was taken back: so are they. */
  forget(): void
}

/** All that is gathered on one connection. */
class Gathering {
  /** Whether somebody calls `write` at the end of the transaction; else each call is one. */
  grouped = false
  readonly #db: Connection
  readonly #all = new Map<unknown, Gathered>()

  constructor(db: Connection) {
    this.#db = db
  }

  /** What `create` makes of the connection, made once. */
  of<T extends Gathered>(create: (db: Connection) => T): T {
    let found = this.#all.get(create) as T | undefined
    if (!found) this.#all.set(create, (found = create(this.#db)))
    return found
  }

  /** Has to be called before anything reads what is gathered, and before the commit. */
  write(): void {
    for (const one of this.#all.values()) one.write()
  }

  /** The end of a call that has gathered. */
  written(): void {
    if (!this.grouped) this.write()
  }

  forget(): void {
    for (const one of this.#all.values()) one.forget()
  }
}

const gatherings = new WeakMap<Connection, Gathering>()

/** What is gathered on a connection. */
export function gatheringOn(db: Connection): Gathering {
  let found = gatherings.get(db)
  if (!found) gatherings.set(db, (found = new Gathering(db)))
  return found
}
