import { createErasures } from '../senders/senders.ts'
import type { ErasureCounts } from '../storage/storage.ts'
import { presentErasure, presentErasurePreview } from '../api/erasures.ts'
import { Failure, type Context } from './context.ts'
import { confirmOnTerminal, formatTable } from './output.ts'
import { getCommandLineActor } from './queue-change.ts'

export interface EraseOptions {
  dryRun?: boolean
  yes?: boolean
}

const WORDS: Record<keyof ErasureCounts, string> = {
  deliveries: 'queued deliveries failed',
  emails: 'emails with the address',
  recipients: 'recipients replaced by a pseudonym',
  bodies: 'bodies removed',
  bodies_later: 'bodies to be removed when all deliveries are final',
  events: 'events',
  attempts: 'transcripts',
  requests: 'logged requests',
  webhook_deliveries: 'webhook payloads',
  webhook_attempts: 'webhook responses',
  receipts: 'responses stored for idempotency keys',
  received_messages: 'received messages removed',
  contacts: 'contacts deleted, with their opt-outs reduced to a hash',
  consents: 'entries of the consent log reduced to a hash',
  import_rejects: 'rejected rows of imports removed',
  sent_events: 'custom events removed',
  suppressions: 'suppressions reduced to a hash',
}

const rows = (counts: ErasureCounts): string[] =>
  formatTable(
    ['WHAT', 'COUNT'],
    Object.entries(WORDS).map(([kind, words]) => [words, String(counts[kind as keyof ErasureCounts])]),
  )

/** `erase`: removes a person's address, and the mail to it, from all data of the team. */
export async function erase(
  context: Context,
  [address = '']: string[],
  { dryRun = false, yes = false }: EraseOptions,
): Promise<void> {
  const { storage, clock, output, team } = context
  const { id: teamId, name } = await team()
  const erasures = createErasures({ storage, clock })
  if (dryRun || !yes) {
    if (!dryRun && !process.stdin.isTTY)
      throw new Failure('This cannot be undone. Preview it with --dry-run, then confirm with --yes.')
    const counts = await erasures.survey({ teamId, address })
    if (dryRun) output.object(presentErasurePreview(counts, clock.now()))
    output.text('The erasure would affect:', ...rows(counts), ...(await otherTeams(context, name)))
    if (dryRun) return
    if (!(await confirmOnTerminal('Erase this data?'))) throw new Failure('Canceled. Nothing was changed.')
  }
  const { id } = await erasures.begin({ teamId, address, actor: getCommandLineActor() })
  const done = await erasures.run({ teamId, id })
  output.object(presentErasure(done))
  output.text(`Erased. Receipt ${id}:`, ...rows(done.counts))
  if (done.counts.bodies_later > 0)
    output.text('Emails still queued for other recipients keep their body until those deliveries are final.')
  output.text(...(await otherTeams(context, name)))
}

/** Returns a note if there are other teams, because the person may have received mail from several. */
async function otherTeams({ storage, clock }: Context, name: string): Promise<string[]> {
  const { length } = await storage.listTeams({}, clock.now())
  return length < 2 ? [] : [`This applies only to the team "${name}". Select another team with --team.`]
}
