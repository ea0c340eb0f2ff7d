/**
 * Runs the A/B test of a broadcast: draws the recipients of the test, waits for clicks, and chooses the winner. Each step
 * is stored in one transaction, so a kill between two of them loses and repeats nothing.
 */
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../clock/clock.ts'
import { chooseWinner, choiceSentence, WHOLE } from '../mail/ab-test.ts'
import { listHeldProviders } from '../mail/automatic-pause.ts'
import type { AbTestState, Broadcast, Storage, WaitingRecipient } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'

const HOUR_MS = 3_600_000
/** Recipients drawn per transaction, and transactions before other broadcasts get a turn. */
const CHUNK = 1000
const CHUNKS = 20

interface RunDeps {
  storage: Pick<
    Storage,
    'getAbTest' | 'drawAbTest' | 'untriedInAbTest' | 'endAbTestSending' | 'countVariants' | 'decideAbTest'
  >
  clock: Clock
  log: Logger
}

/** The recipients of a broadcast with an A/B test that may be queued now. */
export interface AbTurn {
  /** Whether only test recipients may be queued. */
  tested: boolean
  /** Returns the revision that a recipient gets. */
  revisionFor(recipient: Pick<WaitingRecipient, 'variant'>): string
  /** Whether a recipient was drawn for the test but gets the winner, because it was chosen before the test ended. */
  isUntested(recipient: Pick<WaitingRecipient, 'variant'>): boolean
}

/**
 * Does the next step of an A/B test. Returns what may be queued. `again` means that another step can run
 * immediately, `waits` that nothing may be queued now.
 */
export async function abTestStep(deps: RunDeps, broadcast: Broadcast): Promise<AbTurn | 'again' | 'waits'> {
  const { storage, clock } = deps
  const { id, content, expandedAt } = broadcast
  const test = await storage.getAbTest({ id }, clock.now())
  if (!test) return 'waits'
  const { share, waitHours } = content.abTest!
  if (test.choice) return turnOf(test, { winner: test.choice.winner, tested: false })
  if (expandedAt === null) return 'waits'
  if (test.drawnAt === null) return draw(deps, { id, share })
  if (share === WHOLE) return turnOf(test, { winner: null, tested: false })
  if (test.triedAt === null && test.tested > 0) return turnOf(test, { winner: null, tested: true })
  // Nobody can click if nobody was drawn.
  const due = test.tested === 0 ? clock.now() : test.triedAt! + waitHours! * HOUR_MS
  if (clock.now() < due) return 'waits'
  return (await decide(deps, broadcast)) ? 'again' : 'waits'
}

function turnOf(
  { revisions }: AbTestState,
  { winner, tested }: { winner: number | null; tested: boolean },
): AbTurn {
  return {
    tested,
    revisionFor: ({ variant }) => revisions[winner ?? variant ?? 0]!,
    isUntested: ({ variant }) => winner !== null && variant !== null,
  }
}

async function draw(
  { storage, clock }: RunDeps,
  { id, share }: { id: string; share: number },
): Promise<'again'> {
  for (let chunk = 0; chunk < CHUNKS; chunk++) {
    if ((await storage.drawAbTest({ id, share, most: CHUNK }, clock.now())) !== 'more') break
    await setImmediate()
  }
  return 'again'
}

/**
 * Ends the test phase once each test email was attempted, so that the wait begins. Emails to a provider whose part is
 * held don't delay it: their recipients get the winner later.
 */
export async function endTestSending({ storage, clock }: RunDeps, { id, holds }: Broadcast): Promise<void> {
  const untried = await storage.untriedInAbTest({ id, held: listHeldProviders(holds) }, clock.now())
  if (untried === 0) await storage.endAbTestSending({ id }, clock.now())
}

async function decide({ storage, clock, log }: RunDeps, { id, teamId }: Broadcast): Promise<boolean> {
  const choice = chooseWinner(await storage.countVariants({ id }, clock.now()))
  if ((await storage.decideAbTest({ teamId, id, choice }, clock.now())) !== 'done') return false
  log.info({ broadcast: id }, `chose the winner of an A/B test: ${choiceSentence(choice)}`)
  return true
}
