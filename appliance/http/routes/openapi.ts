import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getDocument } from '../../api/service.ts'
import type { App } from '../deps.ts'
import { serve } from '../serve.ts'

/** Written by `scripts/generate`. */
const FILE = join(import.meta.dirname, '..', '..', 'api', 'openapi.json')

/** The part of the document that depends on the server. */
interface Document {
  info: { version: string }
  tags: { name: string }[]
  paths: Record<string, Record<string, { tags: string[] }>>
}

/** Seconds that clients may keep what only changes with the program. */
const MAX_AGE = 300

/** @param sandbox whether the operations of the sandbox exist here */
async function readDocument(version: string, sandbox: boolean): Promise<Buffer> {
  const document = JSON.parse(await readFile(FILE, 'utf8')) as Document
  document.info.version = version
  if (!sandbox) {
    document.tags = document.tags.filter(({ name }) => name !== 'Sandbox')
    for (const [path, operations] of Object.entries(document.paths))
      if (Object.values(operations).every(({ tags }) => tags[0] === 'Sandbox')) delete document.paths[path]
  }
  return Buffer.from(JSON.stringify(document))
}

/** The OpenAPI document, read when it is first asked for and kept: repeated requests share one copy. */
export function documentRoutes(app: App, version: string, sandbox: boolean): void {
  let document: Promise<Buffer> | undefined

  serve(app, getDocument, { logLevel: 'warn' }, async (_request, reply) => {
    void reply.headers({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': `public, max-age=${MAX_AGE}`,
    })
    document ??= readDocument(version, sandbox)
    return (await document) as unknown as Record<string, unknown>
  })
}
