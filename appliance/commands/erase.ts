import { createInterface } from 'node:readline/promises'
import { createErasures } from '../senders/senders.ts'
import type { ErasureCounts } from '../storage/storage.ts'
import { presentErasure, presentErasureSurvey } from '../wireformat/wireformat.ts'
import { Failure, type Context } from './context.ts'
import { table } from './output.ts'
import { thisPerson } from './queue-change.ts'

export interface EraseOptions {
  dryRun?: boolean
  yes?: boolean
}

const WORDS: Record<keyof ErasureCounts, string> = {
  deliveries: 'deliveries that wait, given up',
  emails: 'emails that name the address',
  recipients: 'recipients with a pseudonym',
  bodies: 'bodies removed',
  bodies_later: 'bodies removed when nothing waits for them',
  events: 'events',
  attempts: 'transcripts',
  requests: 'requests in the log',
  webhook_deliveries: 'payloads of webhooks',
  webhook_attempts: 'answers of endpoints',
  receipts: 'answers kept for repeated requests',
  received_messages: 'received messages removed',
  suppressions: 'suppressions kept under a hash',
}

const rows = (counts: ErasureCounts): string[] =>
  table(
    ['WHAT', 'COUNT'],
    Object.entries(WORDS).map(([kind, words]) => [words, String(counts[kind as keyof ErasureCounts])]),
  )

/** `erase`: takes one person's address, and what was written to it, out of everything the team keeps. */
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
      throw new Failure('This cannot be undone: look at it with --dry-run, then say --yes.')
    const counts = await erasures.survey({ teamId, address })
    if (dryRun) output.object(presentErasureSurvey(counts, clock.now()))
    output.text('An erasure would touch:', ...rows(counts), ...(await otherTeams(context, name)))
    if (dryRun) return
    if (!(await agrees())) throw new Failure('Stopped; nothing was changed.')
  }
  const { id } = await erasures.begin({ teamId, address, actor: thisPerson() })
  const done = await erasures.run({ teamId, id })
  output.object(presentErasure(done))
  output.text(`Erased. Receipt ${id}:`, ...rows(done.counts))
  if (done.counts.bodies_later > 0)
    output.text('Emails that wait for somebody else keep their body until that is done.')
  output.text(...(await otherTeams(context, name)))
}

/** Whoever asks to be forgotten may have had mail from several teams. */
async function otherTeams({ storage, clock }: Context, name: string): Promise<string[]> {
  const { length } = await storage.listTeams({}, clock.now())
  return length < 2 ? [] : [`That is the team "${name}". Others have what they had: --team says which.`]
}

async function agrees(): Promise<boolean> {
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await asking.question('Erase it? Type yes: ')).trim().toLowerCase() === 'yes'
  } finally {
    asking.close()
  }
}
