/** Rows on their way into the database: those of one table become one statement, however many calls made them. Pure. */
import { type Insert, insertOf } from './texts.ts'

/** Rows of one statement; few sizes, since each is prepared as a text of its own. */
const SIZES = [64, 16, 4, 1]

interface Group {
  insert: Insert
  rows: unknown[][]
}

/** One row that waits. */
interface Ticket {
  group: Group
  row: unknown[]
}

/** The inserts that wait, in the order in which their tables were first named: so a row comes after the one that it refers to. */
export class Pending {
  #groups = new Map<string, Group>()

  add(insert: Insert, row: unknown[]): Ticket {
    const key = insert.head + insert.row + insert.tail
    let group = this.#groups.get(key)
    if (!group) this.#groups.set(key, (group = { insert, rows: [] }))
    group.rows.push(row)
    return { group, row }
  }

  /** Takes a row back, if it still waits. */
  takeBack({ group, row }: Ticket): boolean {
    const at = group.rows.lastIndexOf(row)
    if (at >= 0) group.rows.splice(at, 1)
    return at >= 0
  }

  forget(): void {
    this.#groups = new Map()
  }

  /** All of them, if a text names one of their tables; without a text, all of them. They wait no longer. */
  take(before: string | undefined): { text: string; values: unknown[] }[] {
    const groups = [...this.#groups.values()]
    const isNamed = ({ insert }: Group) => new RegExp(`\\b${insert.table}\\b`).test(before ?? '')
    if (before !== undefined && !groups.some(isNamed)) return []
    this.forget()
    return groups.flatMap(statementsOf)
  }
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
