/**
 * An operator who holds the mail of a domain, new mail too, lets some daemons die, and releases it; then the next domain. Both are
 * asked for until they are answered: what was answered must stand whatever died.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { insist, type Asked, type Insisted } from './ask.ts'
import type { Ledger } from './ledger.ts'
import type { Dice } from './plan.ts'

export interface Holder {
  /** Releases what is held, and ends; resolves when that is answered. */
  finish(): Promise<void>
}

export interface HolderDeps {
  ledger: Pick<Ledger, 'holds'>
  dice: Dice
  now: () => number
  /** The start of the daemon that is under way. */
  run: () => number
  asked: Asked
  domains: readonly string[]
  /** Told of a no to what the operator may do. */
  fault: (text: string) => void
}

/** Between two looks whether the daemon was started again, in milliseconds. */
const LOOK_MS = 50

/** Starts at once. */
export function startHolder(deps: HolderDeps): Holder {
  let finishing = false
  const kills = async (count: number): Promise<void> => {
    const last = deps.run() + count
    while (!finishing && deps.run() < last) await pause(LOOK_MS)
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

/** Takes back the hold that was answered, and those whose answer a kill took: their rules stand. */
async function release(known: string, deps: HolderDeps): Promise<void> {
  for (let ids = [known]; ids.length > 0;) {
    for (const id of ids) await answer(deps, '/queue/undo', { audit_id: id })
    ids = (await answer<Rules>(deps, '/queue/holds')).data.map(({ id }) => id)
  }
}

async function answer<T>({ asked, dice }: HolderDeps, path: string, body?: unknown): Promise<T> {
  const rest: Insisted['rest'] = () => dice.between(30, 100)
  const { status, text } = await insist(asked, path, { body, rest })
  if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`)
  return JSON.parse(text) as T
}
