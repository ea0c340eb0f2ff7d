import * as api from '../../api/sandbox.ts'
import { serve } from '../serve.ts'
import type { FastifyRequest } from 'fastify'
import { refuse } from '../../mail/refusals.ts'
import { presentList } from '../../api/shared.ts'
import { timestamp } from '../../api/timestamp.ts'
import { getCaller, isOperator } from '../access.ts'
import type { App, HttpDeps, SandboxInbox, SandboxMail, SandboxReader } from '../deps.ts'

/** Routes for the mail captured by the sandbox. They only exist in the sandbox. */
export function sandboxRoutes(
  app: App,
  inbox: SandboxInbox,
  deps: Pick<HttpDeps, 'storage' | 'clock'>,
): void {
  const readerOf = async (request: FastifyRequest): Promise<SandboxReader> => ({
    teamId: getCaller(request).teamId,
    operator: await isOperator(request, deps),
  })

  serve(app, api.listSandboxMessages, {}, async (request) => {
    const { limit } = request.query
    const entries = inbox.list(await readerOf(request), limit + 1)
    return presentList(entries.slice(0, limit).map(presentEntry), entries.length > limit)
  })

  serve(app, api.getSandboxMessage, {}, async (request) => {
    const message = await inbox.get(await readerOf(request), request.params.id)
    if (!message) throw refuse('not_found', { resource: 'Message' })
    const { html, text, source, authenticationResults } = message
    return {
      object: 'sandbox_message' as const,
      ...presentEntry(message),
      html,
      text,
      source,
      authentication_results: authenticationResults,
    }
  })
}

function presentEntry(entry: SandboxMail): api.SandboxMessageSummary {
  return {
    id: entry.id,
    received_at: timestamp(entry.receivedAt),
    mail_from: entry.mailFrom,
    rcpt_to: entry.rcptTo,
    from: entry.from,
    to: entry.to,
    subject: entry.subject,
    size: entry.size,
    tls: entry.tls,
    dkim: entry.dkim,
    spf: entry.spf,
    dmarc: entry.dmarc,
  }
}
