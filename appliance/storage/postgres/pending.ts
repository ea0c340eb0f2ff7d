/** Delayed inserts. Combines rows for one table in one statement, even if they come from several calls. Pure. */
import { type InsertTemplate, formatInsert } from './texts.ts'

/** Numbers of rows per statement. There are few of them, because each is prepared as a separate text. */
const SIZES = [64, 16, 4, 1]

interface Group {
  insert: InsertTemplate
  rows: unknown[][]
}

/** A delayed row. */
interface Ticket {
  group: Group
  row: unknown[]
}

/** A foreign key: `child` refers to `parent`. */
export interface Reference {
  child: string
  parent: string
}

/**
 * The delayed inserts. They are sent in the order in which their tables were first used, but a row always comes after the
 * rows that it refers to.
 */
export class PendingInserts {
  #groups = new Map<string, Group>()
  #depths: ReadonlyMap<string, number> = new Map()

  /** Sets the foreign keys of the database, which determine the order of the inserts. */
  follow(references: readonly Reference[]): void {
    this.#depths = depthsOf(references)
  }

  add(insert: InsertTemplate, row: unknown[]): Ticket {
    const key = insert.head + insert.row + insert.tail
    let group = this.#groups.get(key)
    if (!group) this.#groups.set(key, (group = { insert, rows: [] }))
    group.rows.push(row)
    return { group, row }
  }

  /** Removes a row if it is still delayed. Returns whether it was. */
  takeBack({ group, row }: Ticket): boolean {
    const at = group.rows.lastIndexOf(row)
    if (at >= 0) group.rows.splice(at, 1)
    return at >= 0
  }

  forget(): void {
    this.#groups = new Map()
  }

  /** Returns and removes all rows if the text names one of their tables. Without a text, always does so. */
  take(before: string | undefined): { text: string; values: unknown[] }[] {
    const depthOf = ({ insert }: Group) => this.#depths.get(insert.table) ?? 0
    const groups = [...this.#groups.values()].toSorted((a, b) => depthOf(a) - depthOf(b))
    const isNamed = ({ insert }: Group) => new RegExp(`\\b${insert.table}\\b`).test(before ?? '')
    if (before !== undefined && !groups.some(isNamed)) return []
    this.forget()
    return groups.flatMap(statementsOf)
  }
}

/** Returns, for each table, the length of the longest path of foreign keys that starts from it. */
function depthsOf(references: readonly Reference[]): Map<string, number> {
  const depths = new Map<string, number>()
  // The number of rounds is limited by the number of keys, so this ends even if tables refer to each other.
  for (let left = references.length, changed = true; changed && left > 0; left -= 1) {
    changed = false
    for (const { child, parent } of references) {
      const depth = (depths.get(parent) ?? 0) + 1
      if (child === parent || (depths.get(child) ?? 0) >= depth) continue
      depths.set(child, depth)
      changed = true
    }
  }
  return depths
}

function statementsOf({ insert, rows }: Group): { text: string; values: unknown[] }[] {
  const left = rows.splice(0)
  const statements: { text: string; values: unknown[] }[] = []
  while (left.length > 0) {
    const size = SIZES.find((one) => one <= left.length)!
    statements.push({ text: formatInsert(insert, size), values: left.splice(0, size).flat() })
  }
  return statements
}
