import Database from 'better-sqlite3'

type Value = string | number | Buffer | null

interface Column {
  name: string
  type: string
  notnull: number
  pk: number
}

/** Text that is easily damaged on the way. */
const AWKWARD = `'quoted' "twice" \\ back\u2028slash ü😀 \n %s $1 {}`

/** Tables whose rows must be real: they are encrypted, belong to the engine, or say where a message is. */
const REAL = ['migrations', 'secrets', 'master_key', 'nodes', 'received_sources']

/**
 * Fills a SQLite database until every table has a row whose columns are all set, as far as its checks allow, and one
 * with null wherever that is allowed. Returns the number of rows by table.
 */
export function fillTables(file: string): Map<string, number> {
  const db = new Database(file)
  db.pragma('foreign_keys = off')
  const triggers = db
    .prepare<[], { name: string; sql: string }>("select name, sql from sqlite_schema where type = 'trigger'")
    .all()
  for (const { name } of triggers) db.exec(`drop trigger ${name}`)
  const tables = db
    .prepare<[], { name: string; sql: string }>(
      "select name, sql from sqlite_schema where type = 'table' and name not like 'sqlite_%'",
    )
    .all()
  // Rows are added until a round adds none: a row can only refer to rows that exist.
  for (let added = true; added;) {
    added = false
    for (const { name, sql } of tables.filter((one) => !REAL.includes(one.name)))
      for (const full of [true, false]) added = addRow(db, name, sql, full) || added
  }
  for (const { sql } of triggers) db.exec(sql)
  const counts = tables.map(({ name }): [string, number] => [
    name,
    db.prepare<[], number>(`select count(*) from "${name}"`).pluck().get()!,
  ])
  const broken = db.pragma('foreign_key_check') as unknown[]
  if (broken.length > 0) throw new Error(`rows without parents: ${JSON.stringify(broken)}`)
  db.close()
  return new Map(counts)
}

/** Adds a row if there is none like it. Returns whether it did. */
function addRow(db: Database.Database, table: string, sql: string, full: boolean): boolean {
  const columns = db.prepare<[string], Column>('select * from pragma_table_info(?)').all(table)
  const parents = new Map(
    db
      .prepare<[string], { from: string; table: string; to: string }>(
        'select "from", "table", "to" from pragma_foreign_key_list(?)',
      )
      .all(table)
      .map((one) => [one.from, one]),
  )
  const values = columns.map((column): Value | undefined => {
    // A message without a body would be in a file.
    const isBody = table === 'messages' && column.name === 'body'
    if (!full && column.notnull === 0 && column.pk === 0 && !isBody) return null
    const parent = parents.get(column.name)
    if (!parent) return valueOf(column, sql, full)
    return db
      .prepare<[], string>(
        `select "${parent.to}" from "${parent.table}" order by 1 ${full ? '' : 'desc'} limit 1`,
      )
      .pluck()
      .get()
  })
  if (values.includes(undefined)) return false
  const names = columns.map(({ name }) => `"${name}"`).join(', ')
  const places = columns.map(() => '?').join(', ')
  return (
    db.prepare(`insert or ignore into "${table}" (${names}) values (${places})`).run(...(values as Value[]))
      .changes > 0
  )
}

function valueOf({ name, type }: Column, sql: string, full: boolean): Value {
  const [, allowed] = new RegExp(`\\b${name}\\b[^,(]*check \\(${name} in \\(([^)]*)\\)`).exec(sql) ?? []
  if (allowed !== undefined) {
    const [first] = allowed.split(', ')
    return first!.startsWith("'") ? first!.slice(1, -1) : Number(first)
  }
  const [, only] = new RegExp(`check \\(${name} = (\\d+)\\)`).exec(sql) ?? []
  if (only !== undefined) return Number(only)
  if (type === 'INTEGER' || type === 'integer') return full ? 2 ** 52 + name.length : 7_000_000
  if (type === 'BLOB' || type === 'blob') return Buffer.from([0, 1, 255, full ? 2 : 3])
  return full ? `${name} ${AWKWARD}` : `${name} 2`
}
