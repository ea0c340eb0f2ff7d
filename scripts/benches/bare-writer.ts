/** The bare server's writer thread: one insert per request, many per durable commit, like the appliance. */
import { workerData } from 'node:worker_threads'
import { openWriter } from '../../appliance/storage/sqlite/connection.ts'
import { createGroupCommit } from '../../appliance/storage/engine/group-commit.ts'
import { runThread } from '../../appliance/storage/engine/thread.ts'

runThread(() => {
  const db = openWriter((workerData as { file: string }).file)
  db.exec(
    'create table requests (id text primary key, body text not null, created_at integer not null) strict',
  )
  const insert = db.prepare('insert into requests (id, body, created_at) values (?, ?, ?)')
  return {
    most: 256,
    methods: [],
    execute: createGroupCommit(db, ({ args, now }) => {
      const { id, body } = args as { id: string; body: string }
      insert.run(id, body, now)
    }),
    close: () => void db.close(),
  }
})
