/** The public pages of archives and their feeds, without cookies or scripts. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hash } from 'node:crypto'
import {
  type ArchiveView,
  type OpenedArchive,
  type OpenedBroadcast,
  renderArchive,
  renderArchived,
  renderFeed,
  renderUnknown,
} from '../../archive/archive.ts'
import { ARCHIVE_PATH, archivePath, FEED_NAME } from '../../mail/archive.ts'
import type { RenderedPage } from '../../mail/page-frame.ts'
import { chooseLanguage, DEFAULT_PAGE } from '../../mail/unsubscribe-page.ts'
import type { App, HttpDeps } from '../deps.ts'
import { namesTag } from '../etag.ts'
import { PERSONAL_HEADERS, sendPublicPage } from '../public-page.ts'
import { renderContentPage, PUBLISHED_POLICY } from '../shared-page.ts'

/** Caches must revalidate each time, because a broadcast can be withdrawn. The response depends on the language. */
const HEADERS = { 'cache-control': 'public, no-cache', 'referrer-policy': 'no-referrer' }
const BY_LANGUAGE = { ...HEADERS, vary: 'accept-language' }
const NOT_INDEXED = { 'x-robots-tag': 'noindex, nofollow' }

type Deps = Pick<HttpDeps, 'archive'>

/** Routes for the list of an archive, its feed, its broadcasts, and their content, which frames show. */
export function archivePageRoutes(app: App, deps: Deps): void {
  const config = { access: 'public' } as const
  const base = `${ARCHIVE_PATH}:slug`
  app.get(base, { config }, (request, reply) => sendList(deps, request, reply))
  app.get(`${base}/${FEED_NAME}`, { config }, (request, reply) => sendFeed(deps, request, reply))
  app.get(`${base}/:id`, { config }, (request, reply) => sendBroadcast(deps, request, reply))
  app.get(`${base}/:id/content`, { config }, (request, reply) => sendContent(deps, request, reply))
}

const slugOf = ({ params }: FastifyRequest): string => (params as { slug: string }).slug.toLowerCase()

const openArchive = ({ archive }: Deps, request: FastifyRequest): Promise<OpenedArchive | undefined> =>
  archive.open({ slug: slugOf(request) })

/** Returns the view of an archive for a visitor. Without a public address, URLs have the host of the request. */
function viewFor(request: FastifyRequest, { view }: OpenedArchive): ArchiveView {
  const { headers, protocol, host } = request
  const language = chooseLanguage(headers['accept-language'], view.page.defaultLanguage)
  return { ...view, language, url: view.url ?? `${protocol}://${host}${archivePath(view.slug)}` }
}

const robots = ({ indexed }: ArchiveView, more = true) => (indexed && more ? {} : NOT_INDEXED)

async function sendList(deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { after } = request.query as { after?: unknown }
  const opened = await openArchive(deps, request)
  if (!opened || Array.isArray(after)) return sendUnknown(request, reply)
  const { teamId } = opened.archive
  const first = typeof after !== 'string'
  const page = await deps.archive.page({ teamId, after: first ? undefined : after })
  if (!page) return sendUnknown(request, reply)
  const view = viewFor(request, opened)
  const rendered = renderArchive(view, page.items, { older: page.older, first })
  return sendPage(request, reply, rendered, { ...BY_LANGUAGE, ...robots(view, first) })
}

async function sendFeed(deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const opened = await openArchive(deps, request)
  if (!opened) return sendUnknown(request, reply)
  const { archive } = opened
  const { teamId } = archive
  const items = (await deps.archive.page({ teamId }))?.items ?? []
  const view = viewFor(request, opened)
  const { xml, updatedAt } = renderFeed(view, archive, items)
  const tag = tagOf(hash('sha1', xml, 'base64url'))
  void reply.headers({ ...HEADERS, ...robots(view), etag: tag })
  void reply.header('last-modified', new Date(updatedAt).toUTCString())
  if (isKnown(request, tag, updatedAt)) return reply.code(304).send()
  return reply.header('content-type', 'application/atom+xml; charset=utf-8').send(xml)
}

/** Returns a published broadcast, or sends the response: it is unknown, or its archive has another slug now. */
async function openBroadcast(
  { archive }: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<OpenedBroadcast | FastifyReply> {
  const { id } = request.params as { id: string }
  const opened = await archive.openBroadcast({ id })
  if (!opened) return sendUnknown(request, reply)
  if (opened.slug === slugOf(request)) return opened
  // Mail that was sent before the slug changed has the old URL.
  return reply.headers(HEADERS).redirect(archivePath(opened.slug, opened.item.id), 302)
}

async function sendBroadcast(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const found = await openBroadcast(deps, request, reply)
  if (!('item' in found)) return found
  const opened = await openArchive(deps, request)
  if (!opened) return sendUnknown(request, reply)
  const view = viewFor(request, opened)
  const content = `${archivePath(found.slug, found.item.id)}/content`
  const headers = { ...BY_LANGUAGE, ...robots(view) }
  return sendPage(request, reply, renderArchived(view, found.item, content), headers, true)
}

async function sendContent(deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const found = await openBroadcast(deps, request, reply)
  if (!('item' in found)) return found
  const content = await deps.archive.contentOf(found.broadcast)
  if (!content) return sendUnknown(request, reply)
  const tag = tagOf(content.tag)
  // Only the page around it is listed by search engines.
  void reply.headers({ ...HEADERS, ...NOT_INDEXED, etag: tag })
  void reply.headers({ 'content-security-policy': PUBLISHED_POLICY, 'x-frame-options': 'SAMEORIGIN' })
  if (isKnown(request, tag, null)) return reply.code(304).send()
  return reply.header('content-type', 'text/html; charset=utf-8').send(renderContentPage(content))
}

function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  page: RenderedPage,
  headers: Record<string, string>,
  frames = false,
): FastifyReply {
  const tag = tagOf(hash('sha1', page.html, 'base64url'))
  if (isKnown(request, tag, null))
    return reply
      .code(304)
      .headers({ ...headers, etag: tag })
      .send()
  return sendPublicPage(reply, page, { ...headers, etag: tag }, null, frames)
}

const tagOf = (text: string): string => `W/"${text}"`

/** Whether the client already has this version. If-None-Match takes precedence over If-Modified-Since (RFC 9110 §13.2.2). */
function isKnown({ headers }: FastifyRequest, tag: string, modifiedAt: number | null): boolean {
  if (headers['if-none-match'] !== undefined) return namesTag(headers['if-none-match'], tag)
  const since = Date.parse(headers['if-modified-since'] ?? '')
  return modifiedAt !== null && Math.floor(modifiedAt / 1000) * 1000 <= since
}

/** Sends the same page for everything that isn't public. */
function sendUnknown(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const language = chooseLanguage(request.headers['accept-language'], DEFAULT_PAGE.defaultLanguage)
  return sendPublicPage(reply.code(404), renderUnknown(language), PERSONAL_HEADERS)
}
