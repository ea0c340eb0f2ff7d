import { checkSingleEmail } from '../../advice/advice.ts'
import * as api from '../../api/insights.ts'
import { parseRequest, type EmailContentReader } from '../../intake/intake.ts'
import { formatMailbox, parseMailbox } from '../../mail/address.ts'
import { mergeRuleInsights } from '../../mail/provider-rules.ts'
import { refuse } from '../../mail/refusals.ts'
import type { Domain } from '../../storage/storage.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

/** Placeholder for the text part that is generated from the HTML when an email is accepted. */
const GENERATED = 'generated'

/** Routes for advice on an email, sent or not. */
export function insightRoutes(app: App, deps: HttpDeps, contents: EmailContentReader): void {
  const { storage, templates, clock, gate } = deps
  const domainOf = (teamId: string, from: string): Promise<Domain | undefined> => {
    const name = parseMailbox(from)?.domain ?? ''
    return storage.findDomain({ teamId, name }, clock.now())
  }

  const answer = async (
    message: Parameters<typeof checkSingleEmail>[0],
    domain: Domain | undefined,
    size: number,
  ) => {
    const advice = checkSingleEmail(message, domain, size)
    return api.presentInsights(
      domain ? mergeRuleInsights(advice, (await gate.standing({ domain })).insights) : advice,
    )
  }

  serve(app, api.getEmailInsights, {}, async (request) => {
    const { teamId } = getCaller(request)
    const email = await storage.getEmail({ teamId, id: request.params.id }, clock.now())
    if (!email) throw refuse('not_found', { resource: 'Email' })
    // A notice may contain a sign-in or reset link.
    if (email.via === 'notice') throw refuse('content_withheld')
    const { html, text } = await contents.of(email)
    const { from, subject, size } = email
    const domain = await domainOf(teamId, from)
    return answer({ from, subject, html, text }, domain, size)
  })

  serve(app, api.createInsights, { right: 'send', audit: null }, async (request) => {
    const { teamId } = getCaller(request)
    const { body } = await templates.fill(request.body, teamId)
    const { from, subject, html, text, attachments } = parseRequest(body, clock.now())
    const parts = [html ?? '', text ?? '', ...attachments.map(({ content }) => content)]
    // Base64 encodes three bytes as four (RFC 4648 §4).
    const size = parts.reduce((sum, part) => sum + (Buffer.byteLength(part) * 4) / 3, 0)
    const sender = formatMailbox(from)
    const plain = text === '' ? null : (text ?? (html === null ? null : GENERATED))
    const domain = await domainOf(teamId, sender)
    return answer({ from: sender, subject, html, text: plain }, domain, size)
  })
}
