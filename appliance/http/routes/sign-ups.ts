/** The public pages of sign-up forms, without cookies or scripts. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  CONFIRM_PATH,
  FORM_PATH,
  type FormMessage,
  type FormPageView,
  type PublicFormData,
  type SignUpConfirmationData,
  renderConfirmPage,
  renderConfirmedPage,
  renderForeignSitePage,
  renderForm,
  renderMessage,
} from '../../forms/forms.ts'
import { renderNotFoundPage } from '../../audience/audience.ts'
import type { RenderedPage } from '../../mail/page-frame.ts'
import { chooseLanguage, DEFAULT_PAGE, type PageLanguage } from '../../mail/unsubscribe-page.ts'
import type { App, HttpDeps } from '../deps.ts'
import { PERSONAL_HEADERS, sendPublicPage } from '../public-page.ts'

/** Maximum size of a form, in bytes. */
const FORM_BYTES = 64 * 1024

/** With the policy `no-referrer`, browsers wouldn't send the page's origin with a form. */
const HEADERS = { ...PERSONAL_HEADERS, 'referrer-policy': 'same-origin' }

/** Routes for the page of a form, for submissions from that page or from other sites, and for confirmation links. */
export function signUpRoutes(app: App, { forms }: Pick<HttpDeps, 'forms'>): void {
  const config = { access: 'public', form: true, audit: null } as const
  const page = `${FORM_PATH}:id`

  app.get(page, { config }, async (request, reply) => {
    const opened = await forms.openForm({ id: idOf(request) })
    if (!opened) return showNotFound(request, reply)
    if (opened.form.status !== 'enabled') return show(request, reply, opened, 'closed', 410)
    return showForm(request, reply, opened, { problem: null, shown: forms.prove(opened.form.id) })
  })

  app.post(page, { config, bodyLimit: FORM_BYTES }, async (request, reply) => {
    const opened = await forms.openForm({ id: idOf(request) })
    if (!opened) return showNotFound(request, reply)
    const values = readValues(request)
    const language = languageOf(request, opened, values)
    const given = { values, language, origin: request.headers.origin ?? null, ip: request.ip }
    const result = await forms.submit(opened, given)
    if (result.kind === 'problem') return showForm(request, reply.code(400), opened, { ...result, values })
    if (result.kind === 'foreign') {
      const view = viewOf(opened, language)
      return send(reply.code(403), renderForeignSitePage(view, opened.url ?? page), opened.form.submittedUrl)
    }
    if (result.kind === 'closed') return show(request, reply, opened, 'closed', 410)
    if (result.kind === 'busy') return show(request, reply.header('retry-after', 3600), opened, 'busy', 429)
    const { submittedUrl } = opened.form
    if (submittedUrl !== null) return reply.headers(HEADERS).redirect(submittedUrl, 303)
    return send(reply, renderMessage(viewOf(opened, language), 'sent'), null)
  })

  confirmRoutes(app, { forms })
}

function confirmRoutes(app: App, { forms }: Pick<HttpDeps, 'forms'>): void {
  // Not logged, because the log would be a second record of who signed up.
  const config = { access: 'public', form: true, secretPath: true, audit: null } as const
  const open = { config, bodyLimit: FORM_BYTES, logLevel: 'warn' } as const
  const page = `${FORM_PATH}${CONFIRM_PATH}:token`
  const find = (request: FastifyRequest) =>
    forms.openSignup({ token: (request.params as { token: string }).token })

  // Scanners open every link, so opening it must not confirm. Only the button on the page does.
  app.get(page, open, async (request, reply) => {
    const opened = await find(request)
    if (!opened) return showNotFound(request, reply)
    if (opened === 'used') return showUsed(request, reply)
    return send(
      reply,
      renderConfirmPage(viewOf(opened, opened.language), opened.address),
      opened.form.confirmedUrl,
    )
  })

  app.post(page, open, async (request, reply) => {
    const opened = await find(request)
    if (!opened) return showNotFound(request, reply)
    if (opened === 'used') return showUsed(request, reply)
    const visitor = { ip: request.ip, userAgent: request.headers['user-agent'] ?? null }
    if (!(await forms.confirm({ id: opened.id, ...visitor }))) return showUsed(request, reply)
    const { confirmedUrl } = opened.form
    if (confirmedUrl !== null) return reply.headers(HEADERS).redirect(confirmedUrl, 303)
    return send(reply, renderConfirmedPage(viewOf(opened, opened.language), opened.address), null)
  })
}

const idOf = ({ params }: FastifyRequest): string => (params as { id: string }).id.toLowerCase()

/** Reads the fields of a form. */
const readValues = ({ body }: FastifyRequest): URLSearchParams =>
  new URLSearchParams(body instanceof Uint8Array ? Buffer.from(body).toString('utf8') : '')

/** Picks one of the form's languages: the one that the page was shown in, or that the browser asks for. */
function languageOf(
  { headers }: FastifyRequest,
  { form: { languages } }: Pick<PublicFormData, 'form'>,
  values?: URLSearchParams,
): PageLanguage {
  const shown = languages.find((one) => one === values?.get('language'))
  return shown ?? chooseLanguage(headers['accept-language'], languages[0]!, languages)
}

const viewOf = (
  { team, page, form }: Pick<PublicFormData | SignUpConfirmationData, 'team' | 'page' | 'form'>,
  language: PageLanguage,
): FormPageView => ({ team, page, form, language })

interface ShownForm {
  problem: string | null
  shown: string
  values?: URLSearchParams
}

function showForm(
  request: FastifyRequest,
  reply: FastifyReply,
  opened: PublicFormData,
  { problem, shown, values }: ShownForm,
): FastifyReply {
  const { fields, numbers, form } = opened
  const view = viewOf(opened, languageOf(request, opened, values))
  const typed = Object.fromEntries(values ?? [])
  return send(
    reply,
    renderForm({ ...view, fields, numbers, values: typed, problem, shown }),
    form.submittedUrl,
  )
}

function show(
  request: FastifyRequest,
  reply: FastifyReply,
  opened: PublicFormData,
  message: FormMessage,
  status: number,
): FastifyReply {
  return send(reply.code(status), renderMessage(viewOf(opened, languageOf(request, opened)), message), null)
}

/** Shows the same page for any link that was used, has expired, or whose form was deleted. */
function showUsed(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const language = chooseLanguage(request.headers['accept-language'], DEFAULT_PAGE.defaultLanguage)
  const view = { team: '', page: DEFAULT_PAGE, language, form: { words: {} } }
  return send(reply.code(410), renderMessage(view, 'used'), null)
}

function showNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const language = chooseLanguage(request.headers['accept-language'], DEFAULT_PAGE.defaultLanguage)
  return send(reply.code(404), renderNotFoundPage(DEFAULT_PAGE, language), null)
}

/**
 * Sends a page.
 * @param target URL that its form finally leads to; null for another page of this server
 */
const send = (reply: FastifyReply, page: RenderedPage, target: string | null): FastifyReply =>
  sendPublicPage(reply, page, HEADERS, target)
