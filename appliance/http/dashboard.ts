/** Serves the built dashboard under /dashboard/, leads browsers there, and serves the API reference under /docs. */
import serveStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { refuse } from '../mail/refusals.ts'
import type { App } from './deps.ts'

/** Vite puts a hash of the content into these names: they never change. */
const hashed = /[/\\]assets[/\\]/

const notBuilt = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Posthaste</title>
<h1>The dashboard is not built</h1>
<p>The API works. To get the dashboard and the API reference, run <code>npm run build</code> (or <code>./scripts/start</code>) and start the server again.</p>
</html>
`

const open = { config: { access: 'public' }, logLevel: 'warn' } as const

/** Files of a build need no key. */
function openToAll(scope: FastifyInstance): void {
  scope.addHook('onRoute', (route) => {
    Object.assign(route, { ...open, config: { ...route.config, ...open.config } })
  })
}

/** @param folder what `vite build` made */
export async function serveDashboard(app: App, folder: string): Promise<void> {
  app.get('/', open, async (request, reply) => {
    // A client of the API that asks for the root has a wrong base URL and shall hear so in its own language.
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

  // Only files that exist now become routes: no path from outside ever reaches the file system.
  await app.register(async (scope) => {
    openToAll(scope)
    await scope.register(serveStatic, {
      root: folder,
      prefix: '/dashboard/',
      wildcard: false,
      cacheControl: false,
      // ui/vite.config.ts put compressed copies beside the files; they are no routes of their own.
      preCompressed: true,
      globIgnore: ['**/*.br', '**/*.gz', 'reference/**'],
      setHeaders: (reply, path) =>
        void reply.header(
          'cache-control',
          hashed.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache',
        ),
    })
    // Pages of the dashboard have addresses of their own; the browser finds its way from the one document.
    scope.get('/dashboard/*', open, async (request, reply) => {
      if (hashed.test(request.url)) throw refuse('unknown_endpoint')
      return reply.sendFile('index.html')
    })
  })
}
