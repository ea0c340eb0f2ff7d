/** Sends downloads of many rows. Pages are generated one at a time as clients read them, round robin over teams. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import { getCaller } from './access.ts'
import type { HttpDeps } from './deps.ts'

/** Rows per page. A page takes a few milliseconds of the event loop. */
export const PAGE_ROWS = 200

/** The parts of a file. */
export interface DownloadFile<T> {
  name: string
  type: string
  /** Pages of a few hundred rows. Pages may be empty. */
  pages: AsyncIterable<T[]>
  head: string
  /** @param at index of the row, from 0 */
  write: (row: T, at: number) => string
  /** @param count number of rows written */
  tail?: (count: number) => string
}

/** CSV with a header line (RFC 4180 §3). */
export const CSV_TYPE = 'text/csv; charset=utf-8; header=present'

/** A single JSON value (RFC 8259). */
export const JSON_TYPE = 'application/json; charset=utf-8'

/** Sends the file. If a page waits too long for its turn, the response is cut off, which clients notice. */
export function sendDownload<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  file: DownloadFile<T>,
  { capacity: { downloads } }: Pick<HttpDeps, 'capacity'>,
): FastifyReply {
  const { teamId } = getCaller(request)
  const texts = textsOf(file)
  const next = async (): Promise<string | null> => {
    for (;;) {
      using _turn = await downloads.take(teamId, 1)
      const { done, value } = await texts.next()
      if (done === true) return null
      if (value !== '') return value
    }
  }
  const stream = new Readable({
    read() {
      next().then(
        (text) => this.push(text),
        (error: Error) => this.destroy(error),
      )
    },
  })
  return reply
    .type(file.type)
    .header('content-disposition', `attachment; filename="${file.name}"`)
    .send(stream)
}

/** Yields the text of each page. */
async function* textsOf<T>({ pages, head, write, tail }: DownloadFile<T>): AsyncGenerator<string, undefined> {
  yield head
  let count = 0
  for await (const page of pages) yield page.map((row) => write(row, count++)).join('')
  yield tail?.(count) ?? ''
}
