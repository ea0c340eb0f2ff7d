import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'

/** A socket in front of a database server's, whose connections can be cut. */
export interface DatabaseLine {
  /** Connects to the database through the line. */
  url: string
  /** Closes all connections, and takes no new ones. */
  cut(): Promise<void>
  mend(): Promise<void>
  close(): Promise<void>
}

/** What the thread runs. A thread of its own, because opening a storage blocks the caller's. */
const SCRIPT = `
const { connect, createServer } = require('node:net')
const { parentPort, workerData: { own, server, endsLate } } = require('node:worker_threads')
const sockets = new Set()
const keep = (one, other) => {
  sockets.add(one)
  one.on('error', () => undefined)
  one.on('close', () => { sockets.delete(one); if (!endsLate) other.destroy() })
}
const listener = createServer((client) => {
  const upstream = connect(server)
  keep(client, upstream)
  keep(upstream, client)
  client.pipe(upstream).pipe(client, { end: !endsLate })
})
const done = () => parentPort.postMessage('done')
parentPort.on('message', (what) => {
  if (what === 'mend') return listener.listen(own, done)
  listener.close(done)
  for (const one of sockets) one.destroy()
})`

/**
 * Opens a line to a database.
 * @param url of a database on a Unix socket
 * @param directory for the line's own socket
 * @param endsLate whether clients don't see that the server closed a connection
 */
export async function openDatabaseLine(
  url: string,
  directory: string,
  endsLate = false,
): Promise<DatabaseLine> {
  const target = new URL(url)
  const socket = '.s.PGSQL.5432'
  const workerData = {
    own: join(directory, socket),
    server: join(target.searchParams.get('host')!, socket),
    endsLate,
  }
  const worker = new Worker(SCRIPT, { eval: true, workerData, name: 'database line' })
  const ask = async (what: 'cut' | 'mend'): Promise<void> => {
    worker.postMessage(what)
    await once(worker, 'message')
  }
  await ask('mend')
  target.searchParams.set('host', directory)
  return {
    url: target.href,
    cut: () => ask('cut'),
    mend: () => ask('mend'),
    close: async () => void (await worker.terminate()),
  }
}
