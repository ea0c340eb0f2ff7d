/** Delayed inserts. Combines rows for one table in one statement, even from several calls. Pure. */
import { type Insert, insertOf } from './texts.ts'

/** Rows per statement. Few sizes, because each is prepared as a separate text. */
const SIZES = [64, 16, 4, 1]

interface Group {
  insert: Insert
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
 * The delayed inserts. They are taken so that a row comes after those it refers to: in the order in which their tables
 * were first used, as far as foreign keys allow.
 */
export class Pending {
  #groups = new Map<string, Group>()
  #depths: ReadonlyMap<string, number> = new Map()

  /** Sets the foreign keys of the database. */
  follow(references: readonly Reference[]): void {
    this.#depths = depthsOf(references)
  }

  add(insert: Insert, row: unknown[]): Ticket {
    const key = insert.head + insert.row + insert.tail
    let group = this.#groups.get(key)
    if (!group) this.#groups.set(key, (group = { insert, rows: [] }))
    group.rows.push(row)
    return { group, row }
  }

  /** Removes a row, if it is still delayed. */
  takeBack({ group, row }: Ticket): boolean {
    const at = group.rows.lastIndexOf(row)
    if (at >= 0) group.rows.splice(at, 1)
    return at >= 0
  }

  forget(): void {
    this.#groups = new Map()
  }

  /** Takes and removes all rows if the text names one of their tables; without a text, always. */
  take(before: string | undefined): { text: string; values: unknown[] }[] {
    const depthOf = ({ insert }: Group) => this.#depths.get(insert.table) ?? 0
    const groups = [...this.#groups.values()].toSorted((a, b) => depthOf(a) - depthOf(b))
    const isNamed = ({ insert }: Group) => new RegExp(`\\b${insert.table}\\b`).test(before ?? '')
    if (before !== undefined && !groups.some(isNamed)) return []
    this.forget()
    return groups.flatMap(statementsOf)
  }
}

/** Returns how many foreign keys lead from each table to one that refers to no other, on the longest path. */
function depthsOf(references: readonly Reference[]): Map<string, number> {
  const depths = new Map<string, number>()
  // A path is at most as long as there are keys, so this ends even if tables refer to each other.
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
    statements.push({ text: insertOf(insert, size), values: left.splice(0, size).flat() })
  }
  return statements
}
