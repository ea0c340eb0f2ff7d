/** Serves the built dashboard under /dashboard/, redirects browsers there, and serves the API reference under /docs. */
import serveStatic from '@fastify/static'
import type { FastifyReply } from 'fastify'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { refuse } from '../mail/refusals.ts'
import type { App } from './deps.ts'

/** Vite puts a content hash into these names, so the files never change. */
const hashed = /[/\\]assets[/\\]/

const notBuilt = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Posthaste</title>
<h1>The dashboard is not built</h1>
<p>The API works. To get the dashboard and the API reference, run <code>npm run build</code> (or <code>./scripts/start</code>) and start the server again.</p>
</html>
`

/** A route whose path parameter is the path below the prefix, with percent-encoding decoded. */
interface Named {
  Params: { '*': string }
}

const open = { config: { access: 'public' }, logLevel: 'warn' } as const

/** Returns the files of a build as paths relative to its folder. Leaves out the compressed copies. */
function filesOf(folder: string): Set<string> {
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return new Set(all.filter((name) => name.includes('.') && !/\.(br|gz)$/.test(name)))
}

/**
 * Adds the routes of the dashboard and the API reference.
 * @param folder the output of `vite build`
 */
export async function serveDashboard(app: App, folder: string): Promise<void> {
  app.get('/', open, async (request, reply) => {
    // An API client that requests the root has a wrong base URL, and should get a JSON error.
    if (!request.headers.accept?.includes('text/html')) throw refuse('unknown_endpoint')
    return reply.redirect('/dashboard/', 302)
  })

  if (!existsSync(join(folder, 'index.html'))) {
    const tell = async (_request: unknown, reply: FastifyReply) =>
      reply.code(503).type('text/html; charset=utf-8').header('cache-control', 'no-cache').send(notBuilt)
    app.get('/docs', open, tell)
    app.get('/dashboard/', open, tell)
    app.get('/dashboard/*', open, tell)
    return
  }

  await app.register(serveStatic, {
    root: folder,
    serve: false,
    cacheControl: false,
    // ui/vite.config.ts creates compressed copies next to the files; they can't be requested themselves.
    preCompressed: true,
    setHeaders: (reply, path) =>
      void reply.header(
        'cache-control',
        hashed.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache',
      ),
  })
  // Only names of existing files are looked up, so that a request can't reach other parts of the file system.
  const files = filesOf(folder)
  app.get<Named>('/docs/*', open, async (request, reply) => {
    const name = `reference/${request.params['*']}`
    if (!files.has(name)) throw refuse('unknown_endpoint')
    return reply.sendFile(name)
  })
  app.get('/docs/', open, async (_request, reply) => reply.sendFile('reference/index.html'))
  app.get('/dashboard/', open, async (_request, reply) => reply.sendFile('index.html'))
  // Every page of the dashboard has its own URL. All get the same document, which does the routing in the browser.
  app.get<Named>('/dashboard/*', open, async ({ params: { '*': name }, url }, reply) => {
    const known = files.has(name) && !name.startsWith('reference/')
    if (!known && hashed.test(url)) throw refuse('unknown_endpoint')
    return reply.sendFile(known ? name : 'index.html')
  })
}
