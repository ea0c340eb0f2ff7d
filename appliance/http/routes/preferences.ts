/** The pages behind unsubscribe links. The token in the path is sufficient: no cookie, script or sign-in. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type PreferencePageData,
  PAGE_ACTIONS,
  type PageAction,
  type PageNotice,
  type PageTopic,
  PREFERENCES_PATH,
  renderNotFoundPage,
  renderPreferencePage,
  type Visitor,
  PAGE_TEXTS,
} from '../../audience/audience.ts'
import { chooseLanguage, DEFAULT_PAGE } from '../../mail/unsubscribe-page.ts'
import type { PreferenceChange } from '../../storage/storage.ts'
import type { App, HttpDeps } from '../deps.ts'
import { PERSONAL_HEADERS, sendPublicPage } from '../public-page.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the body is a form, regardless of its content type; the route gets the octets. */
    form?: boolean
  }
}

type PublicDeps = Pick<HttpDeps, 'audience'>

/** Routes for the preference page, and for one-click unsubscribe at its own URL and at that of the page (RFC 8058). */
export function preferenceRoutes(app: App, { audience }: PublicDeps): void {
  // Providers send requests for many people from few addresses, so requests don't use up the budget of their address.
  // Not logged either, because the log would be a second record of who unsubscribes.
  const config = { access: 'public', secretPath: true, unmetered: true, form: true, audit: null } as const
  const open = { config, logLevel: 'warn' } as const
  const page = async (request: FastifyRequest, reply: FastifyReply) => {
    const opened = await audience.openPreferences({ token: tokenOf(request) })
    return opened
      ? show(request, reply, { opened, notice: null, before: null })
      : showNotFound(request, reply)
  }
  const oneClick = async (request: FastifyRequest, reply: FastifyReply) => {
    const token = tokenOf(request)
    const visitor = visitorOf(request, null)
    if (!(await audience.unsubscribeOneClick({ token, visitor }))) return showNotFound(request, reply)
    const opened = await audience.openPreferences({ token })
    const language = languageOf(request, opened)
    return reply
      .headers({ ...PERSONAL_HEADERS, 'content-type': 'text/plain; charset=utf-8' })
      .send(`${PAGE_TEXTS[language].done}\n`)
  }

  app.get(`${PREFERENCES_PATH}:token`, open, page)
  app.get(`${PREFERENCES_PATH}:token/one-click`, open, page)
  app.post(`${PREFERENCES_PATH}:token/one-click`, open, (request, reply) =>
    isOneClick(readForm(request)) ? oneClick(request, reply) : page(request, reply),
  )
  app.post(`${PREFERENCES_PATH}:token`, open, async (request, reply) => {
    const form = readForm(request)
    if (isOneClick(form)) return oneClick(request, reply)
    const token = tokenOf(request)
    const before = await audience.openPreferences({ token })
    if (!before) return showNotFound(request, reply)
    const asked = askedOf(form, before)
    // A form without any of the page's fields changes nothing.
    if (!asked) return show(request, reply, { opened: before, notice: null, before: null })
    const wording = `${languageOf(request, before)}@${before.page.updatedAt ?? 0}`
    await audience.changePreferences({ token, change: asked.change, visitor: visitorOf(request, wording) })
    const opened = (await audience.openPreferences({ token })) ?? before
    return show(request, reply, { opened, notice: asked.notice, before: wayBack(before, opened) })
  })
}

const tokenOf = ({ params }: FastifyRequest): string => (params as { token: string }).token

const visitorOf = ({ ip, headers }: FastifyRequest, wording: string | null): Visitor => ({
  ip,
  userAgent: headers['user-agent'] ?? null,
  wording,
})

const languageOf = ({ headers }: FastifyRequest, opened: PreferencePageData | undefined) =>
  chooseLanguage(headers['accept-language'], (opened?.page ?? DEFAULT_PAGE).defaultLanguage)

interface Asked {
  change: PreferenceChange
  notice: PageNotice
}

/** Returns the change that a form requests; null for none. */
function askedOf(form: URLSearchParams, { topic }: PreferencePageData): Asked | null {
  const action = PAGE_ACTIONS.find((one) => one === form.get('do'))
  if (action === undefined) return null
  const all: Record<PageAction, () => Asked | null> = {
    stop: () => ({ change: { unsubscribed: true, topics: [] }, notice: 'out' }),
    return: () => ({ change: { unsubscribed: false, topics: [] }, notice: 'returned' }),
    leave: () => topic && { change: { topics: [{ id: topic.id, subscription: 'opt_out' }] }, notice: 'left' },
    save: () => ({ change: { topics: choicesOf(form) }, notice: 'saved' }),
  }
  return all[action]()
}

/** Returns the choice for each topic on the page: checked or not. */
function choicesOf(form: URLSearchParams): PreferenceChange['topics'] {
  const checked = new Set(form.getAll('topic'))
  const shown = new Set(form.getAll('shown'))
  return [...shown].map((id) => ({ id, subscription: checked.has(id) ? 'opt_in' : 'opt_out' }))
}

/** Returns the previous choices for the changed topics; null when none changed. */
function wayBack(before: PreferencePageData, after: PreferencePageData): PageTopic[] | null {
  const now = new Map(after.topics.map(({ id, subscribed }) => [id, subscribed]))
  const left = before.topics.filter(({ id, subscribed }) => subscribed && now.get(id) !== true)
  return left.length === 0 ? null : before.topics.filter(({ id, subscribed }) => now.get(id) !== subscribed)
}

interface Shown {
  opened: PreferencePageData
  notice: PageNotice | null
  before: PageTopic[] | null
}

function show(request: FastifyRequest, reply: FastifyReply, { opened, ...shown }: Shown): FastifyReply {
  return sendPublicPage(
    reply,
    renderPreferencePage({ ...opened, ...shown, language: languageOf(request, opened) }),
    PERSONAL_HEADERS,
  )
}

/** Shows the same page for any invalid token. */
function showNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const page = renderNotFoundPage(DEFAULT_PAGE, languageOf(request, undefined))
  return sendPublicPage(reply.code(404), page, PERSONAL_HEADERS)
}

/** Matches the one-click field in multipart data (RFC 8058 §3.1, RFC 7578). */
const ONE_CLICK_PART = /name="?List-Unsubscribe"?[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n\s*One-Click\s*\r?\n/i

/** Reads the fields of a form. From multipart data, which only one-click uses, reads only the one-click field. */
function readForm({ body, headers }: FastifyRequest): URLSearchParams {
  const text = body instanceof Uint8Array ? Buffer.from(body).toString('utf8') : ''
  if (!headers['content-type']?.trim().toLowerCase().startsWith('multipart/'))
    return new URLSearchParams(text)
  return new URLSearchParams(ONE_CLICK_PART.test(text) ? { 'List-Unsubscribe': 'One-Click' } : {})
}

/** Whether a form is a provider's one-click unsubscribe: `List-Unsubscribe=One-Click` (RFC 8058 §3.1). */
function isOneClick(form: URLSearchParams): boolean {
  const [value] = [...form].flatMap(([name, text]) =>
    name.toLowerCase() === 'list-unsubscribe' ? [text] : [],
  )
  return value?.trim().toLowerCase() === 'one-click'
}
