/**
 * Simulates an operator who holds a domain's mail, including new mail, waits for a few kills, and releases it, then
 * continues with the next domain. Both requests are repeated until there is a response. The acknowledged state must
 * survive every kill.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { requestWithRetry, type ApiTarget, type RepeatedRequest } from './api-client.ts'
import type { Ledger } from './ledger.ts'
import type { RandomGenerator } from './plan.ts'

export interface HoldOperator {
  /** Releases held mail, and stops; resolves after the response. */
  finish(): Promise<void>
}

export interface HoldOperatorDeps {
  ledger: Pick<Ledger, 'holds' | 'kills'>
  dice: RandomGenerator
  now: () => number
  asked: ApiTarget
  domains: readonly string[]
  /** Called when a valid request is refused. */
  fault: (text: string) => void
}

/** Time between two checks for a kill, in milliseconds. */
const LOOK_MS = 50

/** Starts the operator, who begins immediately. */
export function startHoldOperator(deps: HoldOperatorDeps): HoldOperator {
  let finishing = false
  const kills = async (count: number): Promise<void> => {
    const last = deps.ledger.kills.length + count
    while (!finishing && deps.ledger.kills.length < last) await pause(LOOK_MS)
  }
  const work = async (): Promise<void> => {
    const { ledger, dice, domains, now } = deps
    while (!finishing) {
      const domain = domains[dice.between(0, domains.length - 1)]!
      const { audit_id: known } = await answer<Changed>(deps, '/queue/hold', {
        filter: { domain },
        new: true,
      })
      const hold = { domain, from: now(), until: null as number | null }
      ledger.holds.push(hold)
      await kills(dice.between(1, 3))
      hold.until = now()
      await release(known, deps)
      await kills(dice.between(0, 1))
    }
  }
  const working = work().catch((error: unknown) => deps.fault((error as Error).message))
  return {
    finish() {
      finishing = true
      return working
    },
  }
}

interface Changed {
  audit_id: string
}

interface Rules {
  data: { id: string }[]
}

/** Removes the acknowledged hold, and holds whose response was lost to a kill, because their rules exist, too. */
async function release(known: string, deps: HoldOperatorDeps): Promise<void> {
  for (let ids = [known]; ids.length > 0;) {
    for (const id of ids) await answer(deps, '/queue/undo', { audit_id: id })
    ids = (await answer<Rules>(deps, '/queue/holds')).data.map(({ id }) => id)
  }
}

async function answer<T>({ asked, dice }: HoldOperatorDeps, path: string, body?: unknown): Promise<T> {
  const rest: RepeatedRequest['rest'] = () => dice.between(30, 100)
  const { status, text } = await requestWithRetry(asked, path, { body, rest })
  if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`)
  return JSON.parse(text) as T
}
