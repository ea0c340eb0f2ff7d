/**
 * Results of small reads that many calls of a transaction repeat: hold rules, providers of domains, suppressions. Within a
 * transaction, only its own writes change the results. Pure.
 */

type Rows = Record<string, unknown>[]

/** Tables whose rows change only by statements that name them, never by a trigger. */
const TABLES = ['hold_rules', 'destinations', 'suppressions']
/** Table functions that read only their parameter. */
const PURE = ['json_each']

const ANY = new RegExp(`\\b(${TABLES.join('|')})\\b`)

const CHANGES = new RegExp(`${ANY.source}|^(delete|begin|commit|rollback|release|savepoint)\\b`)

/** Whether an SQL text reads only from these tables. */
export function isRepeatable(text: string): boolean {
  if (!/^select\b/.test(text) || /\bfor update\b/.test(text)) return false
  const names = [...text.matchAll(/\b(?:from|join) (\w+)/g)].map(([, name]) => name!)
  return ANY.test(text) && names.every((name) => TABLES.includes(name) || PURE.includes(name))
}

export class KnownReads {
  readonly #rows = new Map<string, Rows>()

  /** Returns the known result of a repeatable read. */
  find(text: string, values: readonly unknown[]): Rows | undefined {
    return this.#rows.size === 0 ? undefined : this.#rows.get(keyOf(text, values))
  }

  add(text: string, values: readonly unknown[], rows: Rows): void {
    this.#rows.set(keyOf(text, values), rows)
  }

  /**
   * Called with each other statement. Drops the results if the statement may change them: a write to one of the tables, a
   * deletion that may reach them by a foreign key, or the start or end of a transaction or savepoint.
   */
  heed(text: string): void {
    if (this.#rows.size > 0 && CHANGES.test(text)) this.#rows.clear()
  }
}

const keyOf = (text: string, values: readonly unknown[]): string => `${text}\n${JSON.stringify(values)}`
