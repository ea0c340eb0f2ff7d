import { Few, type Complaints } from './complaints.ts'
import type { Plan, PlannedDelivery } from './plan.ts'
import type { Answer, Records } from './record.ts'

/** Checks fairness as the receivers observed it. Pure; times are Unix milliseconds of the simulation. */

/** One day's mail, handed over at once. */
export interface Day {
  recipients: ReadonlySet<string>
  /** When the last email was accepted. */
  acceptedAt: number
  /** Real milliseconds until the day's activity ended. This time passes in the simulation, too. */
  took: number
}

/**
 * How late mail to an always-ready receiver may be, beyond its own lane's rate: less than the slow receivers take for
 * one message. In milliseconds.
 */
const GRACE = 120_000
/** A minute's worth of messages takes 63 seconds at a lane's rate (shaping/rate.ts). */
const SPACED_MINUTE = 63_000

/**
 * Checks that always-ready receivers got a whole day's mail as fast as one lane's rate allows, unaffected by slow
 * receivers.
 * @param perMinute what a warm source may send to a personality
 */
export function checkPromptness(
  plan: Plan,
  { answers }: Records,
  days: readonly Day[],
  perMinute: (personality: string) => number,
): Complaints {
  const complaints = new Few()
  const taken = firsts(answers.filter(({ verdict }) => verdict === 'said'))
  for (const [number, { recipients, acceptedAt, took }] of days.entries()) {
    const healthy = plannedOf(plan, recipients).filter(({ personality }) => personality.healthy)
    for (const [name, own] of Map.groupBy(healthy, ({ personality }) => personality.name)) {
      const last = own.reduce((late, { recipient }) => Math.max(late, taken.get(recipient)?.at ?? 0), 0)
      const fair = (own.length * SPACED_MINUTE) / perMinute(name) + GRACE + took
      if (last - acceptedAt > fair)
        complaints.add(
          name,
          `the last of ${own.length} messages of day ${number + 1} came to ${name} ${seconds(last - acceptedAt)} after they were accepted, ${seconds(fair)} are fair`,
        )
    }
  }
  return complaints.all
}

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`

/** Broadcast mail gets one turn in ten. The higher share allows for deferred mail that is retried. */
const BROADCAST_SHARE = 0.2
/** Smaller counts are not significant. */
const ENOUGH = 25
/** Ignores the last tenth: deferred mail arrives later, on its own schedule. */
const MOST_OF = 0.9

/**
 * Checks that transactional mail goes first when there is a queue: until 90% of it was attempted, little else was sent.
 * At least one day must have had a queue.
 */
export function checkStreams(
  plan: Plan,
  { answers }: Records,
  days: readonly Day[],
  personality: string,
): Complaints {
  const complaints = new Few()
  let measured = 0
  for (const [number, tries] of triesOf(plan, answers, days, personality).entries()) {
    const [transactional, broadcast] = [of(tries, 'transactional'), of(tries, 'broadcast')]
    if (transactional.length < ENOUGH || broadcast.length < ENOUGH) continue
    measured++
    const until = transactional[Math.floor(transactional.length * MOST_OF) - 1]!.at
    const before = broadcast.filter(({ at }) => at <= until).length
    const all = before + Math.floor(transactional.length * MOST_OF)
    if (before > all * BROADCAST_SHARE)
      complaints.add(
        'streams',
        `on day ${number + 1} ${before} of the ${all} messages that ${personality} saw while transactional ones waited were broadcast`,
      )
  }
  if (measured === 0)
    complaints.add('none', `on no day did enough mail wait for ${personality} to compare streams`)
  return complaints.all
}

/**
 * Checks that teams get equal numbers of turns while all of them have mail queued for a receiver. At least one day must
 * have had such a queue.
 */
export function checkTeams(
  plan: Plan,
  { answers }: Records,
  days: readonly Day[],
  personality: string,
): Complaints {
  const complaints = new Few()
  let measured = 0
  for (const [number, tries] of triesOf(plan, answers, days, personality).entries()) {
    for (const stream of ['transactional', 'broadcast'] as const) {
      const turns = turnsOf(of(tries, stream))
      if (turns === undefined) continue
      measured++
      if (Math.max(...turns) > Math.min(...turns) * 1.25 + 5)
        complaints.add(
          'teams',
          `on day ${number + 1} the teams had ${turns.join(', ')} turns at ${personality} while ${stream} mail of each waited`,
        )
    }
  }
  if (measured === 0)
    complaints.add('none', `on no day did mail of every team wait for ${personality} to compare them`)
  return complaints.all
}

/** Counts each team's turns until one team has sent 90% of its mail. Returns undefined if the counts are too small. */
function turnsOf(tries: readonly Try[]): number[] | undefined {
  const teams = [...Map.groupBy(tries, ({ planned }) => planned.team).values()]
  if (teams.length < 2 || teams.some(({ length }) => length < ENOUGH)) return undefined
  const until = Math.min(...teams.map((own) => own[Math.floor(own.length * MOST_OF) - 1]!.at))
  return teams.map((own) => own.filter(({ at }) => at <= until).length)
}

/** The first reply for a message, and when it came. */
interface Try {
  at: number
  planned: PlannedDelivery
}

const of = (tries: readonly Try[], stream: string): Try[] =>
  tries.filter(({ planned }) => planned.stream === stream)

/** Returns the first attempts of each day's mail to a personality, made after all of it was accepted, in order. */
function triesOf(plan: Plan, answers: readonly Answer[], days: readonly Day[], personality: string): Try[][] {
  const first = firsts(answers.filter((one) => one.personality === personality))
  return days.map(({ recipients, acceptedAt }) =>
    plannedOf(plan, recipients)
      .flatMap((planned) => {
        const at = first.get(planned.recipient)?.at
        return at === undefined || at <= acceptedAt ? [] : [{ at, planned }]
      })
      .toSorted((a, b) => a.at - b.at),
  )
}

const plannedOf = ({ deliveries }: Plan, recipients: Iterable<string>): PlannedDelivery[] =>
  [...recipients].map((recipient) => deliveries.get(recipient)!)

/** Returns the first answer for each recipient. Answers are sorted by time. */
function firsts(answers: readonly Answer[]): Map<string, Answer> {
  const first = new Map<string, Answer>()
  for (const answer of answers) if (!first.has(answer.recipient)) first.set(answer.recipient, answer)
  return first
}
