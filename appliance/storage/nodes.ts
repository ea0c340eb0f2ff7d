/** The nodes: installations of the program that share one storage. */
import type { Db } from './schema.ts'

/** The id of this node. A database of SQLite is one node's alone and carries its id with it, into a backup too. */
async function thisNode(db: Db): Promise<string> {
  const { id } = await db.selectFrom('nodes').select('id').executeTakeFirstOrThrow()
  return id
}

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { thisNode },
}
