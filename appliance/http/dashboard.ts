/** Serves the built dashboard under /dashboard/, redirects browsers there, and serves the API reference under /docs. */
import serveStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { existsSync } from 'node:fs'
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

const open = { config: { access: 'public' }, logLevel: 'warn' } as const

/** Makes the files of a build public. */
function openToAll(scope: FastifyInstance): void {
  scope.addHook('onRoute', (route) => {
    Object.assign(route, { ...open, config: { ...route.config, ...open.config } })
  })
}

/** @param folder the output of `vite build` */
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

  await app.register(async (scope) => {
    openToAll(scope)
    await scope.register(serveStatic, {
      root: join(folder, 'reference'),
      prefix: '/docs/',
      wildcard: false,
      cacheControl: false,
      preCompressed: true,
      globIgnore: ['**/*.br'],
      setHeaders: (reply) => void reply.header('cache-control', 'no-cache'),
    })
  })

  // Only existing files become routes, so that no path from outside reaches the file system.
  await app.register(async (scope) => {
    openToAll(scope)
    await scope.register(serveStatic, {
      root: folder,
      prefix: '/dashboard/',
      wildcard: false,
      cacheControl: false,
      // ui/vite.config.ts creates compressed copies next to the files; they aren't routes of their own.
      preCompressed: true,
      globIgnore: ['**/*.br', '**/*.gz', 'reference/**'],
      setHeaders: (reply, path) =>
        void reply.header(
          'cache-control',
          hashed.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache',
        ),
    })
    // Pages of the dashboard have their own URLs; the single document routes in the browser.
    scope.get('/dashboard/*', open, async (request, reply) => {
      if (hashed.test(request.url)) throw refuse('unknown_endpoint')
      return reply.sendFile('index.html')
    })
  })
}
